#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "error.h"
#include "tensor_types.h"

namespace mizuoto {

/** What a device allocation is for: the fields of `DeviceMemory.held`. */
enum class Purpose : uint8_t { Weights, Slots, Compute, Io, State };
constexpr size_t kPurposes = 5;

/**
 * What this process holds on one device, by purpose, with peaks. On a simulated device it is also the limit:
 * what does not fit beside the foreign bytes is refused.
 */
class Ledger {
  public:
    struct Snapshot {
        std::array<uint64_t, kPurposes> held{};
        uint64_t peakBytes = 0;
        uint64_t peakWorkingBytes = 0;
    };

    void limit(uint64_t totalBytes) {
        const std::lock_guard lock(mutex_);
        total_ = totalBytes;
    }

    void setForeign(uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        foreign_ = bytes;
    }

    /** Throws OutOfDeviceMemory with what was needed and what is free. */
    void reserve(Purpose purpose, uint64_t bytes, const std::string& device) {
        const std::lock_guard lock(mutex_);
        if (total_) {
            const uint64_t available = freeLocked();
            if (bytes > available) {
                throw Error("OutOfDeviceMemory",
                            device + " has " + bytesText(available) + " free of " + bytesText(*total_) +
                                "; " + bytesText(bytes) + " more were needed.",
                            {detailOf("device", device), detailOf("needed", bytes),
                             detailOf("available", available), detailOf("total", *total_)});
            }
        }
        held_[static_cast<size_t>(purpose)] += bytes;
        peak_ = std::max(peak_, sumLocked());
        peakWorking_ = std::max(peakWorking_, workingLocked());
    }

    void release(Purpose purpose, uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        held_[static_cast<size_t>(purpose)] -= bytes;
    }

    void resetPeak() {
        const std::lock_guard lock(mutex_);
        peak_ = sumLocked();
        peakWorking_ = workingLocked();
    }

    /** Simulated devices only: what the simulated driver still reports. */
    std::optional<std::pair<uint64_t, uint64_t>> simulatedFreeAndTotal() const {
        const std::lock_guard lock(mutex_);
        if (!total_) return std::nullopt;
        return std::pair{freeLocked(), *total_};
    }

    Snapshot snapshot() const {
        const std::lock_guard lock(mutex_);
        return {held_, peak_, peakWorking_};
    }

  private:
    uint64_t sumLocked() const {
        uint64_t sum = 0;
        for (uint64_t bytes : held_) sum += bytes;
        return sum;
    }
    uint64_t workingLocked() const {
        return held_[static_cast<size_t>(Purpose::Compute)] + held_[static_cast<size_t>(Purpose::Io)] +
               held_[static_cast<size_t>(Purpose::State)];
    }
    uint64_t freeLocked() const {
        const uint64_t used = sumLocked() + foreign_;
        return used >= *total_ ? 0 : *total_ - used;
    }

    mutable std::mutex mutex_;
    std::array<uint64_t, kPurposes> held_{};
    uint64_t peak_ = 0;
    uint64_t peakWorking_ = 0;
    uint64_t foreign_ = 0;
    std::optional<uint64_t> total_;
};

}  // namespace mizuoto
