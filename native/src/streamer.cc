#include "streamer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "device.h"
#include "error.h"
#include "weight_store.h"

namespace mizuoto {

Streamer::Streamer(Device& device, double linkBytesPerSecond) : device_(device), link_(linkBytesPerSecond) {}

Streamer::~Streamer() = default;

void Streamer::configure(const std::optional<StreamerOptions>& options) {
    if (options) check(*options);
    if (options && enabled() && options->slotBytes == options_.slotBytes) return resize(*options);
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

std::unique_ptr<DeviceBuffer> Streamer::allocate(size_t slotBytes) {
    return device_.allocate(Purpose::Slots, alignUp(slotBytes, device_.alignment()),
                            GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
}

void Streamer::make(const StreamerOptions& options) {
    std::vector<Slot> slots(options.slots);
    for (Slot& slot : slots) slot.buffer = allocate(options.slotBytes);
    engine_ = makeCopyEngine(device_, link_, slots.size());
    slots_ = std::move(slots);
    options_ = options;
}

void Streamer::resize(const StreamerOptions& options) {
    if (options.slots == slots_.size()) {
        options_ = options;
        return;
    }
    std::vector<Slot> added(options.slots > slots_.size() ? options.slots - slots_.size() : 0);
    for (Slot& slot : added) slot.buffer = allocate(options.slotBytes);
    for (size_t i = 0; i < slots_.size(); ++i) keep(i);
    engine_->settle();
    // The first to go are the empty ones, then those that no one is expected to want next.
    std::stable_sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) {
        const auto worth = [](const Slot& slot) { return slot.empty() ? 0 : slot.guessed ? 2 : 1; };
        return worth(a) > worth(b);
    });
    while (slots_.size() > options.slots) {
        clear(slots_.back());
        slots_.pop_back();
    }
    std::move(added.begin(), added.end(), std::back_inserter(slots_));
    engine_->resize(slots_.size());
    options_ = options;
    ++configuration_;
}

/** Waits for a copy on its way to the slot: it is wanted. */
void Streamer::keep(size_t index) {
    Slot& slot = slots_[index];
    if (slot.empty() || slot.kept) return;
    try {
        engine_->await(index, false, nullptr);
    } catch (const Error&) {
        return clear(slot);
    }
    slot.kept = engine_->filled(index);
    if (!slot.kept) clear(slot);
}

void Streamer::drop() {
    if (engine_) {
        engine_->settle();
        timeBefore_.seconds += engine_->copyTime().seconds;
        timeBefore_.bytes += engine_->copyTime().bytes;
    }
    engine_.reset();
    for (Slot& slot : slots_) clear(slot);
    slots_.clear();
    options_ = {};
    ++configuration_;
}

void Streamer::restart() {
    if (!engine_) return;
    timeBefore_.seconds += engine_->copyTime().seconds;
    timeBefore_.bytes += engine_->copyTime().bytes;
    engine_.reset();
    for (Slot& slot : slots_) clear(slot);
    engine_ = makeCopyEngine(device_, link_, slots_.size());
}

void Streamer::forget(const WeightStore& store) {
    forecast_.forget(store);
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].holds.store == store.id()) vacate(i);
    }
}

void Streamer::forget(const WeightStore& store, int unit) {
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].holds == UnitKey{store.id(), unit}) vacate(i);
    }
}

void Streamer::forgetGuesses(const WeightStore& store) {
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].guessed && slots_[i].holds.store == store.id()) vacate(i);
    }
}

void Streamer::leave(const WeightStore& store, int unit) {
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].holds != UnitKey{store.id(), unit} || slots_[i].kept) continue;
        stop(i);
        if (!filled(i)) clear(slots_[i]);
    }
}

void Streamer::stop(size_t index) {
    try {
        engine_->stop(index);
    } catch (const Error&) {
        device_.markLost();
    }
}

StreamerStats Streamer::stats() const {
    const std::lock_guard lock(statsMutex_);
    return stats_;
}

void Streamer::noteTime() {
    const CopyTime time = engine_->copyTime();
    const std::lock_guard lock(statsMutex_);
    stats_.copySeconds = timeBefore_.seconds + time.seconds;
    stats_.copiedBytes = timeBefore_.bytes + time.bytes;
}

void Streamer::paceLink(size_t bytes, const CancelPointer& cancel) {
    link_.pace(bytes, [&] { return device_.interrupted() || (cancel && cancel->cancelled()); });
}

bool Streamer::guesses() const {
    return options_.prefetch && options_.beyondPass && engine_ && engine_->overlaps();
}

std::optional<size_t> Streamer::find(const StreamedUnit& unit) const {
    for (size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        if (slot.holds == keyOf(unit) && slot.version == unit.store->version(unit.unit)) return i;
    }
    return std::nullopt;
}

void Streamer::clear(Slot& slot) {
    if (slot.guessed) {
        const std::lock_guard lock(statsMutex_);
        ++stats_.wasted;
    }
    slot.holds = {};
    slot.ahead = slot.guessed = slot.kept = false;
}

void Streamer::vacate(size_t index) {
    Slot& slot = slots_[index];
    if (!slot.empty() && !slot.kept) stop(index);
    clear(slot);
}

void Streamer::load(size_t index, const StreamedUnit& unit) {
    vacate(index);
    begin(index, unit, unit.store->pieces(unit.unit), false);
}

bool Streamer::guess(size_t index, const StreamedUnit& unit) {
    try {
        auto pieces = unit.store->piecesAhead(device_, unit.unit, options_.slotBytes);
        if (!pieces) return false;
        vacate(index);
        begin(index, unit, std::move(*pieces), true);
        return true;
    } catch (const std::exception&) {
        // It is tried again, and fails aloud, when the unit is really wanted.
        clear(slots_[index]);
        return false;
    }
}

void Streamer::begin(size_t index, const StreamedUnit& unit, std::vector<UnitPiece> pieces, bool guess) {
    Slot& slot = slots_[index];
    CopyRequest request;
    request.pieces = std::move(pieces);
    request.subject = unit.store->component() + ", unit " + std::to_string(unit.unit);
    request.pinned = unit.store->isPinned(unit.unit);
    if (guess) request.keep = unit.store;
    engine_->start(index, slot.buffer->get(), slot.buffer->base(), std::move(request));
    slot.holds = keyOf(unit);
    slot.version = unit.store->version(unit.unit);
    slot.ahead = true;
    slot.guessed = guess;
    const size_t bytes = unit.store->unitBytes(unit.unit);
    unit.store->noteStreamed(bytes);
    const std::lock_guard lock(statsMutex_);
    ++stats_.copies;
    stats_.streamedBytes += bytes;
}

/** Copies on their way that this pass does not want give it the link. */
void Streamer::stopGuesses(const std::vector<StreamedUnit>& order) {
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i].guessed || filled(i)) continue;
        const bool wanted = std::any_of(order.begin(), order.end(), [&](const StreamedUnit& use) {
            return keyOf(use) == slots_[i].holds;
        });
        if (!wanted) vacate(i);
    }
}

void Streamer::lookAhead() {
    const bool news = forecast_.hear();
    if (!guesses()) return;
    const std::vector<StreamedUnit> units = forecast_.told(slots_.size());
    const auto expected = [&](const Slot& slot) {
        return forecast_.awaits(slot.holds) || std::any_of(units.begin(), units.end(), [&](const auto& unit) {
                   return keyOf(unit) == slot.holds;
               });
    };
    if (news) {
        for (size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i].guessed && !filled(i) && !expected(slots_[i])) vacate(i);
        }
    }
    for (size_t i = 0; i < units.size(); ++i) {
        if (find(units[i])) continue;
        auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.empty(); });
        if (free == slots_.end()) {
            free =
                std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return !expected(slot); });
        }
        if (free == slots_.end() || !guess(static_cast<size_t>(free - slots_.begin()), units[i])) return;
        if (i == 0) forecast_.noteTried();
    }
}

}  // namespace mizuoto
