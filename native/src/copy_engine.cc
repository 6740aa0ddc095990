#include "copy_engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "error.h"

namespace mizuoto {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

Error copyFailed(const Device& device, const std::string& subject) {
    return Error("DeviceLost", device.name() + " failed while copying " + subject + ".",
                 {detailOf("device", device.name()), detailOf("subject", subject)});
}

/** A slot's memory as a tensor of bytes, which backends copy into. */
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

/**
 * Host memory to host memory on a thread of its own: the copy engine of a simulated device. What runs on the
 * device's thread computes meanwhile.
 */
class ThreadCopyEngine final : public CopyEngine {
  public:
    ThreadCopyEngine(Device& device, Link& link, size_t slots)
        : device_(device), link_(link), slots_(slots), thread_([this] { loop(); }) {}

    ~ThreadCopyEngine() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            queue_.clear();
            changed_.notify_all();
        }
        thread_.join();
    }

    bool overlaps() const override { return true; }

    void start(size_t slot, ggml_backend_buffer_t, uint8_t* base, CopyRequest request) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return slots_[slot].state != State::Pending; });
        slots_[slot] = {State::Pending, nullptr, base, std::move(request)};
        queue_.push_back(slot);
        changed_.notify_all();
    }

    double await(size_t slot, bool, const CancelPointer& cancel) override {
        const auto begin = Clock::now();
        std::unique_lock lock(mutex_);
        while (slots_[slot].state == State::Pending) {
            throwIfCancelled(cancel);
            if (device_.interrupted()) throw Error("Cancelled", "The device is closing.");
            changed_.wait_for(lock, std::chrono::milliseconds(5));
        }
        if (slots_[slot].failure) std::rethrow_exception(std::exchange(slots_[slot].failure, nullptr));
        return secondsSince(begin);
    }

    void released(size_t) override {}

    void stop(size_t index) override {
        std::unique_lock lock(mutex_);
        Slot& slot = slots_[index];
        const auto queued = std::find(queue_.begin(), queue_.end(), index);
        if (queued != queue_.end()) {
            queue_.erase(queued);
            slot = {};
        } else if (slot.state == State::Pending) {
            abandon_ = true;
            changed_.wait(lock, [&] { return slot.state != State::Pending; });
            abandon_ = false;
        }
    }

    void pause() override {}

    void settle() override {
        std::unique_lock lock(mutex_);
        for (size_t slot : queue_) slots_[slot] = {};
        queue_.clear();
        abandon_ = true;
        changed_.wait(lock, [this] { return !busy_; });
        abandon_ = false;
    }

    void resize(size_t slots) override {
        const std::lock_guard lock(mutex_);
        slots_.clear();
        slots_.resize(slots);
    }

    bool filled(size_t slot) const override {
        const std::lock_guard lock(mutex_);
        return slots_[slot].state == State::Full;
    }

    CopyTime copyTime() const override {
        const std::lock_guard lock(mutex_);
        return time_;
    }

  private:
    enum class State : uint8_t { Empty, Pending, Full };
    struct Slot {
        State state = State::Empty;
        std::exception_ptr failure;
        uint8_t* base = nullptr;
        CopyRequest request;
    };

    void loop() {
        // Stale bytes become NaN: a kernel that reads a slot too early cannot go unnoticed.
        const bool poison = std::getenv("MIZUOTO_POISON_SLOTS") != nullptr;
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
            if (stopping_) return;
            Slot& slot = slots_[queue_.front()];
            queue_.pop_front();
            busy_ = true;
            lock.unlock();
            const auto begin = Clock::now();
            std::exception_ptr failure;
            bool whole = false;
            size_t copied = 0;
            try {
                whole = copy(slot, poison, copied);
            } catch (...) {
                failure = std::current_exception();
            }
            // A store is destroyed on the device's thread only.
            if (slot.request.keep) device_.post([keep = std::move(slot.request.keep)] {});
            lock.lock();
            time_.seconds += secondsSince(begin);
            time_.bytes += static_cast<double>(copied);
            slot.failure = failure;
            slot.state = whole ? State::Full : State::Empty;
            busy_ = false;
            changed_.notify_all();
        }
    }

    bool copy(const Slot& slot, bool poison, size_t& copied) {
        constexpr size_t kPiece = size_t{4} << 20;
        const auto stop = [this] { return abandon_.load() || device_.interrupted(); };
        if (poison) {
            for (const UnitPiece& piece : slot.request.pieces)
                std::memset(slot.base + piece.offset, 0xFF, piece.bytes);
        }
        for (const UnitPiece& piece : slot.request.pieces) {
            if (device_.faults().copyFails()) throw copyFailed(device_, slot.request.subject);
            for (size_t done = 0; done < piece.bytes; done += kPiece) {
                if (stop()) return false;
                const size_t bytes = std::min(kPiece, piece.bytes - done);
                std::memcpy(slot.base + piece.offset + done, piece.data + done, bytes);
                link_.pace(bytes, stop);
                copied += bytes;
            }
        }
        return !stop();
    }

    Device& device_;
    Link& link_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Slot> slots_;
    std::deque<size_t> queue_;
    std::atomic<bool> abandon_{false};
    bool busy_ = false;
    bool stopping_ = false;
    CopyTime time_;
    std::thread thread_;
};

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
        const auto begin = Clock::now();
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
        const auto begin = Clock::now();
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
        Clock::time_point begin;
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

/** For backends without events: copy, then compute. */
class SerialCopyEngine final : public CopyEngine {
  public:
    SerialCopyEngine(Device& device, size_t slots) : device_(device), filled_(slots, false) {}

    bool overlaps() const override { return false; }

    void start(size_t slot, ggml_backend_buffer_t buffer, uint8_t* base, CopyRequest request) override {
        filled_[slot] = false;
        const auto begin = Clock::now();
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
    if (device.simulated()) return std::make_unique<ThreadCopyEngine>(device, link, slots);
    if (device.caps().async && device.caps().events) return std::make_unique<StreamCopyEngine>(device, slots);
    return std::make_unique<SerialCopyEngine>(device, slots);
}

}  // namespace mizuoto
