#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ggml.h"
#include "kernel_nodes.h"
#include "state.h"
#include "tensor_types.h"
#include "weight_store.h"

namespace mizuoto {

/** What a handle stands for: a tensor, and how many of its dimensions are real. */
struct Value {
    ggml_tensor* tensor = nullptr;
    int rank = 0;

    Shape shape() const { return shapeOf(tensor, rank); }
};

/** The forward of a unit that a node belongs to, or none. */
struct UnitTag {
    const WeightStore* store = nullptr;
    int unit = -1;

    bool operator==(const UnitTag&) const = default;
};

struct RecordedNode {
    ggml_tensor* tensor;
    UnitTag tag;
};

struct InputLeaf {
    ggml_tensor* tensor;
    int handle;
};
struct ConstantLeaf {
    ggml_tensor* tensor;
    std::vector<uint8_t> data;
};
struct WeightLeaf {
    ggml_tensor* tensor;
    std::shared_ptr<WeightStore> store;
    int weight;
};
struct StateLeaf {
    ggml_tensor* tensor;
    std::shared_ptr<State> state;
    size_t index;
};
struct OutputNode {
    ggml_tensor* tensor;
    /** What the handle's shape and type are; a view of `tensor` may stand for it. */
    Shape shape;
    int handle;
};

/** Rows of `table` that an input's values must name: checked before each run, since backends abort on others.
 */
struct IndexBound {
    size_t input;
    int64_t rows;
    std::string op;
};

/** Everything that a recording consists of; moves into the compiled graph. */
struct Recording {
    std::vector<std::shared_ptr<ggml_context>> contexts;
    std::vector<RecordedNode> nodes;
    std::vector<InputLeaf> inputs;
    std::vector<ConstantLeaf> constants;
    std::vector<WeightLeaf> weights;
    std::vector<StateLeaf> states;
    std::vector<OutputNode> outputs;
    std::vector<IndexBound> bounds;
    std::vector<KernelNode> kernels;

    /** Before a layout is made: kernels of ours, or ggml's operations alone. */
    void useKernels(bool ours) const;
};

/**
 * Records operations into ggml contexts. One thread. Leaves carry a placeholder as data, so that ggml's
 * planner takes them as given; the compiled graph replaces it.
 */
class Recorder {
  public:
    int input(ggml_type type, const Shape& shape);
    int constant(ggml_type type, const Shape& shape, std::vector<uint8_t> data);
    int weight(const std::shared_ptr<WeightStore>& store, std::string_view name);
    int state(const std::shared_ptr<State>& state, int index);
    /** Throws UnsupportedOp, ShapeMismatch, UnsupportedDType, InvalidArgument; records nothing then. */
    int op(std::string_view name, std::span<const int> sources, std::span<const double> params);
    void setUnit(const std::shared_ptr<WeightStore>& store, int unit);
    void output(int handle);
    const Value& value(int handle) const;

    const Recording& recording() const { return recording_; }
    /** Throws InvalidArgument once the recording was taken, or without outputs. */
    void requireOpen() const;
    Recording take();

    // For operations (ops/): they build tensors here, so that each becomes a node of the current unit.
    ggml_context* context();
    /** Every tensor that an operation makes passes through here, in order. */
    ggml_tensor* node(ggml_tensor* tensor);
    /** Says that processors compute a node by a kernel of ours. */
    void kernel(const std::optional<KernelNode>& node);
    ggml_tensor* contiguous(ggml_tensor* tensor);
    ggml_tensor* contiguousRows(ggml_tensor* tensor);
    /** The tensor, copied where it begins at an offset that kernels of some backends cannot bind. */
    ggml_tensor* aligned(ggml_tensor* tensor);
    /** True for a state's tensor and views of it: the only things that operations may write to. */
    bool isState(const ggml_tensor* tensor) const;
    /** Throws InvalidArgument unless every value of `ids` is known, or can be checked, to lie in [0, rows).
     */
    void requireIndices(const ggml_tensor* ids, int64_t rows, std::string_view op);

  private:
    ggml_tensor* leaf(ggml_type type, const Shape& shape);
    int add(Value value);

    Recording recording_;
    std::vector<Value> values_;
    std::vector<std::shared_ptr<WeightStore>> taggedStores_;
    UnitTag tag_;
    bool taken_ = false;
};

/** Stands for memory that a leaf has not got yet; never read. */
inline void* placeholder() {
    return reinterpret_cast<void*>(uintptr_t{0x1000});
}

/** The tensor that owns the memory of a view. */
inline ggml_tensor* rootOf(ggml_tensor* tensor) {
    return tensor->view_src != nullptr ? tensor->view_src : tensor;
}

}  // namespace mizuoto
