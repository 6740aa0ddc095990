#include "weight_store.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "error.h"
#include "streamer.h"

namespace mizuoto {
namespace {

std::atomic<uint64_t> nextStoreId{1};

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
        units_[slot(spec.unit)]->ownedBytes += host.ownedBytes();
        auto weight = std::unique_ptr<Weight>(
            new Weight{std::move(spec.name), std::move(spec.shape), spec.type, spec.unit, std::move(host)});
        const auto ne = toNe(weight->shape);
        weight->layout = ggml_new_tensor(layoutContext_.get(), weight->type, kMaxRank, ne.data());
        Unit& unit = *units_[slot(weight->unit)];
        weight->inUnit = unit.weights.size();
        unit.weights.push_back(position);
        weights_.push_back(std::move(weight));
    }
    ownedHostBytes_ = owned;
    ggml_backend_buffer_type_t cpu = ggml_backend_cpu_buffer_type();
    layOut(cpu, ggml_backend_buft_get_alignment(cpu));
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

void WeightStore::layOut(ggml_backend_buffer_type_t type, size_t alignment) {
    for (auto& unit : units_) {
        unit->deviceBytes = 0;
        for (int position : unit->weights) {
            Weight& weight = *weights_[index(position)];
            weight.bytes = ggml_backend_buft_get_alloc_size(type, weight.layout);
            weight.offset = unit->deviceBytes;
            unit->deviceBytes += alignUp(weight.bytes, alignment);
        }
    }
}

Mapping WeightStore::mappingFor(const Device& device) const {
    std::vector<Mapping::Candidate> candidates;
    for (const auto& weight : weights_) candidates.push_back({&weight->host, weight->bytes});
    return Mapping(device, candidates);
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
    // What is on its way out of page-locked memory still reads the offsets that are laid anew here.
    while (unpinning_.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool pinned =
        std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->isPinned.load(); });
    if (placed || pinned) {
        throw Error("InvalidArgument",
                    "The weights of " + component_ + " are still " + (placed ? "placed" : "pinned") +
                        " for " + device_->name() + ": give them up before binding them elsewhere.",
                    {detailOf("component", component_), detailOf("device", device_->name())});
    }
    if (device_ && !device_->isHost()) {
        device_->post([self = shared_from_this(), left = device_, departing = departing_] {
            left->streamer().forget(*self);
        });
    }
    const std::lock_guard lock(bindMutex_);
    device_ = device;
    layOut(device->bufferType(), device->alignment());
    mapping_ = mappingFor(*device);
    ++epoch_;
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
    ggml_backend_tensor_alloc(unit.place->buffer(weight.inUnit), leaf, unit.place->address(weight.inUnit));
}

void WeightStore::bindAt(ggml_tensor* leaf, int position, ggml_backend_buffer_t buffer, uint8_t* base) const {
    unbind(leaf);
    ggml_backend_tensor_alloc(buffer, leaf, base + weights_[index(position)]->offset);
}

void WeightStore::checkSources() const {
    for (const auto& checkpoint : checkpoints_) checkpoint->checkUnchanged();
}

}  // namespace mizuoto
