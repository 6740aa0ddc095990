#pragma once

#include <memory>
#include <vector>

#include "host_import.h"
#include "mapping.h"

namespace mizuoto {

/** One weight of a unit that is to be placed. */
struct ToPlace {
    const HostWeight* host = nullptr;
    /** On the device, with padding. */
    size_t bytes = 0;
    /** Set where it is to be read in place. */
    Mapping::Window* window = nullptr;
};

/**
 * Where the weights of one unit are on a device: in buffers of its own, or where they lie in host memory. Its
 * memory is on the ledger as long as it lives. On the device's thread.
 */
class UnitPlace {
  public:
    /** Allocates and imports; values are not copied yet. Throws OutOfDeviceMemory, DeviceLost, Disposed. */
    UnitPlace(std::shared_ptr<Device> device, const std::vector<ToPlace>& weights);

    bool isMapped(size_t weight) const { return places_[weight].mapped; }
    ggml_backend_buffer_t buffer(size_t weight) const { return places_[weight].buffer; }
    uint8_t* address(size_t weight) const { return places_[weight].address; }
    /** All its weights are in one buffer, one after the other. */
    bool isOnePiece() const { return buffers_.size() == 1 && mappedBytes() == 0; }
    size_t mappedBytes() const { return mapped_ ? mapped_->bytes() : 0; }
    /** Were to be read in place, and the device would not. */
    size_t refusedBytes() const { return refusedBytes_; }

    /** The weight gets memory of its own. Throws OutOfDeviceMemory, and nothing changes. */
    void unmap(size_t weight);

  private:
    struct Place {
        ggml_backend_buffer_t buffer = nullptr;
        uint8_t* address = nullptr;
        size_t bytes = 0;
        bool mapped = false;
    };

    void map(const std::vector<ToPlace>& weights);
    void allocateRest();

    std::shared_ptr<Device> device_;
    std::vector<Place> places_;
    std::unique_ptr<MappedBytes> mapped_;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
    size_t refusedBytes_ = 0;
};

}  // namespace mizuoto
