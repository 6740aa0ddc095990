// The host side of a unit in page-locked memory: there, out again, and read from it.
#include <cstring>
#include <utility>

#include "error.h"
#include "streamer.h"
#include "weight_store.h"

namespace mizuoto {

size_t WeightStore::pin(int position, const CancelPointer& cancel) {
    Unit& unit = *units_[slot(position)];
    const auto device = device_;
    if (unit.pinned) return unit.pinned->bytes();
    if (disposed_ || device->closed() || device->isHost() || unit.weights.empty()) return 0;
    awaitDeparture();
    try {
        checkSources();
        std::unique_ptr<PinnedUnit> pinned;
        if (device->hostLocks()) {
            for (int weight : unit.weights) {
                throwIfStopped(cancel);
                materialise(*weights_[index(weight)], cancel);
            }
            pinned = PinnedUnit::inPlace(*device, unit.deviceBytes, sourcesOf(unit));
        }
        // One transfer per unit needs the unit in one buffer.
        if (!pinned && unit.deviceBytes <= device->maxBufferBytes()) {
            pinned = PinnedUnit::buffer(device, unit.deviceBytes);
        }
        if (!pinned) return 0;
        // Copies on their way read memory that is left here.
        device->streamer().leave(*this, position);
        unit.touched.clear();
        if (pinned->memory() != nullptr) lodge(unit, pinned->memory(), cancel);
        setPinned(unit, std::move(pinned));
    } catch (const Error&) {
        return 0;
    }
    return unit.pinned->bytes();
}

std::vector<PinnedUnit::Source> WeightStore::sourcesOf(const Unit& unit) const {
    std::vector<PinnedUnit::Source> sources;
    for (int weight : unit.weights) {
        const HostWeight& host = weights_[index(weight)]->host;
        const bool inFile = host.inFile() != nullptr;
        sources.push_back({{host.data(), host.bytes()}, inFile ? host.checkpoint() : nullptr});
    }
    return sources;
}

void WeightStore::lodge(Unit& unit, uint8_t* memory, const CancelPointer& cancel) {
    // First what can fail or take long: values that have to be read. What is owned then only moves.
    std::vector<HostWeight*> read;
    try {
        for (int weight : unit.weights) {
            Weight& entry = *weights_[index(weight)];
            if (entry.host.data() != nullptr && entry.host.inFile() == nullptr) continue;
            throwIfStopped(cancel);
            entry.host.lodge(memory + entry.offset, cancel);
            read.push_back(&entry.host);
        }
    } catch (...) {
        for (HostWeight* host : read) host->drop();
        throw;
    }
    size_t end = 0;
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        std::memset(memory + end, 0, entry.offset - end);
        end = entry.offset + entry.host.bytes();
        if (!entry.host.isLodged() && entry.host.inFile() == nullptr) {
            entry.host.lodge(memory + entry.offset, nullptr);
        }
        if (entry.dropped) ownedHostBytes_ += entry.host.ownedBytes();
        entry.dropped = false;
    }
    std::memset(memory + end, 0, unit.deviceBytes - end);
}

void WeightStore::throwIfStopped(const CancelPointer& cancel) const {
    throwIfCancelled(cancel);
    if (device_->interrupted()) throw Error("Cancelled", "The device is closing.");
}

bool WeightStore::dislodge(Unit& unit) {
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        try {
            entry.host.dislodge();
        } catch (const Error&) {
            const size_t freed = entry.host.drop();
            if (freed == 0) return false;
            entry.dropped = true;
            ownedHostBytes_ -= freed;
        }
    }
    return true;
}

void WeightStore::setPinned(Unit& unit, std::unique_ptr<PinnedUnit> pinned) {
    // Its own locks are among those that copies touched.
    unit.touched.clear();
    unit.isPinned = pinned != nullptr;
    unit.pinned = std::move(pinned);
}

void WeightStore::requestUnpin(int position) {
    slot(position);
    if (!device_) return;
    device_->post([self = shared_from_this(), running = unpinning_, position] { self->unpin(position); });
}

void WeightStore::unpin(int position) {
    Unit& unit = *units_[slot(position)];
    if (!unit.pinned) return;
    device_->streamer().leave(*this, position);
    if (dislodge(unit)) setPinned(unit, nullptr);
}

std::vector<HostRange> WeightStore::rangesOf(Unit& unit, const HostRange& source) const {
    const auto& locks = device_->hostLocks();
    return locks ? locks->cut(source, unit.touched) : std::vector{source};
}

}  // namespace mizuoto
