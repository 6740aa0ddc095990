#include "recorder.h"

#include <algorithm>
#include <utility>

#include "error.h"
#include "ops/op_table.h"

namespace mizuoto {
namespace {

/** Tensors per ggml context. An operation makes a handful at most. */
constexpr size_t kContextTensors = 256;
constexpr size_t kMostPerOp = 48;

/** The greatest `minStorageBufferOffsetAlignment` that Vulkan allows a device. */
constexpr size_t kBindingAlignment = 256;

}  // namespace

ggml_context* Recorder::context() {
    auto& contexts = recording_.contexts;
    if (!contexts.empty()) {
        ggml_context* current = contexts.back().get();
        const size_t free = ggml_get_mem_size(current) - ggml_used_mem(current);
        if (free >= kMostPerOp * ggml_tensor_overhead()) return current;
    }
    ggml_init_params params = {kContextTensors * ggml_tensor_overhead(), nullptr, true};
    ggml_context* fresh = ggml_init(params);
    if (fresh == nullptr) throw Error("OutOfHostMemory", "Host memory is used up.");
    contexts.emplace_back(fresh, ggml_free);
    return fresh;
}

ggml_tensor* Recorder::leaf(ggml_type type, const Shape& shape) {
    const auto ne = toNe(shape);
    ggml_tensor* tensor = ggml_new_tensor(context(), type, kMaxRank, ne.data());
    tensor->data = placeholder();
    return tensor;
}

int Recorder::add(Value value) {
    values_.push_back(value);
    return static_cast<int>(values_.size()) - 1;
}

const Value& Recorder::value(int handle) const {
    if (handle < 0 || static_cast<size_t>(handle) >= values_.size()) {
        throw Error("InvalidArgument", "There is no tensor with the handle " + std::to_string(handle) + ".",
                    {detailOf("handle", handle)});
    }
    return values_[static_cast<size_t>(handle)];
}

void Recorder::requireOpen() const {
    if (taken_) throw Error("InvalidArgument", "This recorder was compiled; make a new one.");
}

int Recorder::input(ggml_type type, const Shape& shape) {
    requireOpen();
    checkShape(type, shape, "An input");
    ggml_tensor* tensor = leaf(type, shape);
    const int handle = add({tensor, static_cast<int>(shape.size())});
    recording_.inputs.push_back({tensor, handle});
    return handle;
}

int Recorder::constant(ggml_type type, const Shape& shape, std::vector<uint8_t> data) {
    requireOpen();
    checkShape(type, shape, "A constant");
    if (data.size() != tensorBytes(type, shape)) {
        throw Error("ShapeMismatch",
                    "A constant " + shapeText(shape) + " of " + ggml_type_name(type) + " is " +
                        std::to_string(tensorBytes(type, shape)) + " bytes, but the data has " +
                        std::to_string(data.size()) + ".",
                    {detailOf("expected", tensorBytes(type, shape)), detailOf("found", data.size())});
    }
    ggml_tensor* tensor = leaf(type, shape);
    recording_.constants.push_back({tensor, std::move(data)});
    return add({tensor, static_cast<int>(shape.size())});
}

int Recorder::weight(const std::shared_ptr<WeightStore>& store, std::string_view name) {
    requireOpen();
    store->requireAlive();
    const int position = store->indexOf(name);
    const int rank = static_cast<int>(store->shapeOf(position).size());
    for (const WeightLeaf& known : recording_.weights) {
        if (known.store == store && known.weight == position) return add({known.tensor, rank});
    }
    ggml_tensor* tensor = leaf(store->typeOf(position), store->shapeOf(position));
    recording_.weights.push_back({tensor, store, position});
    return add({tensor, rank});
}

int Recorder::state(const std::shared_ptr<State>& state, int index) {
    requireOpen();
    const StateSpec& spec = state->spec(index);
    const int rank = static_cast<int>(spec.shape.size());
    for (const StateLeaf& known : recording_.states) {
        if (known.state == state && known.index == static_cast<size_t>(index))
            return add({known.tensor, rank});
    }
    ggml_tensor* tensor = leaf(spec.type, spec.shape);
    recording_.states.push_back({tensor, state, static_cast<size_t>(index)});
    return add({tensor, rank});
}

bool Recorder::isState(const ggml_tensor* tensor) const {
    const ggml_tensor* root = tensor->view_src != nullptr ? tensor->view_src : tensor;
    return std::any_of(recording_.states.begin(), recording_.states.end(),
                       [root](const StateLeaf& leaf) { return leaf.tensor == root; });
}

int Recorder::op(std::string_view name, std::span<const int> sources, std::span<const double> params) {
    requireOpen();
    const OpSpec& spec = findOp(name);
    const size_t nodes = recording_.nodes.size();
    const size_t bounds = recording_.bounds.size();
    const size_t kernels = recording_.kernels.size();
    try {
        const AssertionGuard guard;
        OpCall call(*this, spec, sources, params);
        return add(spec.build(call));
    } catch (...) {
        // What was built before the failure reaches no output.
        recording_.nodes.resize(nodes);
        recording_.bounds.resize(bounds);
        recording_.kernels.resize(kernels);
        throw;
    }
}

ggml_tensor* Recorder::node(ggml_tensor* tensor) {
    recording_.nodes.push_back({tensor, tag_});
    return tensor;
}

void Recorder::kernel(const std::optional<KernelNode>& node) {
    if (node) recording_.kernels.push_back(*node);
}

void Recording::useKernels(bool ours) const {
    for (const KernelNode& node : kernels) (ours ? node.kernel : node.composed).applyTo(node.tensor);
}

ggml_tensor* Recorder::contiguous(ggml_tensor* tensor) {
    if (!ggml_is_contiguous(tensor)) return node(ggml_cont(context(), tensor));
    // Strides of dimensions of size 1 mean nothing, but some kernels insist on them.
    size_t stride = ggml_type_size(tensor->type);
    bool canonical = tensor->nb[0] == stride;
    stride *= static_cast<size_t>(tensor->ne[0] / ggml_blck_size(tensor->type));
    for (int i = 1; i < kMaxRank; ++i) {
        canonical = canonical && tensor->nb[i] == stride;
        stride *= static_cast<size_t>(tensor->ne[i]);
    }
    if (canonical) return tensor;
    const int64_t* ne = tensor->ne;
    return node(ggml_reshape_4d(context(), tensor, ne[0], ne[1], ne[2], ne[3]));
}

ggml_tensor* Recorder::contiguousRows(ggml_tensor* tensor) {
    if (tensor->nb[0] == ggml_type_size(tensor->type)) return tensor;
    if (tensor->ne[0] > 1) return node(ggml_cont(context(), tensor));
    const int64_t* ne = tensor->ne;
    const size_t* nb = tensor->nb;
    return node(ggml_view_4d(context(), tensor, ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], 0));
}

ggml_tensor* Recorder::aligned(ggml_tensor* tensor) {
    return tensor->view_offs % kBindingAlignment == 0 ? tensor : node(ggml_cont(context(), tensor));
}

void Recorder::setUnit(const std::shared_ptr<WeightStore>& store, int unit) {
    requireOpen();
    if (!store) {
        tag_ = {};
        return;
    }
    if (unit < 0 || unit >= store->unitCount()) {
        throw Error("InvalidArgument",
                    store->component() + " has " + std::to_string(store->unitCount()) +
                        " units; there is no unit " + std::to_string(unit) + ".",
                    {detailOf("component", store->component()), detailOf("unit", unit)});
    }
    tag_ = {store.get(), unit};
    if (std::find(taggedStores_.begin(), taggedStores_.end(), store) == taggedStores_.end()) {
        taggedStores_.push_back(store);
    }
}

void Recorder::output(int handle) {
    requireOpen();
    const Value& named = value(handle);
    for (const OutputNode& known : recording_.outputs) {
        if (known.handle == handle) return;
    }
    ggml_tensor* tensor = named.tensor;
    ggml_tensor* root = rootOf(tensor);
    // A whole node, possibly reshaped, is read where it is; anything else is copied out first.
    const bool whole = root->op != GGML_OP_NONE && ggml_is_contiguous(tensor) && tensor->type == root->type &&
                       ggml_nbytes(tensor) == ggml_nbytes(root) && root->view_src == nullptr;
    if (!whole) {
        if (ggml_is_quantized(tensor->type)) {
            throw Error("UnsupportedDType", "A view of quantised values cannot be an output: cast it first.");
        }
        root = node(ggml_cont(context(), tensor));
    }
    root->data = placeholder();
    recording_.outputs.push_back({root, named.shape(), handle});
}

Recording Recorder::take() {
    requireOpen();
    taken_ = true;
    return std::move(recording_);
}

}  // namespace mizuoto
