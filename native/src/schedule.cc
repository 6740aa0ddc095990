#include "schedule.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "error.h"

namespace mizuoto {
namespace {

std::string subjectOf(const WeightLeaf& leaf) {
    return leaf.store->component() + ": " + leaf.store->nameOf(leaf.weight);
}

Error::Details detailsOf(const WeightLeaf& leaf) {
    return {detailOf("component", leaf.store->component()),
            detailOf("parameter", leaf.store->nameOf(leaf.weight)),
            detailOf("unit", leaf.store->unitOf(leaf.weight))};
}

/** Makes nodes of other calls look like leaves while a call's graph is built. */
class CutParents {
  public:
    CutParents(const Layout& layout, size_t first, size_t end,
               const std::unordered_map<const ggml_tensor*, size_t>& position) {
        const auto cut = [&](ggml_tensor* tensor) {
            if (tensor == nullptr || tensor->op == GGML_OP_NONE) return;
            const size_t at = position.at(tensor);
            if (at >= first && at < end) return;
            saved_.push_back({tensor, tensor->op, {}});
            std::copy_n(tensor->src, GGML_MAX_SRC, saved_.back().sources.begin());
            tensor->op = GGML_OP_NONE;
            std::fill_n(tensor->src, GGML_MAX_SRC, nullptr);
        };
        for (size_t i = first; i < end; ++i) {
            for (ggml_tensor* source : layout.nodes[i].tensor->src) cut(source);
        }
    }
    ~CutParents() {
        for (const Saved& saved : saved_) {
            saved.tensor->op = saved.op;
            std::copy_n(saved.sources.begin(), GGML_MAX_SRC, saved.tensor->src);
        }
    }
    CutParents(const CutParents&) = delete;
    CutParents& operator=(const CutParents&) = delete;

  private:
    struct Saved {
        ggml_tensor* tensor;
        ggml_op op;
        std::array<ggml_tensor*, GGML_MAX_SRC> sources;
    };
    std::vector<Saved> saved_;
};

std::unordered_map<const ggml_tensor*, size_t> positionsOf(const Layout& layout) {
    std::unordered_map<const ggml_tensor*, size_t> position;
    for (size_t i = 0; i < layout.nodes.size(); ++i) position.emplace(layout.nodes[i].tensor, i);
    return position;
}

/** Room for nodes [first, end) and all that they read. */
size_t sizeOf(const Layout& layout, size_t first, size_t end) {
    size_t size = 1;
    for (size_t i = first; i < end; ++i) {
        ++size;
        for (const ggml_tensor* source : layout.nodes[i].tensor->src) size += source != nullptr ? 1 : 0;
    }
    return size;
}

ggml_cgraph* graphOf(ggml_context* context, size_t size, const Layout& layout, size_t first, size_t end,
                     const std::unordered_map<const ggml_tensor*, size_t>& position) {
    ggml_cgraph* graph = ggml_new_graph_custom(context, size, false);
    const CutParents cut(layout, first, end, position);
    for (size_t node = first; node < end; ++node) {
        ggml_build_forward_expand(graph, layout.nodes[node].tensor);
    }
    return graph;
}

}  // namespace

RestOfCall::RestOfCall(const Layout& layout, const Call& call, const ggml_tensor* last)
    : context_(nullptr, ggml_free) {
    const auto position = positionsOf(layout);
    size_t first = position.at(last) + 1;
    const size_t end = layout.segments[call.endSegment - 1].end;
    while (first < end && isViewOnly(layout.nodes[first].tensor)) ++first;
    if (first == end) return;
    const size_t size = sizeOf(layout, first, end);
    context_ = newGraphContext({size});
    graph_ = graphOf(context_.get(), size, layout, first, end, position);
}

Schedule::Schedule(const Recording& recording, Layout& layout, Device& device, bool profiling)
    : context_(nullptr, ggml_free) {
    for (size_t i = 0; i < layout.segments.size(); ++i) {
        const Segment& segment = layout.segments[i];
        const int unit = streamedUnit(recording, segment, device);
        const bool joins =
            device.mergesSegments() && !profiling && !calls.empty() && unit < 0 && calls.back().streamed < 0;
        if (joins) {
            calls.back().endSegment = i + 1;
            continue;
        }
        Call call;
        call.firstSegment = i;
        call.endSegment = i + 1;
        call.streamed = unit;
        if (unit >= 0) {
            for (size_t weight : segment.weights) {
                const WeightLeaf& leaf = recording.weights[weight];
                if (leaf.store->unitOf(leaf.weight) >= 0) call.leaves.push_back(weight);
            }
        }
        calls.push_back(std::move(call));
    }
    build(layout);
}

int Schedule::streamedUnit(const Recording& recording, const Segment& segment, Device& device) {
    if (device.isHost()) return -1;
    Streamer& streamer = device.streamer();
    bool streams = false;
    for (size_t weight : segment.weights) {
        const WeightLeaf& leaf = recording.weights[weight];
        const int unit = leaf.store->unitOf(leaf.weight);
        const bool placed = leaf.store->isPlaced(unit);
        const bool own = segment.tag == UnitTag{leaf.store.get(), unit};
        if (unit < 0) {
            if (placed) continue;
            throw Error("WeightNotPlaced",
                        subjectOf(leaf) + " is not on " + device.name() + ". The fixed part of " +
                            leaf.store->component() + " must be placed before it runs.",
                        detailsOf(leaf));
        }
        // A simulated device finds what would only show once the unit streams.
        if (!own && (!placed || device.simulated())) {
            throw Error("UnitOutsideForward",
                        subjectOf(leaf) + " belongs to unit " + std::to_string(unit) +
                            ", but is read outside the unit's forward.",
                        detailsOf(leaf));
        }
        if (placed) continue;
        if (streamer.lost()) {
            throw Error("OutOfDeviceMemory",
                        device.name() + " has no memory left for its streaming slots, through which " +
                            subjectOf(leaf) + " would come.",
                        detailsOf(leaf));
        }
        if (!streamer.enabled()) {
            throw Error(
                "WeightNotPlaced",
                subjectOf(leaf) + " is not on " + device.name() + ": unit " + std::to_string(unit) +
                    " is neither placed nor can it be streamed, because the device has no streaming slots.",
                detailsOf(leaf));
        }
        if (leaf.store->unitBytes(unit) > streamer.slotBytes()) {
            throw Error("WeightNotPlaced",
                        subjectOf(leaf) + ": unit " + std::to_string(unit) + " has " +
                            bytesText(leaf.store->unitBytes(unit)) + ", but a streaming slot holds " +
                            bytesText(streamer.slotBytes()) + ".",
                        detailsOf(leaf));
        }
        streams = true;
    }
    if (!streams) return -1;
    const size_t any = segment.weights.front();
    // Every streamed weight of the segment is of the segment's own unit.
    std::shared_ptr<WeightStore> store = recording.weights[any].store;
    for (size_t weight : segment.weights) {
        if (recording.weights[weight].store.get() == segment.tag.store)
            store = recording.weights[weight].store;
    }
    streamed.push_back({store, segment.tag.unit});
    return static_cast<int>(streamed.size()) - 1;
}

void Schedule::build(Layout& layout) {
    if (calls.size() == 1) {
        calls.front().graph = layout.whole;
        return;
    }
    std::vector<size_t> sizes;
    for (const Call& call : calls) {
        sizes.push_back(sizeOf(layout, layout.segments[call.firstSegment].first,
                               layout.segments[call.endSegment - 1].end));
    }
    context_ = newGraphContext(sizes);
    const auto position = positionsOf(layout);
    for (size_t i = 0; i < calls.size(); ++i) {
        const size_t first = layout.segments[calls[i].firstSegment].first;
        const size_t end = layout.segments[calls[i].endSegment - 1].end;
        calls[i].graph = graphOf(context_.get(), sizes[i], layout, first, end, position);
    }
    findEscaping(layout);
}

void Schedule::findEscaping(const Layout& layout) {
    const auto position = positionsOf(layout);
    std::vector<size_t> callOf(layout.nodes.size());
    for (size_t i = 0; i < calls.size(); ++i) {
        const size_t first = layout.segments[calls[i].firstSegment].first;
        const size_t end = layout.segments[calls[i].endSegment - 1].end;
        std::fill(callOf.begin() + static_cast<ptrdiff_t>(first),
                  callOf.begin() + static_cast<ptrdiff_t>(end), i);
    }
    std::vector<bool> marked(layout.nodes.size(), false);
    const auto use = [&](ggml_tensor* tensor, size_t call) {
        if (tensor == nullptr) return;
        const auto found = position.find(tensor);
        if (found == position.end() || callOf[found->second] == call || marked[found->second]) return;
        marked[found->second] = true;
        if ((tensor->flags & GGML_TENSOR_FLAG_OUTPUT) == 0) escaping_.push_back(tensor);
    };
    for (size_t i = 0; i < layout.nodes.size(); ++i) {
        const ggml_tensor* tensor = layout.nodes[i].tensor;
        use(tensor->view_src, callOf[i]);
        for (ggml_tensor* source : tensor->src) {
            use(source, callOf[i]);
            if (source != nullptr) use(source->view_src, callOf[i]);
        }
    }
}

void Schedule::markEscaping(bool marked) const {
    for (ggml_tensor* tensor : escaping_) {
        if (marked) {
            tensor->flags |= GGML_TENSOR_FLAG_OUTPUT;
        } else {
            tensor->flags &= ~GGML_TENSOR_FLAG_OUTPUT;
        }
    }
}

}  // namespace mizuoto
