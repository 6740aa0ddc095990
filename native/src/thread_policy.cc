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
            choice_.next((after->idle - before_->idle + after->own - before_->own) / seconds, seconds);
        }
    }
    before_ = after;
    measured_ = now;
    due_ = now + std::max<Clock::duration>(kWindow, (Clock::now() - now) * kCostBound);
}

void ThreadPolicy::settle(bool all) {
    all_ = all;
    const bool forced = every_.load(std::memory_order_relaxed) > 0;
    if (!fixed_ && !forced) {
        if (const auto now = Clock::now(); now >= due_) measure(now);
    }
    const int wanted = all ? most_ : forced && forced_ > 0 ? forced_ : choice_.count();
    if (wanted == applied_.load(std::memory_order_relaxed)) return;
    set_(wanted);
    applied_.store(wanted, std::memory_order_relaxed);
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
    measure(now);
    return choice_.count() != count();
}

void ThreadPolicy::changeEvery(int questions) {
    every_.store(questions, std::memory_order_relaxed);
}

}  // namespace mizuoto
