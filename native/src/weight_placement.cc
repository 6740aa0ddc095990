// Weights of a component on their way: to the device and back, replaced, pinned, given up on the host.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "error.h"
#include "streamer.h"
#include "weight_store.h"

namespace mizuoto {
namespace {

/** Cancel is seen, and a staging buffer inside a backend stays, within this. */
constexpr size_t kUploadPiece = size_t{8} << 20;

}  // namespace

size_t WeightStore::place(int position, bool inPlace, const CancelPointer& cancel) {
    requireDevice()->requireUsable();
    Unit& unit = *units_[slot(position)];
    checkSources();
    if (device_->isHost()) {
        for (int weight : unit.weights) {
            throwIfCancelled(cancel);
            refreshHostBuffer(*weights_[index(weight)]);
        }
        return 0;
    }
    if (unit.placed) return 0;
    throwIfCancelled(cancel);
    device_->streamer().forget(*this, position);
    std::vector<ToPlace> wanted;
    for (int weight : unit.weights) {
        const Weight& entry = *weights_[index(weight)];
        // A weight that was replaced is in the file no longer.
        const bool mappable = inPlace && entry.host.inFile() != nullptr;
        wanted.push_back({&entry.host, alignUp(entry.bytes, device_->alignment()),
                          mappable ? mapping_.windowOf(index(weight)) : nullptr});
    }
    auto place = std::make_unique<UnitPlace>(device_, wanted);
    size_t copied = 0;
    std::chrono::duration<double> taken{0};
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        if (place->isMapped(entry.inUnit)) {
            // Read from the disk by now, rather than when they are first computed with.
            entry.host.checkpoint()->willNeed(*entry.host.inFile());
            continue;
        }
        materialise(entry);
        const auto begin = std::chrono::steady_clock::now();
        upload(entry, *place, cancel);
        taken += std::chrono::steady_clock::now() - begin;
        copied += entry.host.bytes();
    }
    settle(unit, std::move(place));
    const std::lock_guard lock(statsMutex_);
    unit.stats.copies += copied > 0 ? 1 : 0;
    unit.stats.copiedBytes += copied;
    unit.stats.copySeconds += taken.count();
    return unit.deviceBytes;
}

void WeightStore::settle(Unit& unit, std::unique_ptr<UnitPlace> place) {
    unit.placed = place != nullptr;
    unit.place = std::move(place);
    ++epoch_;
    noteMapped(unit);
}

void WeightStore::noteMapped(Unit& unit) {
    const size_t mapped = unit.place ? unit.place->mappedBytes() : 0;
    const std::lock_guard lock(statsMutex_);
    mappedBytes_ += mapped - unit.stats.mappedBytes;
    unit.stats.mappedBytes = mapped;
    unit.stats.refusedBytes = unit.place ? unit.place->refusedBytes() : 0;
}

void WeightStore::materialise(Weight& weight) {
    if (weight.dropped) ownedHostBytes_ += weight.host.ownedBytes();
    weight.dropped = false;
    weight.host.materialise();
}

size_t WeightStore::dropHost(int position) {
    Unit& unit = *units_[slot(position)];
    if (!unit.placed || unit.pinned) return 0;
    awaitDeparture();
    size_t freed = 0;
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        const size_t bytes = entry.host.drop();
        entry.dropped = entry.dropped || bytes > 0;
        freed += bytes;
    }
    ownedHostBytes_ -= freed;
    return freed;
}

void WeightStore::upload(const Weight& weight, const UnitPlace& place, const CancelPointer& cancel) {
    if (device_->faults().copyFails()) {
        throw Error("DeviceLost",
                    device_->name() + " failed while copying " + component_ + ": " + weight.name + ".",
                    {detailOf("device", device_->name()), detailOf("component", component_),
                     detailOf("parameter", weight.name)});
    }
    ggml_tensor target = *weight.layout;
    const size_t bytes = weight.host.bytes();
    callBackend(device_->name(), [&] {
        unbind(&target);
        ggml_backend_tensor_alloc(place.buffer(weight.inUnit), &target, place.address(weight.inUnit));
        for (size_t done = 0; done < bytes;) {
            const size_t piece = std::min(kUploadPiece, bytes - done);
            ggml_backend_tensor_set(&target, weight.host.data() + done, done, piece);
            device_->streamer().paceLink(piece, cancel);
            done += piece;
            throwIfCancelled(cancel);
            if (device_->interrupted()) throw Error("Cancelled", "The device is closing.");
        }
    });
}

void WeightStore::refreshHostBuffer(Weight& weight) {
    if (weight.hostBuffer != nullptr && weight.host.data() != nullptr) return;
    weight.host.materialise();
    // ggml wants aligned bases; the weight itself may lie at any element of a map.
    auto* data = const_cast<uint8_t*>(weight.host.data());
    const size_t lead = reinterpret_cast<uintptr_t>(data) % 32;
    weight.hostBuffer = ggml_backend_cpu_buffer_from_ptr(data - lead, weight.host.bytes() + lead);
    ggml_backend_buffer_set_usage(weight.hostBuffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ++epoch_;
}

size_t WeightStore::unplace(int position) {
    Unit& unit = *units_[slot(position)];
    if (!unit.placed) return 0;
    // Without its fixed part the component has left: it is not the next to run.
    if (position < 0) device_->streamer().forgetGuesses(*this);
    settle(unit, nullptr);
    return unit.deviceBytes;
}

void WeightStore::unplaceAll() {
    for (int unit = -1; unit < unitCount(); ++unit) {
        unplace(unit);
        units_[slot(unit)]->pinned.reset();
    }
    if (device_) device_->streamer().forget(*this);
}

void WeightStore::touch(Unit& unit) {
    ++unit.version;
    ++epoch_;
}

void WeightStore::replace(int position, const uint8_t* data) {
    requireAlive();
    Weight& weight = *weights_[index(position)];
    Unit& unit = *units_[slot(weight.unit)];
    const bool onDevice = unit.placed && !device_->closed();
    if (onDevice && unit.place->isMapped(weight.inUnit)) {
        // The file keeps its values. First what can fail.
        unit.place->unmap(weight.inUnit);
        noteMapped(unit);
    }
    awaitDeparture();
    if (device_ && !device_->isHost()) device_->streamer().forget(*this, weight.unit);
    const size_t ownedBefore = weight.dropped ? 0 : weight.host.ownedBytes();
    weight.dropped = false;
    weight.host.replace(data);
    ownedHostBytes_ += weight.host.ownedBytes() - ownedBefore;
    touch(unit);
    if (!device_) return;
    if (weight.hostBuffer != nullptr) {
        ggml_backend_buffer_free(weight.hostBuffer);
        weight.hostBuffer = nullptr;
    }
    if (device_->isHost()) return refreshHostBuffer(weight);
    if (unit.pinned && unit.pinned->copy() != nullptr) {
        std::memcpy(unit.pinned->copy() + weight.offset, data, weight.host.bytes());
    }
    if (onDevice) upload(weight, *unit.place, nullptr);
}

std::vector<UnitPiece> WeightStore::pieces(int position) {
    Unit& unit = *units_[slot(position)];
    if (unit.pinned && unit.pinned->copy() != nullptr) return {{unit.pinned->copy(), 0, unit.deviceBytes}};
    std::vector<UnitPiece> pieces;
    pieces.reserve(unit.weights.size());
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        materialise(entry);
        pieces.push_back({entry.host.data(), entry.offset, entry.host.bytes()});
    }
    return pieces;
}

std::optional<std::vector<UnitPiece>> WeightStore::piecesAhead(const Device& device, int position,
                                                               size_t most) {
    const std::lock_guard lock(bindMutex_);
    if (disposed_ || device_.get() != &device || isPlaced(position) || unitBytes(position) > most) {
        return std::nullopt;
    }
    checkSources();
    return pieces(position);
}

void WeightStore::awaitDeparture() const {
    while (departing_.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

size_t WeightStore::pin(int position) {
    Unit& unit = *units_[slot(position)];
    const auto& device = requireDevice();
    if (unit.pinRequest) return unit.pinRequest->bytes();
    // One transfer per unit needs the unit in one buffer.
    if (unit.weights.empty() || unit.deviceBytes > device->maxBufferBytes()) return 0;
    unit.pinRequest = PinnedUnit::make(device, unit.deviceBytes);
    if (!unit.pinRequest) return 0;
    device->post([self = shared_from_this(), running = pinning_, &unit, pinned = unit.pinRequest] {
        try {
            if (pinned->copy() != nullptr) std::memset(pinned->copy(), 0, pinned->bytes());
            for (int weight : unit.weights) {
                Weight& entry = *self->weights_[index(weight)];
                self->materialise(entry);
                pinned->lock(entry.host.data(), entry.host.bytes());
                if (pinned->copy() == nullptr) continue;
                std::memcpy(pinned->copy() + entry.offset, entry.host.data(), entry.host.bytes());
            }
            unit.pinned = pinned;
        } catch (const Error&) {
            // Unreadable weights are reported where they are used; until then the unit is just not pinned.
        }
    });
    return unit.pinRequest->bytes();
}

void WeightStore::unpin(int position) {
    Unit& unit = *units_[slot(position)];
    if (!unit.pinRequest) return;
    unit.pinRequest.reset();
    device_->post([self = shared_from_this(), &unit, position] {
        self->device_->streamer().leave(*self, position);
        unit.pinned.reset();
    });
}

}  // namespace mizuoto
