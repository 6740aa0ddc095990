#include "streamer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "device.h"
#include "error.h"
#include "weight_store.h"

namespace mizuoto {

Streamer::Streamer(Device& device, double linkBytesPerSecond) : device_(device), link_(linkBytesPerSecond) {}

Streamer::~Streamer() = default;

void Streamer::configure(const std::optional<StreamerOptions>& options) {
    if (options) check(*options);
    const auto before = enabled() ? std::optional(options_) : std::nullopt;
    drop();
    lost_ = false;
    if (!options) return;
    try {
        make(*options);
    } catch (const Error&) {
        // What runs on the old slots goes on.
        if (before) {
            try {
                make(*before);
            } catch (const Error&) {
                lost_ = true;
            }
        }
        throw;
    }
}

void Streamer::check(const StreamerOptions& options) const {
    if (options.slots < 1 || options.slots > 64 || options.slotBytes == 0) {
        throw Error("InvalidArgument", "A streamer needs 1 to 64 slots of at least one byte.");
    }
    if (options.prefetch && options.slots < 2) {
        throw Error("InvalidArgument",
                    "Prefetching needs two slots: one is computed with while the other is filled.");
    }
    if (options.slotBytes > device_.maxBufferBytes()) {
        throw Error("OutOfDeviceMemory",
                    device_.name() + " holds at most " + bytesText(device_.maxBufferBytes()) +
                        " in one piece; a slot of " + bytesText(options.slotBytes) + " was wanted.",
                    {detailOf("needed", options.slotBytes), detailOf("available", device_.maxBufferBytes())});
    }
}

void Streamer::make(const StreamerOptions& options) {
    std::vector<Slot> slots(options.slots);
    for (Slot& slot : slots) {
        slot.buffer = device_.allocate(Purpose::Slots, alignUp(options.slotBytes, device_.alignment()),
                                       GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    engine_ = makeCopyEngine(device_, link_, slots.size());
    slots_ = std::move(slots);
    options_ = options;
}

void Streamer::drop() {
    if (engine_) {
        engine_->settle();
        copySecondsBefore_ += engine_->copySeconds();
    }
    engine_.reset();
    slots_.clear();
    options_ = {};
    ++configuration_;
}

void Streamer::restart() {
    if (!engine_) return;
    copySecondsBefore_ += engine_->copySeconds();
    engine_.reset();
    for (Slot& slot : slots_) slot.store = 0;
    engine_ = makeCopyEngine(device_, link_, slots_.size());
}

void Streamer::forget(const WeightStore& store) {
    for (Slot& slot : slots_) {
        if (slot.store == store.id()) slot.store = 0;
    }
}

StreamerStats Streamer::stats() const {
    const std::lock_guard lock(statsMutex_);
    return stats_;
}

void Streamer::paceLink(size_t bytes, const CancelPointer& cancel) {
    link_.pace(bytes, [&] { return device_.interrupted() || (cancel && cancel->cancelled()); });
}

Streamer::Pass::Pass(Streamer& streamer, const std::vector<StreamedUnit>& order, CancelPointer cancel)
    : streamer_(streamer), order_(order), cancel_(std::move(cancel)) {}

Streamer::Pass::~Pass() {
    if (order_.empty() || !streamer_.engine_) return;
    try {
        streamer_.engine_->settle();
    } catch (const Error&) {
        streamer_.device_.markLost();
    }
    for (size_t i = 0; i < streamer_.slots_.size(); ++i) {
        if (!streamer_.engine_->filled(i)) streamer_.slots_[i].store = 0;
    }
    const std::lock_guard lock(streamer_.statsMutex_);
    streamer_.stats_.copySeconds = streamer_.copySecondsBefore_ + streamer_.engine_->copySeconds();
}

std::optional<size_t> Streamer::Pass::find(size_t position) const {
    const StreamedUnit& use = order_[position];
    for (size_t i = 0; i < streamer_.slots_.size(); ++i) {
        const Slot& slot = streamer_.slots_[i];
        if (slot.store == use.store->id() && slot.unit == use.unit &&
            slot.version == use.store->version(use.unit)) {
            return i;
        }
    }
    return std::nullopt;
}

/** Position of the next use of what the slot holds, at or after `from`; passes are taken to repeat. */
size_t Streamer::Pass::nextUse(size_t index, size_t from) const {
    const Slot& slot = streamer_.slots_[index];
    if (slot.empty()) return std::numeric_limits<size_t>::max();
    const auto holds = [&](const StreamedUnit& use) {
        return use.store->id() == slot.store && use.unit == slot.unit &&
               use.store->version(use.unit) == slot.version;
    };
    for (size_t i = from; i < order_.size(); ++i) {
        if (holds(order_[i])) return i;
    }
    for (size_t i = 0; i < from; ++i) {
        if (holds(order_[i])) return order_.size() + i;
    }
    return std::numeric_limits<size_t>::max() - 1;
}

/** The slot whose unit is wanted last from use `from` on, if later than use `position`. */
std::optional<size_t> Streamer::Pass::victim(size_t position, size_t from, std::optional<size_t> keep) const {
    std::optional<size_t> best;
    size_t latest = position;
    for (size_t i = 0; i < streamer_.slots_.size(); ++i) {
        if (i == keep) continue;
        const size_t next = nextUse(i, from);
        if (next > latest) {
            latest = next;
            best = i;
        }
    }
    return best;
}

void Streamer::Pass::load(size_t index, size_t position) {
    const StreamedUnit& use = order_[position];
    Slot& slot = streamer_.slots_[index];
    slot.store = 0;
    CopyRequest request;
    request.pieces = use.store->pieces(use.unit);
    request.subject = use.store->component() + ", unit " + std::to_string(use.unit);
    request.pinned = use.store->isPinned(use.unit);
    streamer_.engine_->start(index, slot.buffer->get(), slot.buffer->base(), std::move(request));
    slot.store = use.store->id();
    slot.unit = use.unit;
    slot.version = use.store->version(use.unit);
    slot.ahead = true;
    use.store->noteStreamed(use.store->unitBytes(use.unit));
    const std::lock_guard lock(streamer_.statsMutex_);
    ++streamer_.stats_.copies;
    streamer_.stats_.streamedBytes += use.store->unitBytes(use.unit);
}

Streamer::Pass::Place Streamer::Pass::acquire(size_t position) {
    throwIfCancelled(cancel_);
    std::optional<size_t> index = find(position);
    const bool onTheSpot = !index;
    if (onTheSpot) {
        index = victim(position, position, std::nullopt);
        load(*index, position);
    }
    Slot& slot = streamer_.slots_[*index];
    double waited = 0;
    try {
        waited = streamer_.engine_->await(*index, onTheSpot, cancel_);
    } catch (...) {
        slot.store = 0;
        throw;
    }
    running_ = index;
    {
        const std::lock_guard lock(streamer_.statsMutex_);
        streamer_.stats_.waitSeconds += waited;
        streamer_.stats_.onTheSpot += onTheSpot ? 1 : 0;
        streamer_.stats_.reused += slot.ahead ? 0 : 1;
    }
    slot.ahead = false;
    return {slot.buffer->get(), slot.buffer->base()};
}

void Streamer::Pass::prefetch(size_t position) {
    if (!streamer_.options_.prefetch) return;
    const size_t last = std::min(order_.size(), position + streamer_.slots_.size());
    for (size_t next = position + 1; next < last; ++next) {
        if (find(next)) continue;
        const std::optional<size_t> slot = victim(next, position + 1, running_);
        if (!slot) return;
        load(*slot, next);
    }
}

void Streamer::Pass::release(size_t) {
    streamer_.engine_->released(*running_);
    running_.reset();
}

}  // namespace mizuoto
