#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device.h"
#include "host_lock.h"
#include "host_weight.h"

namespace mizuoto {

/**
 * Page-locked host memory of one unit, from construction to destruction. Where the backend can lock memory in
 * place (CUDA), the weights' own memory is locked; elsewhere, and where it refuses, a host buffer of the
 * backend holds them in the layout of the device, so that the unit moves in one transfer. On the device's
 * thread.
 */
class PinnedUnit {
  public:
    /** Memory of one weight, and who owns it (null: the caller answers for it). */
    struct Source {
        HostRange range;
        std::shared_ptr<const void> owner;
    };

    /** Null where this memory cannot be locked in place. */
    static std::unique_ptr<PinnedUnit> inPlace(const Device& device, size_t unitBytes,
                                               const std::vector<Source>& weights);
    /** Null when the device has no page-locked memory, or none left. */
    static std::unique_ptr<PinnedUnit> buffer(const std::shared_ptr<Device>& device, size_t unitBytes);
    ~PinnedUnit();
    PinnedUnit(const PinnedUnit&) = delete;
    PinnedUnit& operator=(const PinnedUnit&) = delete;

    size_t bytes() const { return bytes_; }
    /** Memory for the unit in the device's layout; null where it is locked in place. */
    uint8_t* memory() const { return memory_; }

  private:
    explicit PinnedUnit(size_t bytes) : bytes_(bytes) {}

    size_t bytes_;
    std::vector<std::shared_ptr<HostLock>> locks_;
    std::shared_ptr<Device> device_;
    ggml_backend_buffer_t buffer_ = nullptr;
    /** Plays the buffer on simulated devices. */
    AlignedBytes plain_;
    uint8_t* memory_ = nullptr;
};

}  // namespace mizuoto
