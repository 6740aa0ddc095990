#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "copy_engine.h"
#include "forecast.h"
#include "link.h"

namespace mizuoto {

class Device;
class DeviceBuffer;
class WeightStore;

struct StreamerOptions {
    size_t slots = 1;
    size_t slotBytes = 0;
    bool prefetch = false;
    /** Where it prefetches: for passes that have not begun as well. */
    bool beyondPass = true;
};

struct StreamerStats {
    uint64_t streamedBytes = 0;
    uint64_t copies = 0;
    uint64_t reused = 0;
    uint64_t onTheSpot = 0;
    uint64_t ahead = 0;
    uint64_t wasted = 0;
    double copySeconds = 0;
    double copiedBytes = 0;
    double waitSeconds = 0;
};

/**
 * The few places ("slots") on a device through which streamed units pass. All on the device's thread, except
 * `expect`, `stats` and `paceLink`.
 */
class Streamer {
  public:
    explicit Streamer(Device& device, double linkBytesPerSecond);
    ~Streamer();

    /**
     * Slots of the same size stay, with what they hold. Throws OutOfDeviceMemory, and then the old slots are
     * back if they can be had; InvalidArgument.
     */
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
    /** What is known of this store's units is void: it goes. */
    void forget(const WeightStore& store);
    /** Copies of this unit are void or of no use. */
    void forget(const WeightStore& store, int unit);
    /** Units of this store that were copied for what may come are not wanted any more. */
    void forgetGuesses(const WeightStore& store);
    /** The unit's host memory is about to go: nothing reads it any more. */
    void leave(const WeightStore& store, int unit);

    /** These units come next, in this order. Any thread; `lookAhead` follows it on the device's. */
    void expect(const std::vector<StreamedUnit>& units) { forecast_.tell(units); }
    /** Between passes: units that were told come up in slots that nothing else is expected in. */
    void lookAhead();

    StreamerStats stats() const;
    /** Sleeps as long as a simulated link takes for these bytes; less when cancelled. */
    void paceLink(size_t bytes, const CancelPointer& cancel);

    /** One run of a graph: the units in the order in which its calls read them. */
    class Pass {
      public:
        Pass(Streamer& streamer, const std::vector<StreamedUnit>& order, CancelPointer cancel);
        /** Unless it was finished, copies that nobody will wait for are stopped. */
        ~Pass();
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;

        struct Place {
            ggml_backend_buffer_t buffer;
            uint8_t* base;
        };
        /** Where the unit of use `position` is, once the device can read it. */
        Place acquire(size_t position);
        /**
         * Start copies for the uses after `position`, as far as there are slots for them: of this pass, then
         * of what is thought to come after it.
         */
        void prefetch(size_t position);
        /** The work of use `position` has been handed to the device. */
        void release(size_t position);
        /** All uses are over, and the device has computed them. */
        void finish();

      private:
        const StreamedUnit& use(size_t position) const;
        size_t nextUse(size_t slot, size_t from) const;
        std::optional<size_t> victim(size_t position, size_t from, std::optional<size_t> keep) const;
        void copyAhead(size_t first);
        double await(size_t slot, size_t position, bool& onTheSpot);

        Streamer& streamer_;
        const std::vector<StreamedUnit>& order_;
        CancelPointer cancel_;
        /** Uses beyond the last one count on from it. */
        Forecast::Coming coming_;
        std::optional<size_t> running_;
        bool guesses_ = false;
        bool finished_ = false;
    };

  private:
    struct Slot {
        std::unique_ptr<DeviceBuffer> buffer;
        UnitKey holds;
        uint64_t version = 0;
        /** Copied for a use that has not come yet. */
        bool ahead = false;
        /** And that use is beyond the pass in which the copy began. */
        bool guessed = false;
        /** Was there before the slots changed: the copy engine knows nothing of it, and all is copied. */
        bool kept = false;

        bool empty() const { return holds.store == 0; }
    };

    void check(const StreamerOptions& options) const;
    void make(const StreamerOptions& options);
    /** Another number of slots of the same size. */
    void resize(const StreamerOptions& options);
    void keep(size_t slot);
    std::unique_ptr<DeviceBuffer> allocate(size_t slotBytes);
    bool guesses() const;
    std::optional<size_t> find(const StreamedUnit& unit) const;
    void load(size_t slot, const StreamedUnit& unit);
    /** A copy for what may come: a failure of it is nobody's. False where it did not begin. */
    bool guess(size_t slot, const StreamedUnit& unit);
    void begin(size_t slot, const StreamedUnit& unit, std::vector<UnitPiece> pieces, bool guess);
    bool filled(size_t slot) const { return slots_[slot].kept || engine_->filled(slot); }
    void stop(size_t slot);
    /** Stops a copy on its way there. */
    void vacate(size_t slot);
    void clear(Slot& slot);
    void stopGuesses(const std::vector<StreamedUnit>& order);
    void noteTime();

    Device& device_;
    Link link_;
    StreamerOptions options_;
    std::vector<Slot> slots_;
    bool lost_ = false;
    std::unique_ptr<CopyEngine> engine_;
    Forecast forecast_;
    /** Of copy engines before this one. */
    CopyTime timeBefore_;
    uint64_t configuration_ = 0;
    mutable std::mutex statsMutex_;
    StreamerStats stats_;
};

}  // namespace mizuoto
