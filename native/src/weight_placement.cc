// Weights of a component on their way: to the device and back, replaced, given up on the host.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "copy_engines.h"
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
    std::chrono::duration<double> taken{0};
    const size_t copied = uploadUnit(unit, *place, taken, cancel);
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

void WeightStore::materialise(Weight& weight, const CancelPointer& cancel) {
    weight.host.materialise(cancel);
    if (weight.dropped) ownedHostBytes_ += weight.host.ownedBytes();
    weight.dropped = false;
}

size_t WeightStore::dropHost(int position) {
    Unit& unit = *units_[slot(position)];
    if (!unit.placed) return 0;
    awaitDeparture();
    // Memory that is locked where it lies is unlocked before it goes.
    if (unit.pinned && unit.pinned->memory() == nullptr) setPinned(unit, nullptr);
    size_t freed = 0;
    bool lodged = false;
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        const size_t bytes = entry.host.drop();
        entry.dropped = entry.dropped || bytes > 0;
        freed += bytes;
        lodged = lodged || entry.host.isLodged();
    }
    if (!lodged) setPinned(unit, nullptr);
    ownedHostBytes_ -= freed;
    return freed;
}

size_t WeightStore::uploadUnit(Unit& unit, const UnitPlace& place, std::chrono::duration<double>& taken,
                               const CancelPointer& cancel) {
    using Clock = std::chrono::steady_clock;
    const uint8_t* pinned = unit.pinned ? unit.pinned->memory() : nullptr;
    if (pinned != nullptr && place.isOnePiece()) {
        const auto begin = Clock::now();
        failIfOrdered(*weights_[index(unit.weights.front())]);
        ggml_tensor target = bytesAt(place.buffer(0), place.address(0), unit.deviceBytes);
        copyTo(target, {{pinned, unit.deviceBytes}}, cancel);
        taken += Clock::now() - begin;
        return unit.deviceBytes;
    }
    size_t copied = 0;
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        if (place.isMapped(entry.inUnit)) {
            // Read from the disk by now, rather than when they are first computed with.
            entry.host.checkpoint()->willNeed(*entry.host.inFile());
            continue;
        }
        throwIfStopped(cancel);
        materialise(entry, cancel);
        const auto begin = Clock::now();
        upload(unit, entry, place, cancel);
        taken += Clock::now() - begin;
        copied += entry.host.bytes();
    }
    return copied;
}

void WeightStore::failIfOrdered(const Weight& weight) const {
    if (!device_->faults().copyFails()) return;
    throw Error("DeviceLost",
                device_->name() + " failed while copying " + component_ + ": " + weight.name + ".",
                {detailOf("device", device_->name()), detailOf("component", component_),
                 detailOf("parameter", weight.name)});
}

void WeightStore::upload(Unit& unit, const Weight& weight, const UnitPlace& place,
                         const CancelPointer& cancel) {
    failIfOrdered(weight);
    ggml_tensor target = *weight.layout;
    callBackend(device_->name(), [&] {
        unbind(&target);
        ggml_backend_tensor_alloc(place.buffer(weight.inUnit), &target, place.address(weight.inUnit));
    });
    const bool lodged = unit.pinned && unit.pinned->memory() != nullptr;
    const uint8_t* source = lodged ? unit.pinned->memory() + weight.offset : weight.host.data();
    copyTo(target, rangesOf(unit, {source, weight.host.bytes()}), cancel);
}

void WeightStore::copyTo(ggml_tensor& target, const std::vector<HostRange>& ranges,
                         const CancelPointer& cancel) {
    callBackend(device_->name(), [&] {
        size_t at = 0;
        for (const HostRange& range : ranges) {
            requireCopyable(*device_, range, component_);
            for (size_t done = 0; done < range.bytes;) {
                const size_t piece = std::min(kUploadPiece, range.bytes - done);
                ggml_backend_tensor_set(&target, range.data + done, at, piece);
                device_->streamer().paceLink(piece, cancel);
                done += piece;
                at += piece;
                throwIfStopped(cancel);
            }
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
    for (int unit = -1; unit < unitCount(); ++unit) unplace(unit);
    if (device_) device_->streamer().forget(*this);
    awaitDeparture();
    // A store that is disposed of has no use for its values.
    for (auto& weight : weights_) weight->host.forgetLodging();
    for (auto& unit : units_) setPinned(*unit, nullptr);
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
    const size_t owned = weight.host.ownedBytes();
    const size_t counted = weight.dropped ? 0 : owned;
    weight.host.replace(data);
    weight.dropped = false;
    ownedHostBytes_ += weight.host.ownedBytes() - counted;
    unit.ownedBytes += weight.host.ownedBytes() - owned;
    if (unit.pinned && unit.pinned->memory() != nullptr && !weight.host.isLodged()) {
        weight.host.lodge(unit.pinned->memory() + weight.offset, nullptr);
    }
    touch(unit);
    if (!device_) return;
    if (weight.hostBuffer != nullptr) {
        ggml_backend_buffer_free(weight.hostBuffer);
        weight.hostBuffer = nullptr;
    }
    if (device_->isHost()) return refreshHostBuffer(weight);
    if (onDevice) upload(unit, weight, *unit.place, nullptr);
}

std::vector<UnitPiece> WeightStore::pieces(int position) {
    Unit& unit = *units_[slot(position)];
    if (unit.pinned && unit.pinned->memory() != nullptr) {
        return {{unit.pinned->memory(), 0, unit.deviceBytes}};
    }
    std::vector<UnitPiece> pieces;
    pieces.reserve(unit.weights.size());
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        materialise(entry);
        size_t offset = entry.offset;
        for (const HostRange& range : rangesOf(unit, {entry.host.data(), entry.host.bytes()})) {
            pieces.push_back({range.data, offset, range.bytes});
            offset += range.bytes;
        }
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

}  // namespace mizuoto
