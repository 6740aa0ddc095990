#include "weight_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "error.h"
#include "streamer.h"

namespace mizuoto {
namespace {

std::atomic<uint64_t> nextStoreId{1};

/** Cancel is seen, and a staging buffer inside a backend stays, within this. */
constexpr size_t kUploadPiece = size_t{8} << 20;

ggml_context* newLayoutContext(size_t tensors) {
    ggml_init_params params = {ggml_tensor_overhead() * (tensors + 1), nullptr, true};
    ggml_context* context = ggml_init(params);
    if (context == nullptr) throw Error("OutOfHostMemory", "Host memory is used up.");
    return context;
}

}  // namespace

WeightStore::WeightStore(std::string component, std::vector<WeightSpec> specs)
    : id_(nextStoreId++),
      component_(std::move(component)),
      layoutContext_(newLayoutContext(specs.size()), ggml_free) {
    int unitCount = 0;
    for (const WeightSpec& spec : specs) {
        if (spec.unit < -1 || spec.unit > 1'000'000) {
            throw Error("InvalidArgument", component_ + ": " + spec.name + " has the unit " +
                                               std::to_string(spec.unit) +
                                               "; units count from 0, -1 is fixed.");
        }
        unitCount = std::max(unitCount, spec.unit + 1);
    }
    for (int i = 0; i <= unitCount; ++i) units_.push_back(std::make_unique<Unit>());
    size_t owned = 0;
    for (WeightSpec& spec : specs) {
        const int position = static_cast<int>(weights_.size());
        if (!byName_.emplace(spec.name, position).second) {
            throw Error("InvalidArgument", component_ + " has two weights named " + spec.name + ".",
                        {detailOf("component", component_), detailOf("parameter", spec.name)});
        }
        checkShape(spec.type, spec.shape, component_ + ": " + spec.name);
        const auto& checkpoint = spec.source.checkpoint;
        if (checkpoint &&
            std::find(checkpoints_.begin(), checkpoints_.end(), checkpoint) == checkpoints_.end()) {
            checkpoints_.push_back(checkpoint);
        }
        HostWeight host(spec.name, spec.type, spec.shape, std::move(spec.source));
        owned += host.ownedBytes();
        auto weight = std::unique_ptr<Weight>(
            new Weight{std::move(spec.name), std::move(spec.shape), spec.type, spec.unit, std::move(host)});
        const auto ne = toNe(weight->shape);
        weight->layout = ggml_new_tensor(layoutContext_.get(), weight->type, kMaxRank, ne.data());
        units_[slot(weight->unit)]->weights.push_back(position);
        weights_.push_back(std::move(weight));
    }
    ownedHostBytes_ = owned;
    ggml_backend_buffer_type_t cpu = ggml_backend_cpu_buffer_type();
    layOut(cpu, ggml_backend_buft_get_alignment(cpu), SIZE_MAX);
}

WeightStore::~WeightStore() {
    for (auto& weight : weights_) {
        if (weight->hostBuffer != nullptr) ggml_backend_buffer_free(weight->hostBuffer);
    }
}

int WeightStore::indexOf(std::string_view name) const {
    const auto found = byName_.find(std::string(name));
    if (found == byName_.end()) {
        throw Error("InvalidArgument", component_ + " has no weight named " + std::string(name) + ".",
                    {detailOf("component", component_), detailOf("parameter", std::string(name))});
    }
    return found->second;
}

size_t WeightStore::slot(int unit) const {
    if (unit < -1 || unit >= static_cast<int>(units_.size()) - 1) {
        throw Error("InvalidArgument",
                    component_ + " has " + std::to_string(units_.size() - 1) + " units; there is no unit " +
                        std::to_string(unit) + ".",
                    {detailOf("component", component_), detailOf("unit", unit)});
    }
    return static_cast<size_t>(unit + 1);
}

void WeightStore::layOut(ggml_backend_buffer_type_t type, size_t alignment, size_t maxBufferBytes) {
    for (auto& unit : units_) {
        unit->chunks.clear();
        for (int position : unit->weights) {
            Weight& weight = *weights_[index(position)];
            weight.bytes = ggml_backend_buft_get_alloc_size(type, weight.layout);
            const size_t padded = alignUp(weight.bytes, alignment);
            if (unit->chunks.empty() ||
                (unit->chunks.back() > 0 && unit->chunks.back() + padded > maxBufferBytes)) {
                unit->chunks.push_back(0);
            }
            weight.chunk = unit->chunks.size() - 1;
            weight.offset = unit->chunks.back();
            unit->chunks.back() += padded;
        }
        unit->deviceBytes = 0;
        for (size_t chunk : unit->chunks) unit->deviceBytes += chunk;
    }
}

size_t WeightStore::unitBytes(int unit) const {
    return units_[slot(unit)]->deviceBytes;
}

bool WeightStore::isPlaced(int unit) const {
    const size_t position = slot(unit);
    return (device_ && device_->isHost()) || units_[position]->placed.load();
}

void WeightStore::requireAlive() const {
    if (disposed_) {
        throw Error("Disposed", "The weights of " + component_ + " were disposed of.",
                    {detailOf("component", component_)});
    }
}

const std::shared_ptr<Device>& WeightStore::requireDevice() const {
    requireAlive();
    if (!device_) {
        throw Error("InvalidArgument", "The weights of " + component_ + " are bound to no device yet.",
                    {detailOf("component", component_)});
    }
    return device_;
}

void WeightStore::bind(const std::shared_ptr<Device>& device) {
    requireAlive();
    if (device == device_) return;
    if (announced_ > 0) {
        throw Error("InvalidArgument",
                    "The weights of " + component_ + " are in use on " + device_->name() + ".",
                    {detailOf("component", component_), detailOf("device", device_->name())});
    }
    const bool placed =
        std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->placed.load(); });
    const bool pinned = std::any_of(units_.begin(), units_.end(),
                                    [](const auto& unit) { return unit->pinRequest != nullptr; });
    if (placed || pinned) {
        throw Error("InvalidArgument",
                    "The weights of " + component_ + " are still " + (placed ? "placed" : "pinned") +
                        " for " + device_->name() + ": give them up before binding them elsewhere.",
                    {detailOf("component", component_), detailOf("device", device_->name())});
    }
    // A copy into page-locked memory still reads the offsets that are laid anew here.
    while (pinning_.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    device_ = device;
    layOut(device->bufferType(), device->alignment(), device->maxBufferBytes());
    ++epoch_;
}

size_t WeightStore::place(int position, const CancelPointer& cancel) {
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
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    for (size_t bytes : unit.chunks) {
        buffers.push_back(device_->allocate(Purpose::Weights, bytes, GGML_BACKEND_BUFFER_USAGE_WEIGHTS));
    }
    size_t copied = 0;
    std::chrono::duration<double> taken{0};
    for (int weight : unit.weights) {
        Weight& entry = *weights_[index(weight)];
        materialise(entry);
        const auto begin = std::chrono::steady_clock::now();
        upload(entry, *buffers[entry.chunk], cancel);
        taken += std::chrono::steady_clock::now() - begin;
        copied += entry.host.bytes();
    }
    unit.buffers = std::move(buffers);
    unit.placed = true;
    ++epoch_;
    const std::lock_guard lock(statsMutex_);
    ++unit.stats.copies;
    unit.stats.copiedBytes += copied;
    unit.stats.copySeconds += taken.count();
    return unit.deviceBytes;
}

UnitStats WeightStore::stats(int unit) const {
    const std::lock_guard lock(statsMutex_);
    return units_[slot(unit)]->stats;
}

void WeightStore::noteRun(int unit, double seconds) {
    const std::lock_guard lock(statsMutex_);
    UnitStats& stats = units_[slot(unit)]->stats;
    ++stats.runs;
    stats.computeSeconds += seconds;
}

void WeightStore::materialise(Weight& weight) {
    if (weight.dropped) ownedHostBytes_ += weight.host.ownedBytes();
    weight.dropped = false;
    weight.host.materialise();
}

size_t WeightStore::dropHost(int position) {
    Unit& unit = *units_[slot(position)];
    if (!unit.placed || unit.pinned) return 0;
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

void WeightStore::upload(const Weight& weight, const DeviceBuffer& buffer, const CancelPointer& cancel) {
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
        ggml_backend_tensor_alloc(buffer.get(), &target, buffer.base() + weight.offset);
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
    unit.placed = false;
    ++epoch_;
    unit.buffers.clear();
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
    if (unit.placed) upload(weight, *unit.buffers[weight.chunk], nullptr);
}

void WeightStore::unbind(ggml_tensor* leaf) {
    leaf->buffer = nullptr;
    leaf->data = nullptr;
    leaf->extra = nullptr;
}

void WeightStore::bindResident(ggml_tensor* leaf, int position) {
    unbind(leaf);
    Weight& weight = *weights_[index(position)];
    if (device_->isHost()) {
        refreshHostBuffer(weight);
        leaf->buffer = weight.hostBuffer;
        leaf->data = const_cast<uint8_t*>(weight.host.data());
        return;
    }
    const Unit& unit = *units_[slot(weight.unit)];
    if (!unit.placed) return;
    const DeviceBuffer& buffer = *unit.buffers[weight.chunk];
    ggml_backend_tensor_alloc(buffer.get(), leaf, buffer.base() + weight.offset);
}

void WeightStore::bindAt(ggml_tensor* leaf, int position, ggml_backend_buffer_t buffer, uint8_t* base) const {
    unbind(leaf);
    ggml_backend_tensor_alloc(buffer, leaf, base + weights_[index(position)]->offset);
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

void WeightStore::checkSources() const {
    for (const auto& checkpoint : checkpoints_) checkpoint->checkUnchanged();
}

size_t WeightStore::pin(int position) {
    Unit& unit = *units_[slot(position)];
    const auto& device = requireDevice();
    if (unit.pinRequest) return unit.pinRequest->bytes();
    // One transfer per unit needs the unit in one buffer.
    if (unit.chunks.size() != 1) return 0;
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
    device_->post([self = shared_from_this(), &unit] { unit.pinned.reset(); });
}

}  // namespace mizuoto
