#include "streamer.h"

#include <algorithm>
#include <iterator>
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

Streamer::Pass::Pass(Streamer& streamer, const std::vector<StreamedUnit>& order, CancelPointer cancel)
    : streamer_(streamer), order_(order), cancel_(std::move(cancel)), guesses_(streamer.guesses()) {
    if (order_.empty() || !streamer_.engine_) return;
    if (!guesses_) {
        streamer_.forecast_.lose();
        return;
    }
    streamer_.forecast_.begin(order_);
    streamer_.stopGuesses(order_);
    coming_ = streamer_.forecast_.after(order_, streamer_.slots_.size());
}

Streamer::Pass::~Pass() {
    if (finished_ || order_.empty() || !streamer_.engine_) return;
    streamer_.forecast_.lose();
    streamer_.forecast_.forgetTold();
    try {
        streamer_.engine_->settle();
    } catch (const Error&) {
        streamer_.device_.markLost();
    }
    for (size_t i = 0; i < streamer_.slots_.size(); ++i) {
        if (!streamer_.filled(i)) streamer_.clear(streamer_.slots_[i]);
    }
    streamer_.noteTime();
}

void Streamer::Pass::finish() {
    if (order_.empty() || !streamer_.engine_) return;
    running_.reset();
    if (guesses_) copyAhead(order_.size());
    streamer_.engine_->pause();
    streamer_.noteTime();
    finished_ = true;
}

const StreamedUnit& Streamer::Pass::use(size_t position) const {
    return position < order_.size() ? order_[position] : coming_.units[position - order_.size()];
}

/** Position of the next use of what the slot holds, at or after `from`; this pass is taken to come again. */
size_t Streamer::Pass::nextUse(size_t index, size_t from) const {
    const Slot& slot = streamer_.slots_[index];
    if (slot.empty()) return std::numeric_limits<size_t>::max();
    const auto holds = [&](const StreamedUnit& use) {
        return keyOf(use) == slot.holds && use.store->version(use.unit) == slot.version;
    };
    const size_t n = order_.size();
    for (size_t i = from; i < n; ++i) {
        if (holds(order_[i])) return i;
    }
    const size_t skipped = from > n ? from - n : 0;
    for (size_t i = skipped; i < coming_.pass.size(); ++i) {
        if (coming_.pass[i] == slot.holds) return n + i;
    }
    for (size_t i = 0; i < std::min(from, n); ++i) {
        if (holds(order_[i])) return n + coming_.pass.size() + i;
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

/** Seconds waited until the slot holds the unit of use `position`. */
double Streamer::Pass::await(size_t index, size_t position, bool& onTheSpot) {
    const Slot& slot = streamer_.slots_[index];
    if (slot.kept) return 0;
    const bool guessed = slot.guessed;
    try {
        const double waited = streamer_.engine_->await(index, onTheSpot, cancel_);
        if (!guessed || streamer_.engine_->filled(index)) return waited;
    } catch (const Error& error) {
        if (!guessed || error.code == "Cancelled") throw;
    }
    // Nobody had asked for that copy: this one is asked for.
    onTheSpot = true;
    streamer_.load(index, use(position));
    return streamer_.engine_->await(index, onTheSpot, cancel_);
}

Streamer::Pass::Place Streamer::Pass::acquire(size_t position) {
    throwIfCancelled(cancel_);
    std::optional<size_t> index = streamer_.find(order_[position]);
    bool onTheSpot = !index;
    if (onTheSpot) {
        index = victim(position, position, std::nullopt);
        streamer_.load(*index, order_[position]);
    }
    Slot& slot = streamer_.slots_[*index];
    double waited = 0;
    try {
        waited = await(*index, position, onTheSpot);
    } catch (...) {
        streamer_.clear(slot);
        throw;
    }
    running_ = index;
    {
        const std::lock_guard lock(streamer_.statsMutex_);
        streamer_.stats_.waitSeconds += waited;
        streamer_.stats_.onTheSpot += onTheSpot ? 1 : 0;
        streamer_.stats_.reused += slot.ahead ? 0 : 1;
        streamer_.stats_.ahead += slot.guessed ? 1 : 0;
    }
    slot.ahead = slot.guessed = false;
    return {slot.buffer->get(), slot.buffer->base()};
}

void Streamer::Pass::prefetch(size_t position) {
    if (!streamer_.options_.prefetch) return;
    if (guesses_ && streamer_.forecast_.hear()) {
        coming_ = streamer_.forecast_.after(order_, streamer_.slots_.size());
    }
    copyAhead(position + 1);
}

/** From use `first` on, as many as there are slots beside the one that is computed with. */
void Streamer::Pass::copyAhead(size_t first) {
    const size_t slots = streamer_.slots_.size() - (running_ ? 1 : 0);
    const size_t last = std::min(order_.size() + (guesses_ ? coming_.units.size() : 0), first + slots);
    for (size_t next = first; next < last; ++next) {
        if (streamer_.find(use(next))) continue;
        const std::optional<size_t> slot = victim(next, first, running_);
        if (!slot) return;
        if (next < order_.size()) {
            streamer_.load(*slot, use(next));
        } else if (!streamer_.guess(*slot, use(next))) {
            // Whatever stands in its way still will at the next call.
            coming_.units.clear();
            return;
        } else if (next == order_.size()) {
            streamer_.forecast_.noteTried();
        }
    }
}

void Streamer::Pass::release(size_t) {
    // Its copy engine must not be given the same slot for what comes next: it would wait for this use to end.
    streamer_.engine_->released(*running_);
}

}  // namespace mizuoto
