#include "copy_engine.h"

#include <utility>

#include "copy_engines.h"

namespace mizuoto {

Error copyFailed(const Device& device, const std::string& subject) {
    return Error("DeviceLost", device.name() + " failed while copying " + subject + ".",
                 {detailOf("device", device.name()), detailOf("subject", subject)});
}

void requireCopyable(const Device& device, const HostRange& source, const std::string& subject) {
    const char* objection = device.hostLocks() ? device.hostLocks()->objection(source) : nullptr;
    if (objection == nullptr) return;
    Error error = copyFailed(device, subject);
    error.message += std::string(" It cannot copy: ") + objection + ".";
    throw error;
}

ggml_tensor bytesAt(ggml_backend_buffer_t buffer, uint8_t* address, size_t bytes) {
    ggml_tensor tensor{};
    tensor.type = GGML_TYPE_I8;
    tensor.buffer = buffer;
    tensor.data = address;
    tensor.ne[0] = static_cast<int64_t>(bytes);
    tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
    tensor.nb[0] = 1;
    tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = bytes;
    return tensor;
}

namespace {

/** For backends without events: copy, then compute. */
class SerialCopyEngine final : public CopyEngine {
  public:
    SerialCopyEngine(Device& device, size_t slots) : device_(device), filled_(slots, false) {}

    bool overlaps() const override { return false; }

    void start(size_t slot, ggml_backend_buffer_t buffer, uint8_t* base, CopyRequest request) override {
        filled_[slot] = false;
        const auto begin = CopyClock::now();
        callBackend(device_.name(), [&] {
            ggml_backend_synchronize(device_.backend());
            for (const UnitPiece& piece : request.pieces) {
                if (device_.faults().copyFails()) throw copyFailed(device_, request.subject);
                ggml_tensor target = bytesAt(buffer, base + piece.offset, piece.bytes);
                ggml_backend_tensor_set(&target, piece.data, 0, piece.bytes);
            }
        });
        last_ = secondsSince(begin);
        time_.seconds += last_;
        for (const UnitPiece& piece : request.pieces) time_.bytes += static_cast<double>(piece.bytes);
        filled_[slot] = true;
    }

    double await(size_t, bool, const CancelPointer&) override { return std::exchange(last_, 0); }
    void released(size_t) override {}
    void stop(size_t) override {}
    void pause() override {}
    void settle() override {}
    void resize(size_t slots) override { filled_.assign(slots, false); }
    bool filled(size_t slot) const override { return filled_[slot]; }
    CopyTime copyTime() const override { return time_; }

  private:
    Device& device_;
    std::vector<bool> filled_;
    CopyTime time_;
    double last_ = 0;
};

}  // namespace

std::unique_ptr<CopyEngine> makeCopyEngine(Device& device, Link& link, size_t slots) {
    if (device.simulated()) return makeThreadCopyEngine(device, link, slots);
    if (device.caps().async && device.caps().events) return makeStreamCopyEngine(device, slots);
    return std::make_unique<SerialCopyEngine>(device, slots);
}

}  // namespace mizuoto
