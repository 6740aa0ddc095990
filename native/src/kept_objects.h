#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace mizuoto {

/**
 * Objects of a driver that must not be destroyed, for the next taker. Mesa's software Vulkan device
 * (lavapipe 22.3 of Debian 12) refers to destroyed buffers in later dispatches and corrupts the heap (how:
 * software_vulkan.h); it serves tests only, so what it has been given stays in the process. Real devices
 * never come here.
 */
template <typename Object>
class KeptObjects {
  public:
    void keep(const void* kind, size_t bytes, Object object) {
        const std::lock_guard lock(mutex_);
        objects_.emplace(std::pair{kind, bytes}, object);
    }

    /** The smallest that has at least these bytes. */
    std::optional<Object> take(const void* kind, size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.lower_bound(std::pair{kind, bytes});
        if (found == objects_.end() || found->first.first != kind) return std::nullopt;
        const Object object = found->second;
        objects_.erase(found);
        return object;
    }

  private:
    std::mutex mutex_;
    std::multimap<std::pair<const void*, size_t>, Object> objects_;
};

}  // namespace mizuoto
