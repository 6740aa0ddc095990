#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

#include "processor_load.h"
#include "thread_choice.h"

namespace mizuoto {

/**
 * Sets the number of threads of a CPU backend by what other programs leave of the processors, between calls
 * of the backend and within long ones. Results do not depend on it (threads.test.ts). On the device's thread,
 * except for `count`.
 */
class ThreadPolicy {
  public:
    /** `set` gives the backend its number of threads. Where `most` is 1, or the number is `fixed`, nothing is
     * measured. */
    ThreadPolicy(int most, bool fixed, std::function<void(int)> set);

    /** Threads of the last call of the backend; any thread. */
    int count() const { return applied_.load(std::memory_order_relaxed); }

    /** Before a call: measures when it is time, and tells the backend. With `all`, the call gets every
     * thread. */
    void settle(bool all);
    /** After a call. */
    void finish();
    /** Within a call, after a node: whether it should stop, to go on with another number. A clock is read, no
     * more. */
    bool wantsChange();

    /** For tests: the number changes at every n-th question within a call; 0: by what is measured. */
    void changeEvery(int questions);

  private:
    using Clock = std::chrono::steady_clock;

    void measure(Clock::time_point now);

    int most_;
    bool fixed_;
    std::function<void(int)> set_;
    std::atomic<int> applied_{0};
    ThreadChoice choice_;
    std::optional<ProcessorTimes> before_;
    Clock::time_point measured_;
    Clock::time_point due_;
    /** When the running call began, or was last counted, and the time spent in calls since `measured_`. */
    Clock::time_point began_;
    Clock::duration computed_{};
    bool all_ = false;

    std::atomic<int> every_{0};
    int questions_ = 0;
    int forced_ = 0;
};

}  // namespace mizuoto
