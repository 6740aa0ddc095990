// Normalisations. Weights and biases are separate operations.
#include "op_table.h"

namespace mizuoto {
namespace {

using Norm = ggml_tensor* (*)(ggml_context*, ggml_tensor*, float);

float epsilon(OpCall& call, size_t position) {
    const float eps = call.number(position);
    call.require(eps >= 0, "epsilon cannot be negative.");
    return eps;
}

/** Over the last dimension. */
template <Norm build>
Value norm(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 1, kMaxRank);
    const float eps = epsilon(call, 0);
    ggml_tensor* a = call.contiguousRows(0);
    return {call.node(build(call.context(), a, eps)), call.source(0).rank};
}

/** [batch, channels, ...] over each group of channels and all that follows them. */
Value groupNorm(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 2, kMaxRank);
    const Value& source = call.source(0);
    const Shape shape = source.shape();
    const int64_t batch = shape[0];
    const int64_t channels = shape[1];
    const int64_t inner = ggml_nelements(source.tensor) / (batch * channels);
    const int64_t groups = call.integer(0, 1, channels);
    call.requireShape(channels % groups == 0, "the channels do not divide into these groups.");
    const float eps = epsilon(call, 1);
    ggml_tensor* a = call.contiguous(0);
    ggml_tensor* flat = call.node(ggml_reshape_4d(call.context(), a, inner, 1, channels, batch));
    ggml_tensor* normed = call.node(ggml_group_norm(call.context(), flat, static_cast<int>(groups), eps));
    const auto ne = toNe(shape);
    return {call.node(ggml_reshape_4d(call.context(), normed, ne[0], ne[1], ne[2], ne[3])), source.rank};
}

constexpr OpSpec kOps[] = {
    {"norm", 1, 1, 1, 1, norm<ggml_norm>},
    {"rms_norm", 1, 1, 1, 1, norm<ggml_rms_norm>},
    {"l2_norm", 1, 1, 1, 1, norm<ggml_l2_norm>},
    {"group_norm", 1, 1, 2, 2, groupNorm},
};

}  // namespace

std::span<const OpSpec> normOps() {
    return kOps;
}

}  // namespace mizuoto
