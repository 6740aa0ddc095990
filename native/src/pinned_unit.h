#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device.h"

namespace mizuoto {

/**
 * Page-locked host memory of one unit, from construction to destruction. Where the backend can lock memory in
 * place (CUDA), the weights' own memory is registered; elsewhere a host buffer of the backend takes a copy in
 * the layout of the device, so that the unit moves in one transfer. A simulated device only counts.
 */
class PinnedUnit {
  public:
    /** Null when the device has no page-locked memory, or none left. Any thread. */
    static std::shared_ptr<PinnedUnit> make(const std::shared_ptr<Device>& device, size_t unitBytes);
    ~PinnedUnit();
    PinnedUnit(const PinnedUnit&) = delete;
    PinnedUnit& operator=(const PinnedUnit&) = delete;

    /** Lock this memory in place, where that is how it is done. On the device's thread. */
    void lock(const uint8_t* data, size_t bytes);

    size_t bytes() const { return bytes_; }
    /** Memory that holds a copy of the unit in the device's layout, or null (in place, simulated). */
    uint8_t* copy() const { return copy_; }

  private:
    using RegisterBuffer = bool (*)(void*, size_t);
    using UnregisterBuffer = void (*)(void*);
    PinnedUnit() = default;

    std::shared_ptr<Device> device_;
    ggml_backend_buffer_t buffer_ = nullptr;
    uint8_t* copy_ = nullptr;
    RegisterBuffer registerBuffer_ = nullptr;
    UnregisterBuffer unregisterBuffer_ = nullptr;
    std::vector<void*> registered_;
    size_t bytes_ = 0;
};

}  // namespace mizuoto
