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

#include "copy_engines.h"

namespace mizuoto {
namespace {

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
        const auto begin = CopyClock::now();
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
            const auto begin = CopyClock::now();
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
            requireCopyable(device_, {piece.data, piece.bytes}, slot.request.subject);
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

}  // namespace

std::unique_ptr<CopyEngine> makeThreadCopyEngine(Device& device, Link& link, size_t slots) {
    return std::make_unique<ThreadCopyEngine>(device, link, slots);
}

}  // namespace mizuoto
