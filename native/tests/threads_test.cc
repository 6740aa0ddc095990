// The choice of threads on machines that are modelled: it follows what other programs leave, and does not
// flap.
#include <algorithm>
#include <random>

#include "check.h"
#include "thread_choice.h"

using mizuoto::ThreadChoice;

namespace {

constexpr double kWindow = 0.25;

/** Processors that `busy` programs share with our threads; each program wants a whole one. */
class Machine {
  public:
    Machine(int processors, uint32_t seed) : processors_(processors), random_(seed) {}

    double busy = 0;
    /** Takes what nobody else wants, and gives way. */
    double yielding = 0;

    /** As measured: with errors of the system's counters, and of how evenly it shares. */
    double available(int threads) {
        const double free = std::max(0.0, processors_ - busy - threads);
        const double over = busy + threads - processors_;
        double taken = busy;
        if (over > 0) {
            // Between "all share alike" and "the others sit on one of ours, and each gets half of it".
            const double alike = busy * processors_ / (busy + threads);
            const double halves = std::max(busy - over, 0.0) + std::min(busy, over) / 2;
            taken = std::min(alike, halves) + uniform(0, 1) * std::abs(alike - halves);
        }
        taken += std::min(free, yielding);
        return processors_ - taken + uniform(-0.03, 0.03);
    }

    /** What one thread loses, all lose; as if one thread alone on an idle machine had speed 1. */
    double speed(int threads) const {
        const double over = std::min(busy, std::max(0.0, busy + threads - processors_));
        return threads * std::max(0.0, 1 - over / 2);
    }
    double bestSpeed() const {
        double best = 0;
        for (int threads = 1; threads <= processors_; ++threads) best = std::max(best, speed(threads));
        return best;
    }

    /** Seconds of computing; how often the number changed. */
    int run(ThreadChoice& choice, double seconds) {
        int changes = 0;
        for (double at = 0; at < seconds; at += kWindow) {
            const int before = choice.count();
            const double free = available(before);
            if (choice.next(free, free, kWindow) != before) ++changes;
        }
        return changes;
    }

  private:
    double uniform(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }

    int processors_;
    std::mt19937 random_;
};

template <typename Body>
void onEveryMachine(Body body) {
    for (int processors = 2; processors <= 32; processors += processors < 8 ? 1 : 4) {
        for (uint32_t seed = 1; seed <= 20; ++seed) {
            Machine machine(processors, seed);
            body(machine, processors);
        }
    }
}

}  // namespace

TEST_CASE(a_quiet_machine_gives_every_thread) {
    onEveryMachine([](Machine& machine, int processors) {
        ThreadChoice choice(processors);
        machine.busy = 0.08;
        CHECK_EQUAL(machine.run(choice, 600), 0);
        CHECK_EQUAL(choice.count(), processors);
    });
}

TEST_CASE(busy_programs_get_processors_of_their_own) {
    onEveryMachine([](Machine& machine, int processors) {
        for (int busy = 1; busy <= processors + 2; ++busy) {
            ThreadChoice choice(processors);
            machine.busy = busy;
            machine.run(choice, 10);
            CHECK(choice.count() < processors);
            CHECK(machine.speed(choice.count()) >= 0.7 * machine.bestSpeed());
            // Trials at 20, 60, 140 and 300 seconds and so on, and a few steps down after each.
            CHECK(machine.run(choice, 600) <= 50);
            machine.busy = 0;
            machine.run(choice, 3);
            CHECK_EQUAL(choice.count(), processors);
        }
    });
}

TEST_CASE(fewer_threads_than_processors_have_room_beside_others) {
    Machine machine(16, 1);
    ThreadChoice choice(8);
    machine.busy = 8;
    CHECK_EQUAL(machine.run(choice, 100), 0);
    machine.busy = 10;
    machine.run(choice, 2);
    CHECK_EQUAL(choice.count(), 6);
    machine.busy = 0;
    machine.run(choice, 3);
    CHECK_EQUAL(choice.count(), 8);
}

TEST_CASE(loads_that_come_and_go_do_not_make_it_flap) {
    onEveryMachine([](Machine& machine, int processors) {
        for (double period : {0.5, 1.0, 2.0, 4.0}) {
            ThreadChoice choice(processors);
            int changes = 0;
            for (double at = 0; at < 600; at += 2 * period) {
                machine.busy = processors;
                changes += machine.run(choice, period);
                machine.busy = 0;
                changes += machine.run(choice, period);
            }
            CHECK(changes <= 80);
        }
    });
}

TEST_CASE(what_gives_way_does_not_hold_it_down) {
    onEveryMachine([](Machine& machine, int processors) {
        ThreadChoice choice(processors);
        machine.yielding = processors;
        CHECK_EQUAL(machine.run(choice, 100), 0);
        machine.busy = processors;
        machine.run(choice, 3);
        CHECK(choice.count() < processors);
        machine.busy = 0;
        machine.run(choice, 31 + 5 * 11);
        CHECK_EQUAL(choice.count(), processors);
    });
}

TEST_CASE(one_thread_is_one_thread) {
    ThreadChoice choice(1);
    for (double available : {0.0, 1.0, 64.0}) CHECK_EQUAL(choice.next(available, available, 1), 1);
}

TEST_CASE(a_long_pause_counts_as_calm) {
    ThreadChoice choice(4);
    CHECK_EQUAL(choice.next(1.2, 1.2, 2 * kWindow), 1);
    CHECK_EQUAL(choice.next(4, 4, 60), 4);
}

TEST_CASE(what_others_do_with_processors_that_nobody_wanted_takes_no_thread_away) {
    ThreadChoice choice(4);
    // While this process loaded a model, or computed and got what it wanted.
    for (int i = 0; i < 100; ++i) CHECK_EQUAL(choice.next(4, 1, kWindow), 4);
    CHECK_EQUAL(choice.next(2.1, 1, 2 * kWindow), 2);
}

TEST_CASE(a_trial_lasts_until_threads_are_spread) {
    ThreadChoice choice(2);
    CHECK_EQUAL(choice.next(1, 1, kWindow), 2);
    CHECK_EQUAL(choice.next(1, 1, kWindow), 1);
    for (int i = 0; i < 79; ++i) CHECK_EQUAL(choice.next(1, 1, kWindow), 1);
    CHECK_EQUAL(choice.next(1, 1, kWindow), 2);
    for (double got : {1.0, 1.2, 1.9, 1.9, 1.0}) CHECK_EQUAL(choice.next(got, got, kWindow), 2);
    CHECK_EQUAL(choice.next(1, 1, kWindow), 1);
}
