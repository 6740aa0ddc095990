#pragma once

#include <span>
#include <string>
#include <string_view>

#include "../error.h"
#include "../recorder.h"

namespace mizuoto {

struct OpSpec;

/**
 * One call of an operation: its sources and parameters, read with checks. Dimensions in parameters are
 * PyTorch's (0 = outermost, negative from the end).
 */
class OpCall {
  public:
    OpCall(Recorder& recorder, const OpSpec& spec, std::span<const int> sources,
           std::span<const double> params);

    Recorder& recorder() { return recorder_; }
    /** Context for the next ggml call. */
    ggml_context* context() { return recorder_.context(); }
    ggml_tensor* node(ggml_tensor* tensor) { return recorder_.node(tensor); }

    size_t sourceCount() const { return sources_.size(); }
    const Value& source(size_t position) const { return recorder_.value(sources_[position]); }
    /** The source in contiguous memory, or with contiguous rows, where every kernel can bind it: copied if
     * need be. */
    ggml_tensor* contiguous(size_t position) { return recorder_.aligned(contiguousAnywhere(position)); }
    ggml_tensor* contiguousRows(size_t position) {
        return recorder_.aligned(contiguousRowsAnywhere(position));
    }
    /** The same at any offset, for kernels that take it. */
    ggml_tensor* contiguousAnywhere(size_t position) { return recorder_.contiguous(source(position).tensor); }
    ggml_tensor* contiguousRowsAnywhere(size_t position) {
        return recorder_.contiguousRows(source(position).tensor);
    }

    size_t paramCount() const { return params_.size(); }
    bool has(size_t position) const { return position < params_.size(); }
    /** Finite. */
    float number(size_t position, float fallback) const;
    float number(size_t position) const;
    int64_t integer(size_t position, int64_t least, int64_t most) const;
    int64_t integerOr(size_t position, int64_t fallback, int64_t least, int64_t most) const;
    bool flag(size_t position) const { return integerOr(position, 0, 0, 1) == 1; }
    /** A dimension of a tensor of this rank, counted from the outermost. */
    int dimension(size_t position, int rank) const;

    // Checks: each throws with the operation's name, and shapes or types.
    void requireType(size_t position, std::initializer_list<ggml_type> types) const;
    void requireRank(size_t position, int least, int most) const;
    void requireShape(bool condition, const std::string& what) const;
    void require(bool condition, const std::string& what) const;
    [[noreturn]] void fail(const char* code, const std::string& what) const;
    /** `add([2, 3] f32, [4] f32)`: for messages. */
    std::string describe() const;

  private:
    Recorder& recorder_;
    const OpSpec& spec_;
    std::span<const int> sources_;
    std::span<const double> params_;
};

struct OpSpec {
    const char* name;
    size_t minSources;
    size_t maxSources;
    size_t minParams;
    size_t maxParams;
    Value (*build)(OpCall& call);
};

constexpr size_t kAnyNumber = 64;

/** Index into ggml's dimensions of PyTorch's dimension `dimension` of a tensor of this rank. */
inline int ggmlDimension(int dimension, int rank) {
    return rank - 1 - dimension;
}

/** Throws UnsupportedOp. */
const OpSpec& findOp(std::string_view name);

// Each file of ops/ lists its own.
std::span<const OpSpec> elementwiseOps();
std::span<const OpSpec> reductionOps();
std::span<const OpSpec> shapeOps();
std::span<const OpSpec> matrixOps();
std::span<const OpSpec> normOps();
std::span<const OpSpec> attentionOps();
std::span<const OpSpec> convolutionOps();
std::span<const OpSpec> stateOps();
std::span<const OpSpec> generatorOps();

}  // namespace mizuoto
