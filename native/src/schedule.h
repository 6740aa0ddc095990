#pragma once

#include <memory>
#include <vector>

#include "layout.h"
#include "streamer.h"

namespace mizuoto {

/** One call of the backend: a range of segments, none or one of which reads a streamed unit. */
struct Call {
    ggml_cgraph* graph = nullptr;
    size_t firstSegment = 0;
    size_t endSegment = 0;
    /** Position in `Schedule::streamed`, or -1. */
    int streamed = -1;
    /** Leaves of that unit, as indices into `Recording::weights`. */
    std::vector<size_t> leaves;
};

/** What is left of a call that stopped after the node `last`, as a call of its own. */
class RestOfCall {
  public:
    RestOfCall(const Layout& layout, const Call& call, const ggml_tensor* last);

    /** Null where nothing is left to compute. */
    ggml_cgraph* graph() const { return graph_; }

  private:
    ContextPointer context_;
    ggml_cgraph* graph_ = nullptr;
};

/**
 * How a graph runs while certain units are resident. On backends whose fusion may change rounding, each
 * segment is a call whether it streams or not; on the CPU, segments that need no copy are one call, unless
 * they are timed one by one.
 */
class Schedule {
  public:
    /** Throws WeightNotPlaced, UnitOutsideForward: names component, parameter and unit. */
    Schedule(const Recording& recording, Layout& layout, Device& device, bool profiling);

    std::vector<Call> calls;
    std::vector<StreamedUnit> streamed;

    /** Tensors that one call leaves for another: marked while this schedule runs, so that no fusion swallows
     * them. */
    void markEscaping(bool marked) const;

  private:
    /** The streamed unit of a segment as an index into `streamed` (appended), or -1. */
    int streamedUnit(const Recording& recording, const Segment& segment, Device& device);
    void build(Layout& layout);
    void findEscaping(const Layout& layout);

    ContextPointer context_;
    std::vector<ggml_tensor*> escaping_;
};

}  // namespace mizuoto
