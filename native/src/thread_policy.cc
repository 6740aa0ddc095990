#include "thread_policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mizuoto {
namespace {

/** Long enough for the system's counters, short enough for nobody to wait for it. */
constexpr std::chrono::milliseconds kWindow{250};
/** Measuring takes at most this part of the time: on some machines the system's counters are many. */
constexpr int kCostBound = 1000;
/** Of a window: with less computing in it, what our threads got drowns in what else this process did. */
constexpr double kLeastShare = 0.05;

}  // namespace

ThreadPolicy::ThreadPolicy(int most, bool fixed, std::function<void(int)> set)
    : most_(most), fixed_(fixed || most < 2), set_(std::move(set)), choice_(most) {
    measured_ = Clock::now();
    due_ = measured_ + kWindow;
    if (!fixed_) before_ = processorTimes();
    applied_.store(most_, std::memory_order_relaxed);
    set_(most_);
}

void ThreadPolicy::measure(Clock::time_point now) {
    const std::optional<ProcessorTimes> after = processorTimes();
    const double seconds = std::chrono::duration<double>(now - measured_).count();
    if (before_ && after) {
        const double total = (after->total - before_->total) / seconds;
        const int processors = usableProcessors();
        // Containers may show counters that do not count.
        if (std::abs(total - processors) < 0.3 * processors) {
            const double own = after->own - before_->own;
            const double available = (after->idle - before_->idle + own) / seconds;
            const double computed = std::chrono::duration<double>(computed_).count();
            const double got = computed > kLeastShare * seconds ? own / computed : processors;
            choice_.next(std::max(got, available), available, seconds);
        }
    }
    before_ = after;
    measured_ = now;
    computed_ = {};
    due_ = now + std::max<Clock::duration>(kWindow, (Clock::now() - now) * kCostBound);
}

void ThreadPolicy::settle(bool all) {
    all_ = all;
    const bool forced = every_.load(std::memory_order_relaxed) > 0;
    if (!fixed_) {
        began_ = Clock::now();
        if (began_ >= due_ && !forced) measure(began_);
    }
    const int wanted = all ? most_ : forced && forced_ > 0 ? forced_ : choice_.count();
    if (wanted == applied_.load(std::memory_order_relaxed)) return;
    set_(wanted);
    applied_.store(wanted, std::memory_order_relaxed);
}

void ThreadPolicy::finish() {
    if (!fixed_) computed_ += Clock::now() - began_;
}

bool ThreadPolicy::wantsChange() {
    if (all_ || most_ < 2) return false;
    if (const int every = every_.load(std::memory_order_relaxed); every > 0) {
        if (++questions_ % every != 0) return false;
        forced_ = count() % most_ + 1;
        return true;
    }
    // Reading a clock is a percent of the smallest nodes.
    if (fixed_ || (++questions_ & 3) != 0) return false;
    const auto now = Clock::now();
    if (now < due_) return false;
    computed_ += now - std::exchange(began_, now);
    measure(now);
    return choice_.count() != count();
}

void ThreadPolicy::changeEvery(int questions) {
    every_.store(questions, std::memory_order_relaxed);
}

}  // namespace mizuoto
