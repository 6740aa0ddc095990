#include "thread_choice.h"

#include <algorithm>

namespace mizuoto {
namespace {

/**
 * Of a processor, what others may take before `threads` are one too many. What one thread loses, all lose:
 * beyond 1 / threads, one thread fewer is faster. A program that wants a whole processor and shares it takes
 * half of it or more.
 */
double tolerance(int threads) {
    return std::clamp(0.8 / threads, 0.15, 0.4);
}

}  // namespace

int ThreadChoice::fitting(double available, double slack) const {
    int threads = most_;
    while (threads > 1 && available < threads - slack * tolerance(threads)) --threads;
    return threads;
}

int ThreadChoice::lower(int count) {
    // Loads that come and go: wait longer the next time.
    if (raised_ && trial_) trialAfter_ = std::clamp(2 * trialAfter_, kLeastTrial, kMostTrial);
    if (raised_ && !trial_) patience_ = std::min(kMostPatience, 2 * patience_);
    raised_ = false;
    pressed_ = 0;
    calm_ = 0;
    held_ = 0;
    return count_ = count;
}

int ThreadChoice::raise(int count, bool trial) {
    raised_ = true;
    trial_ = trial;
    sinceRaise_ = 0;
    calm_ = 0;
    held_ = 0;
    return count_ = count;
}

int ThreadChoice::next(double got, double available, double seconds) {
    if (raised_ && (sinceRaise_ += seconds) >= kProven) {
        raised_ = false;
        patience_ = kLeastPatience;
        trialAfter_ = kProven;
    }
    const int fits = fitting(got, 1);
    pressed_ = fits < count_ ? pressed_ + seconds : 0;
    const bool settling = raised_ && trial_ && sinceRaise_ < kSettling;
    if (pressed_ >= kPressed && !settling) return lower(fits);
    if (count_ == most_) return count_;

    // While nothing computed, nothing was tried.
    held_ += std::min(seconds, kLeastPatience);
    if (held_ >= trialAfter_) return raise(std::min(most_, 2 * count_), true);

    const int room = fitting(available, 0.5);
    if (room <= count_) {
        calm_ = 0;
        return count_;
    }
    room_ = calm_ > 0 ? std::min(room_, room) : room;
    calm_ += seconds;
    return calm_ < patience_ ? count_ : raise(room_, false);
}

}  // namespace mizuoto
