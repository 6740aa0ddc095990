// One run of a graph, seen from the slots: which unit is where, and what is copied meanwhile.
#include <algorithm>
#include <limits>
#include <utility>

#include "device.h"
#include "error.h"
#include "streamer.h"
#include "weight_store.h"

namespace mizuoto {

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
