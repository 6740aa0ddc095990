#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "copy_engine.h"
#include "link.h"

namespace mizuoto {

class Device;
class DeviceBuffer;
class WeightStore;

struct StreamerOptions {
    size_t slots = 1;
    size_t slotBytes = 0;
    bool prefetch = false;
};

struct StreamerStats {
    uint64_t streamedBytes = 0;
    uint64_t copies = 0;
    uint64_t reused = 0;
    uint64_t onTheSpot = 0;
    double copySeconds = 0;
    double waitSeconds = 0;
};

/** A unit that a call of a pass reads. */
struct StreamedUnit {
    std::shared_ptr<WeightStore> store;
    int unit = 0;
};

/**
 * The few places ("slots") on a device through which streamed units pass. All on the device's thread, except
 * `stats` and `paceLink`.
 */
class Streamer {
  public:
    explicit Streamer(Device& device, double linkBytesPerSecond);
    ~Streamer();

    /** Throws OutOfDeviceMemory, and then the old slots are back if they can be had; InvalidArgument. */
    void configure(const std::optional<StreamerOptions>& options);
    void drop();
    /** Empty slots, and copies that begin anew: the device's backend was replaced. */
    void restart();
    bool enabled() const { return !slots_.empty(); }
    /** The last change failed, and the slots before it could not be had again. */
    bool lost() const { return lost_; }
    size_t slotBytes() const { return options_.slotBytes; }
    /** Grows when the slots change. */
    uint64_t configuration() const { return configuration_; }
    /** Copies of this store's units are void. */
    void forget(const WeightStore& store);

    StreamerStats stats() const;
    /** Sleeps as long as a simulated link takes for these bytes; less when cancelled. */
    void paceLink(size_t bytes, const CancelPointer& cancel);

    /** One run of a graph: the units in the order in which its calls read them. */
    class Pass {
      public:
        Pass(Streamer& streamer, const std::vector<StreamedUnit>& order, CancelPointer cancel);
        /** Copies that nobody will wait for are stopped. */
        ~Pass();
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;

        struct Place {
            ggml_backend_buffer_t buffer;
            uint8_t* base;
        };
        /** Where the unit of use `position` is, once the device can read it. */
        Place acquire(size_t position);
        /** Start copies for the uses after `position`, as far as there are slots for them. */
        void prefetch(size_t position);
        /** The work of use `position` has been handed to the device. */
        void release(size_t position);

      private:
        size_t nextUse(size_t slot, size_t from) const;
        std::optional<size_t> find(size_t position) const;
        std::optional<size_t> victim(size_t position, size_t from, std::optional<size_t> keep) const;
        void load(size_t slot, size_t position);

        Streamer& streamer_;
        const std::vector<StreamedUnit>& order_;
        CancelPointer cancel_;
        std::optional<size_t> running_;
    };

  private:
    struct Slot {
        std::unique_ptr<DeviceBuffer> buffer;
        uint64_t store = 0;
        int unit = -1;
        uint64_t version = 0;
        /** Copied for a use that has not come yet. */
        bool ahead = false;

        bool empty() const { return store == 0; }
    };

    void check(const StreamerOptions& options) const;
    void make(const StreamerOptions& options);

    Device& device_;
    Link link_;
    StreamerOptions options_;
    std::vector<Slot> slots_;
    bool lost_ = false;
    std::unique_ptr<CopyEngine> engine_;
    double copySecondsBefore_ = 0;
    uint64_t configuration_ = 0;
    mutable std::mutex statsMutex_;
    StreamerStats stats_;
};

}  // namespace mizuoto
