#include "layout.h"

#include <algorithm>
#include <unordered_set>

#include "arena.h"
#include "error.h"

namespace mizuoto {

bool isViewOnly(const ggml_tensor* tensor) {
    switch (tensor->op) {
        case GGML_OP_NONE:
        case GGML_OP_VIEW:
        case GGML_OP_RESHAPE:
        case GGML_OP_PERMUTE:
        case GGML_OP_TRANSPOSE:
            return true;
        default:
            return false;
    }
}

ContextPointer newGraphContext(const std::vector<size_t>& sizes) {
    size_t bytes = 1024;
    for (size_t size : sizes) bytes += ggml_graph_overhead_custom(size, false) + GGML_MEM_ALIGN;
    ggml_init_params params = {bytes, nullptr, true};
    ContextPointer context(ggml_init(params), ggml_free);
    if (!context) throw Error("OutOfHostMemory", "Host memory is used up.");
    return context;
}

namespace {

/**
 * On ARM, ggml multiplies pairs of rows of quantised matrices otherwise than single ones, and pairs them
 * where a thread's share is even. All else that depended on the number of threads is computed otherwise (see
 * `copyingNode`).
 */
bool resultDependsOnThreads(const ggml_tensor* node) {
#if defined(__aarch64__) || defined(_M_ARM64)
    return node->op == GGML_OP_MUL_MAT && ggml_is_quantized(node->src[0]->type);
#else
    (void)node;
    return false;
#endif
}

}  // namespace

Layout::Layout(const Recording& recording, const Device& device) : context_(nullptr, ggml_free) {
    if (recording.outputs.empty()) throw Error("InvalidArgument", "The graph has no outputs.");
    recording.useKernels(device.computesOnCpu());
    keepLive(recording);
    requireSupport(device);
    cutSegments(recording);
    placeIo(recording, device);
    sortTensors(recording);
    buildWhole(recording);
    dependsOnThreads = std::any_of(nodes.begin(), nodes.end(), [](const RecordedNode& node) {
        return resultDependsOnThreads(node.tensor);
    });
    plan.nodes = nodes.size();
    plan.segments = segments.size();
    plan.computeBytes = Arena::plan(device.bufferType(), whole);
}

void Layout::keepLive(const Recording& recording) {
    std::unordered_set<const ggml_tensor*> live;
    std::vector<const ggml_tensor*> pending;
    const auto reach = [&](const ggml_tensor* tensor) {
        if (tensor != nullptr && live.insert(tensor).second) pending.push_back(tensor);
    };
    for (const OutputNode& output : recording.outputs) reach(output.tensor);
    for (const RecordedNode& node : recording.nodes) {
        // Writes to states matter although nothing reads the node.
        const bool writes = node.tensor->view_src != nullptr &&
                            (node.tensor->op == GGML_OP_CPY || node.tensor->op == GGML_OP_SET_ROWS);
        if (writes) reach(node.tensor);
    }
    while (!pending.empty()) {
        const ggml_tensor* tensor = pending.back();
        pending.pop_back();
        reach(tensor->view_src);
        for (const ggml_tensor* source : tensor->src) reach(source);
    }
    for (const RecordedNode& node : recording.nodes) {
        if (live.contains(node.tensor)) nodes.push_back(node);
    }
}

namespace {

/** What `supports_op` overlooks: kernels that would write beyond their memory. */
bool kernelHolds(const Device& device, const ggml_tensor* node) {
    if (device.mergesSegments() || node->op != GGML_OP_CONV_TRANSPOSE_1D) return true;
    // Vulkan: 128 threads add their overlapping frames in 4096 shared values.
    const int64_t stride = node->op_params[0];
    return 128 * stride + node->src[0]->ne[0] <= 4096;
}

}  // namespace

void Layout::requireSupport(const Device& device) const {
    for (const RecordedNode& node : nodes) {
        if (isViewOnly(node.tensor)) continue;
        if (ggml_backend_dev_supports_op(device.handle(), node.tensor) && kernelHolds(device, node.tensor))
            continue;
        std::string types;
        for (const ggml_tensor* source : node.tensor->src) {
            if (source == nullptr || source == node.tensor) continue;
            types += (types.empty() ? "" : ", ") + shapeText(shapeOf(source, ggml_n_dims(source))) + " " +
                     ggml_type_name(source->type);
        }
        throw Error("UnsupportedOp",
                    device.name() + " cannot compute " + ggml_op_desc(node.tensor) + "(" + types + ") -> " +
                        ggml_type_name(node.tensor->type) + ".",
                    {detailOf("device", device.name()), detailOf("op", ggml_op_desc(node.tensor))});
    }
}

void Layout::cutSegments(const Recording& recording) {
    std::unordered_map<const ggml_tensor*, size_t> weightOf;
    for (size_t i = 0; i < recording.weights.size(); ++i) weightOf.emplace(recording.weights[i].tensor, i);

    bool computes = false;
    for (size_t i = 0; i < nodes.size(); ++i) {
        const bool viewOnly = isViewOnly(nodes[i].tensor);
        if (segments.empty()) segments.push_back({i, i, nodes[i].tag, {}});
        // Views run nothing, so they never begin a segment of their own.
        if (!viewOnly && !(segments.back().tag == nodes[i].tag)) {
            if (computes) {
                segments.push_back({i, i, nodes[i].tag, {}});
            } else {
                segments.back().tag = nodes[i].tag;
            }
        }
        computes = !viewOnly || (computes && segments.back().first != i);
        Segment& segment = segments.back();
        segment.end = i + 1;
        if (viewOnly) continue;
        for (ggml_tensor* source : nodes[i].tensor->src) {
            if (source == nullptr) continue;
            const auto found = weightOf.find(rootOf(source));
            if (found == weightOf.end()) continue;
            auto& weights = segment.weights;
            if (std::find(weights.begin(), weights.end(), found->second) == weights.end()) {
                weights.push_back(found->second);
            }
        }
    }
    for (const Segment& segment : segments) {
        for (size_t weight : segment.weights) {
            const WeightLeaf& leaf = recording.weights[weight];
            const std::pair<uint64_t, int> unit = {leaf.store->id(), leaf.store->unitOf(leaf.weight)};
            if (unit.second < 0) continue;
            if (std::find(plan.units.begin(), plan.units.end(), unit) == plan.units.end())
                plan.units.push_back(unit);
        }
    }
}

void Layout::placeIo(const Recording& recording, const Device& device) {
    std::unordered_set<const ggml_tensor*> placed;
    const auto place = [&](ggml_tensor* tensor) {
        if (!placed.insert(tensor).second) return;
        io.emplace_back(tensor, plan.ioBytes);
        plan.ioBytes +=
            alignUp(ggml_backend_buft_get_alloc_size(device.bufferType(), tensor), device.alignment());
    };
    for (const InputLeaf& input : recording.inputs) place(input.tensor);
    for (const ConstantLeaf& constant : recording.constants) place(constant.tensor);
    for (const OutputNode& output : recording.outputs) {
        // Backends fuse away nodes that nobody seems to read.
        ggml_set_output(output.tensor);
        place(output.tensor);
    }
}

void Layout::sortTensors(const Recording& recording) {
    std::unordered_set<const ggml_tensor*> external;
    for (const auto& [tensor, offset] : io) external.insert(tensor);
    for (const WeightLeaf& leaf : recording.weights) external.insert(leaf.tensor);
    for (const StateLeaf& leaf : recording.states) external.insert(leaf.tensor);
    for (const RecordedNode& node : nodes) {
        const ggml_tensor* root = rootOf(node.tensor);
        if (!external.contains(root)) {
            arenaTensors.push_back(node.tensor);
        } else if (root != node.tensor) {
            views[root].push_back(node.tensor);
        }
    }
}

void Layout::buildWhole(const Recording& recording) {
    const size_t leaves = recording.inputs.size() + recording.constants.size() + recording.weights.size() +
                          recording.states.size();
    const size_t size = nodes.size() + leaves + 1;
    context_ = newGraphContext({size});
    whole = ggml_new_graph_custom(context_.get(), size, false);
    // Parents come first, so expanding node by node keeps the order recorded.
    for (const RecordedNode& node : nodes) ggml_build_forward_expand(whole, node.tensor);
}

}  // namespace mizuoto
