#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>

namespace mizuoto {

/**
 * The upload link of a simulated device: transfers take bytes / speed, one after the other. Works on a
 * timeline, so that waking up late in one transfer does not lengthen the sum of many.
 */
class Link {
  public:
    explicit Link(double bytesPerSecond) : bytesPerSecond_(bytesPerSecond) {}

    /** Returns when a transfer of this size, begun now, has ended; earlier when `stop` says so. */
    void pace(size_t bytes, const std::function<bool()>& stop);

  private:
    using Clock = std::chrono::steady_clock;

    double bytesPerSecond_;
    std::mutex mutex_;
    Clock::time_point free_{};
};

}  // namespace mizuoto
