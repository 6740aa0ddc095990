#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "link.h"
#include "weight_store.h"

namespace mizuoto {

/** One copy to make: the pieces of a unit, to the start of a slot. */
struct CopyRequest {
    std::vector<UnitPiece> pieces;
    /** For messages: component and unit. */
    std::string subject;
    bool pinned = false;
    /** Keeps the pieces where they are, for copies that outlive the pass that began them. */
    std::shared_ptr<const WeightStore> keep;
};

struct CopyTime {
    double seconds = 0;
    double bytes = 0;
};

/** Moves units into slots while the device computes, as well as the backend allows. On the device's thread.
 */
class CopyEngine {
  public:
    virtual ~CopyEngine() = default;

    /** Copies go on while the device computes, and after a pass. */
    virtual bool overlaps() const = 0;

    /** Begin to copy into a slot, once its last reader is done. May copy at once. */
    virtual void start(size_t slot, ggml_backend_buffer_t buffer, uint8_t* base, CopyRequest request) = 0;
    /**
     * What runs on the device from now on sees the copy. Returns seconds waited. Rethrows the copy's failure.
     * `onTheSpot`: nothing can overlap, so the time of the copy may be measured by waiting for it here.
     */
    virtual double await(size_t slot, bool onTheSpot, const CancelPointer& cancel) = 0;
    /** Work that reads the slot has been handed to the device. */
    virtual void released(size_t slot) = 0;
    /** Nobody wants this slot's copy: nothing moves into it any more. Without a copy on its way: nothing. */
    virtual void stop(size_t slot) = 0;
    /** The device has computed everything; copies that nobody has waited for go on. */
    virtual void pause() = 0;
    /** Wait until nothing moves any more; copies that have not begun are dropped. */
    virtual void settle() = 0;
    /** Another number of slots, all without a copy. After `settle`. */
    virtual void resize(size_t slots) = 0;
    /** False where `settle` or a failure left the slot without its unit. */
    virtual bool filled(size_t slot) const = 0;
    /** Seconds spent copying so far, and the bytes that moved in them. */
    virtual CopyTime copyTime() const = 0;
};

std::unique_ptr<CopyEngine> makeCopyEngine(Device& device, Link& link, size_t slots);

}  // namespace mizuoto
