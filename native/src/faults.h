#pragma once

#include <cstdint>
#include <mutex>

namespace mizuoto {

/** Failures to order, for tests: the n-th allocation, copy or segment from now fails (0 = none). */
struct FaultPlan {
    uint32_t failAllocation = 0;
    uint32_t failCopy = 0;
    uint32_t loseAtSegment = 0;
    uint32_t exhaustAtSegment = 0;
};

class Faults {
  public:
    void set(FaultPlan plan) {
        const std::lock_guard lock(mutex_);
        plan_ = plan;
    }
    bool allocationFails() { return countDown(&FaultPlan::failAllocation); }
    bool copyFails() { return countDown(&FaultPlan::failCopy); }
    bool segmentFails() { return countDown(&FaultPlan::loseAtSegment); }
    bool segmentExhausts() { return countDown(&FaultPlan::exhaustAtSegment); }

  private:
    bool countDown(uint32_t FaultPlan::*counter) {
        const std::lock_guard lock(mutex_);
        return plan_.*counter > 0 && --(plan_.*counter) == 0;
    }

    std::mutex mutex_;
    FaultPlan plan_;
};

}  // namespace mizuoto
