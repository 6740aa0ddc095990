#include "link.h"

#include <algorithm>
#include <thread>

namespace mizuoto {

void Link::pace(size_t bytes, const std::function<bool()>& stop) {
    if (bytesPerSecond_ <= 0) return;
    using namespace std::chrono_literals;
    Clock::time_point end;
    {
        const std::lock_guard lock(mutex_);
        const auto now = Clock::now();
        // A transfer that follows at once begins where the last one ended.
        const auto begin = now - free_ < 1ms ? free_ : now;
        end = begin + std::chrono::duration_cast<Clock::duration>(
                          std::chrono::duration<double>(static_cast<double>(bytes) / bytesPerSecond_));
        free_ = end;
    }
    while (Clock::now() < end && !stop()) {
        std::this_thread::sleep_until(std::min(end, Clock::now() + 10ms));
    }
}

}  // namespace mizuoto
