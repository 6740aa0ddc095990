#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device.h"
#include "ggml-alloc.h"

namespace mizuoto {

/**
 * Scratch memory of graphs that never run at the same time: ggml's graph allocator, grown to the largest of
 * them. A graph keeps its addresses as long as `generation` stays; all calls but the constructor's on the
 * device's thread.
 */
class Arena final : public DeviceResource {
  public:
    explicit Arena(std::shared_ptr<Device> device);
    ~Arena();

    const std::shared_ptr<Device>& device() const { return device_; }
    uint64_t bytes() const { return bytes_.load(); }
    uint64_t generation() const { return generation_; }

    /** Gives every tensor of the graph that has no data yet its place. Throws OutOfDeviceMemory. */
    void allocate(ggml_cgraph* graph, size_t plannedBytes);
    /** Gives the memory back; graphs allocate again at their next run. */
    void trim();
    void releaseDeviceMemory() override { trim(); }

    /** Bytes that `allocate` would take for this graph alone. Any thread; allocates nothing. */
    static size_t plan(ggml_backend_buffer_type_t type, ggml_cgraph* graph);

  private:
    void account(size_t now);

    std::shared_ptr<Device> device_;
    ggml_gallocr_t allocator_ = nullptr;
    std::atomic<uint64_t> bytes_{0};
    uint64_t generation_ = 1;
};

}  // namespace mizuoto
