// Operations that make values from numbers.
#include <cmath>

#include "op_table.h"

namespace mizuoto {
namespace {

Value arange(OpCall& call) {
    const float start = call.number(0);
    const float stop = call.number(1);
    const float step = call.number(2, 1);
    call.require(step > 0 && stop > start, "the range must rise.");
    // The same arithmetic as ggml's.
    const float steps = std::ceil((stop - start) / step);
    call.require(std::isfinite(steps) && steps >= 1 && steps <= 1e9f, "the range has too many steps.");
    return {call.node(ggml_arange(call.context(), start, stop, step)), 1};
}

/** timesteps [n] -> [n, width]: cosines, then sines, of geometrically spaced frequencies. */
Value timestepEmbedding(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 1, 1);
    const int64_t width = call.integer(0, 2, 1 << 20);
    const int64_t period = call.integerOr(1, 10000, 1, INT32_MAX);
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_timestep_embedding(call.context(), a, static_cast<int>(width),
                                              static_cast<int>(period))),
            2};
}

/** A tensor like the source, all of one value. */
Value fill(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    const float value = call.number(0);
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_fill(call.context(), a, value)), call.source(0).rank};
}

/** Zeroes outside the triangle: 0 upper with diagonal, 1 upper, 2 lower with diagonal, 3 lower. */
Value tri(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 2, kMaxRank);
    const ggml_tensor* tensor = call.source(0).tensor;
    call.requireShape(tensor->ne[0] == tensor->ne[1], "the last two dimensions must be equal.");
    const auto type = static_cast<ggml_tri_type>(call.integer(0, 0, 3));
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_tri(call.context(), a, type)), call.source(0).rank};
}

constexpr OpSpec kOps[] = {
    {"arange", 0, 0, 2, 3, arange},
    {"timestep_embedding", 1, 1, 1, 2, timestepEmbedding},
    {"fill", 1, 1, 1, 1, fill},
    {"tri", 1, 1, 1, 1, tri},
};

}  // namespace

std::span<const OpSpec> generatorOps() {
    return kOps;
}

}  // namespace mizuoto
