#include <algorithm>
#include <utility>

#include "copy_engines.h"

namespace mizuoto {
namespace {

/** A second instance of the backend as side stream, ordered against the first by events in both directions.
 */
class StreamCopyEngine final : public CopyEngine {
  public:
    StreamCopyEngine(Device& device, size_t slots) : device_(device), slots_(slots) {
        callBackend(device_.name(), [&] {
            side_ = device_.openBackend();
            for (Slot& slot : slots_) makeEvents(slot);
        });
        if (side_ == nullptr) {
            throw Error("OutOfDeviceMemory",
                        device_.name() + " cannot open a second stream. " + takeLastLog(),
                        {detailOf("device", device_.name())});
        }
    }

    ~StreamCopyEngine() override {
        try {
            callBackend(device_.name(), [&] { ggml_backend_synchronize(side_); });
        } catch (const Error&) {
            device_.markLost();
        }
        for (Slot& slot : slots_) freeEvents(slot);
        device_.closeBackend(side_);
    }

    bool overlaps() const override { return true; }

    void start(size_t index, ggml_backend_buffer_t buffer, uint8_t* base, CopyRequest request) override {
        catchUp();
        Slot& slot = slots_[index];
        slot.filled = false;
        slot.bytes = 0;
        const auto begin = CopyClock::now();
        callBackend(device_.name(), [&] {
            if (slot.read) ggml_backend_event_wait(side_, slot.released);
            for (const UnitPiece& piece : request.pieces) {
                if (device_.faults().copyFails()) throw copyFailed(device_, request.subject);
                ggml_tensor target = bytesAt(buffer, base + piece.offset, piece.bytes);
                ggml_backend_tensor_set_async(side_, &target, piece.data, 0, piece.bytes);
                slot.bytes += piece.bytes;
            }
            ggml_backend_event_record(slot.copied, side_);
        });
        slot.filled = true;
        slot.moving = true;
        slot.keep = std::move(request.keep);
        slot.begin = begin;
        // From pageable memory the backend copies before it returns.
        slot.measured = !request.pinned;
        if (slot.measured) count(slot.bytes, secondsSince(begin));
    }

    double await(size_t index, bool onTheSpot, const CancelPointer&) override {
        Slot& slot = slots_[index];
        const auto begin = CopyClock::now();
        if (slot.moving) catchUp();
        double waited = secondsSince(begin);
        slot.moving = false;
        callBackend(device_.name(), [&] {
            if (onTheSpot) {
                ggml_backend_synchronize(side_);
                waited = secondsSince(slot.begin);
                if (!slot.measured) count(slot.bytes, waited);
                slot.measured = true;
            }
            ggml_backend_event_wait(device_.backend(), slot.copied);
        });
        // Hidden behind compute: its time is taken from the rate of those that were waited for.
        if (!slot.measured && rate_.seconds > 0) {
            const auto bytes = static_cast<double>(slot.bytes);
            time_.seconds += bytes * rate_.seconds / rate_.bytes;
            time_.bytes += bytes;
            slot.measured = true;
        }
        return waited;
    }

    void released(size_t index) override {
        callBackend(device_.name(),
                    [&] { ggml_backend_event_record(slots_[index].released, device_.backend()); });
        slots_[index].read = true;
    }

    void stop(size_t index) override {
        if (slots_[index].moving) synchronizeSide();
    }

    void pause() override {
        carried_ = std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.moving; });
        if (!carried_) synchronizeSide();
        recycleEvents();
    }

    void settle() override {
        synchronizeSide();
        callBackend(device_.name(), [&] { ggml_backend_synchronize(device_.backend()); });
        recycleEvents();
    }

    void resize(size_t slots) override {
        callBackend(device_.name(), [&] {
            while (slots_.size() > slots) {
                freeEvents(slots_.back());
                slots_.pop_back();
            }
            for (Slot& slot : slots_) slot = Slot{slot.copied, slot.released};
            while (slots_.size() < slots) {
                slots_.emplace_back();
                makeEvents(slots_.back());
            }
        });
    }

    bool filled(size_t slot) const override { return slots_[slot].filled; }
    CopyTime copyTime() const override { return time_; }

  private:
    struct Slot {
        ggml_backend_event_t copied = nullptr;
        ggml_backend_event_t released = nullptr;
        bool read = false;
        bool filled = false;
        /** Nobody has waited for the copy yet. */
        bool moving = false;
        bool measured = false;
        size_t bytes = 0;
        CopyClock::time_point begin;
        std::shared_ptr<const WeightStore> keep;
    };

    void makeEvents(Slot& slot) const {
        slot.copied = ggml_backend_event_new(device_.handle());
        slot.released = ggml_backend_event_new(device_.handle());
    }

    static void freeEvents(const Slot& slot) {
        ggml_backend_event_free(slot.copied);
        ggml_backend_event_free(slot.released);
    }

    /** What an earlier pass began has to end some time: a stream that is never waited for only grows. */
    void catchUp() {
        if (carried_) synchronizeSide();
    }

    void synchronizeSide() {
        callBackend(device_.name(), [&] { ggml_backend_synchronize(side_); });
        carried_ = false;
        for (Slot& slot : slots_) {
            slot.moving = false;
            slot.keep.reset();
        }
    }

    /** Vulkan recycles an event's objects when the host has waited for it. */
    void recycleEvents() {
        callBackend(device_.name(), [&] {
            for (Slot& slot : slots_) {
                if (slot.moving) continue;
                if (slot.filled) ggml_backend_event_synchronize(slot.copied);
                if (slot.read) ggml_backend_event_synchronize(slot.released);
            }
        });
    }

    void count(size_t bytes, double seconds) {
        for (CopyTime* time : {&time_, &rate_}) {
            time->seconds += seconds;
            time->bytes += static_cast<double>(bytes);
        }
    }

    Device& device_;
    ggml_backend_t side_ = nullptr;
    std::vector<Slot> slots_;
    /** Copies of an earlier pass may still move. */
    bool carried_ = false;
    CopyTime time_;
    /** Of copies that were waited for. */
    CopyTime rate_;
};

}  // namespace

std::unique_ptr<CopyEngine> makeStreamCopyEngine(Device& device, size_t slots) {
    return std::make_unique<StreamCopyEngine>(device, slots);
}

}  // namespace mizuoto
