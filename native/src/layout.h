#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device.h"
#include "recorder.h"

namespace mizuoto {

struct GraphPlan {
    size_t computeBytes = 0;
    size_t ioBytes = 0;
    size_t nodes = 0;
    size_t segments = 0;
    /** Store id and unit, in the order in which they are first read. */
    std::vector<std::pair<uint64_t, int>> units;
};

/** Consecutive nodes of one unit's forward (or of none). */
struct Segment {
    size_t first = 0;
    size_t end = 0;
    UnitTag tag;
    /** Weights that its nodes read, as indices into `Recording::weights`. */
    std::vector<size_t> weights;
};

using ContextPointer = std::unique_ptr<ggml_context, void (*)(ggml_context*)>;

/** What a recording becomes on a device: live nodes, segments, sizes. Made on any thread; allocates nothing
 * there. */
class Layout {
  public:
    /** Throws InvalidArgument, UnsupportedOp. */
    Layout(const Recording& recording, const Device& device);

    GraphPlan plan;
    /** In the order recorded; nodes that reach neither an output nor a state are left out. */
    std::vector<RecordedNode> nodes;
    std::vector<Segment> segments;
    /** All nodes as one graph. */
    ggml_cgraph* whole = nullptr;
    /** Offsets in the io buffer: inputs, constants, outputs. */
    std::vector<std::pair<ggml_tensor*, size_t>> io;
    /** Nodes whose memory is the arena's, and their views. */
    std::vector<ggml_tensor*> arenaTensors;
    /** On a CPU backend, the number of threads would show in results. */
    bool dependsOnThreads = false;
    /** Views of tensors that are bound from outside the arena. */
    std::unordered_map<const ggml_tensor*, std::vector<ggml_tensor*>> views;

  private:
    void keepLive(const Recording& recording);
    void requireSupport(const Device& device) const;
    void cutSegments(const Recording& recording);
    void placeIo(const Recording& recording, const Device& device);
    void sortTensors(const Recording& recording);
    void buildWhole(const Recording& recording);

    ContextPointer context_;
};

/** No kernel runs for these: they only name memory. */
bool isViewOnly(const ggml_tensor* tensor);

/** A context that holds graphs with these numbers of tensors. */
ContextPointer newGraphContext(const std::vector<size_t>& sizes);

}  // namespace mizuoto
