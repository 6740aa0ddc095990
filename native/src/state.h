#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device.h"
#include "ggml.h"
#include "tensor_types.h"

namespace mizuoto {

struct StateSpec {
    ggml_type type = GGML_TYPE_F32;
    Shape shape;
};

/** Persistent tensors on a device (KV caches), zero at first. Made, read and written on the device's thread.
 */
class State {
  public:
    /** Throws OutOfDeviceMemory, InvalidArgument. */
    State(std::shared_ptr<Device> device, std::vector<StateSpec> specs);

    const std::shared_ptr<Device>& device() const { return device_; }
    /** Throws InvalidArgument. */
    const StateSpec& spec(int index) const;
    size_t bytes() const { return bytes_; }
    size_t tensorBytes(int index) const;

    void read(int index, uint8_t* out) const;
    void write(int index, const uint8_t* data, size_t bytes, size_t offset);
    void clear();
    void dispose() { buffer_.reset(); }

    /** Throws Disposed. */
    void bind(ggml_tensor* leaf, size_t index) const;

  private:
    ggml_tensor* at(int index) const;
    void requireAlive() const;

    std::shared_ptr<Device> device_;
    std::vector<StateSpec> specs_;
    std::unique_ptr<ggml_context, void (*)(ggml_context*)> context_;
    std::vector<ggml_tensor*> tensors_;
    std::unique_ptr<DeviceBuffer> buffer_;
    size_t bytes_ = 0;
};

}  // namespace mizuoto
