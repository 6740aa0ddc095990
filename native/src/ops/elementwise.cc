// Operations that work element by element, with PyTorch's broadcasting.
#include <algorithm>
#include <array>

#include "op_table.h"

namespace mizuoto {
namespace {

using Binary = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*);
using Unary = ggml_tensor* (*)(ggml_context*, ggml_tensor*);

/** Every dimension of `small` is 1 or that of `large`. */
bool broadcasts(const ggml_tensor* small, const ggml_tensor* large) {
    for (int i = 0; i < kMaxRank; ++i) {
        if (small->ne[i] != 1 && small->ne[i] != large->ne[i]) return false;
    }
    return true;
}

ggml_tensor* expand(OpCall& call, ggml_tensor* tensor, const std::array<int64_t, kMaxRank>& ne) {
    tensor = call.recorder().contiguousRows(tensor);
    return call.node(ggml_repeat_4d(call.context(), tensor, ne[0], ne[1], ne[2], ne[3]));
}

Value binary(OpCall& call, Binary build, bool commutative) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16});
    call.requireType(1, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16});
    ggml_tensor* a = call.source(0).tensor;
    ggml_tensor* b = call.source(1).tensor;
    if (commutative && !broadcasts(b, a) && broadcasts(a, b) && a->type == b->type) std::swap(a, b);
    if (!broadcasts(b, a)) {
        std::array<int64_t, kMaxRank> ne{};
        for (size_t i = 0; i < kMaxRank; ++i) {
            call.requireShape(a->ne[i] == b->ne[i] || a->ne[i] == 1 || b->ne[i] == 1,
                              "the shapes cannot be broadcast to each other.");
            ne[i] = std::max(a->ne[i], b->ne[i]);
        }
        a = expand(call, a, ne);
    }
    // Backends mix types only as: the first source's, and float32 second.
    if (b->type != a->type && b->type != GGML_TYPE_F32)
        b = call.node(ggml_cast(call.context(), b, GGML_TYPE_F32));
    a = call.recorder().contiguousRows(a);
    const int rank = std::max(call.source(0).rank, call.source(1).rank);
    return {call.node(build(call.context(), a, b)), rank};
}

Value add(OpCall& call) {
    return binary(call, ggml_add, true);
}
Value sub(OpCall& call) {
    return binary(call, ggml_sub, false);
}
Value mul(OpCall& call) {
    return binary(call, ggml_mul, true);
}
Value div(OpCall& call) {
    return binary(call, ggml_div, false);
}

template <Unary build>
Value unary(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(build(call.context(), a)), call.source(0).rank};
}

/** One that processors compute by a kernel of ours. */
template <Unary build>
Value unaryByKernel(OpCall& call) {
    const Value value = unary<build>(call);
    call.recorder().kernel(unaryKernelNode(call.context(), value.tensor, ggml_get_unary_op(value.tensor)));
    return value;
}

/**
 * GELU's tanh form, as x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): ggml's own operation looks values up in
 * a float16 table on processors, which is off by up to 2e-3.
 */
Value geluTanh(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    constexpr float kSlope = 1.5957691216057308f;
    ggml_context* context = call.context();
    ggml_tensor* x = call.contiguousAnywhere(0);
    ggml_tensor* factor = call.node(ggml_sqr(context, x));
    factor = call.node(ggml_scale_bias(context, factor, 0.044715f * kSlope, kSlope));
    ggml_tensor* inner = call.node(ggml_mul(context, x, factor));
    inner = call.node(ggml_sigmoid(context, inner));
    ggml_tensor* node = call.node(ggml_mul(context, x, inner));
    call.recorder().kernel(geluTanhKernelNode(context, node, x));
    return {node, call.source(0).rank};
}

/** x + sin(alpha x)^2 / (beta + 1e-9); alpha and beta broadcast to x. */
Value snake(OpCall& call) {
    for (size_t i = 0; i < 3; ++i) call.requireType(i, {GGML_TYPE_F32});
    ggml_context* context = call.context();
    ggml_tensor* x = call.contiguousAnywhere(0);
    ggml_tensor* alpha = call.contiguousAnywhere(1);
    ggml_tensor* beta = call.contiguousAnywhere(2);
    call.requireShape(broadcasts(alpha, x) && broadcasts(beta, x),
                      "alpha and beta must broadcast to the first source.");
    ggml_tensor* wave = call.node(ggml_sin(context, call.node(ggml_mul(context, x, alpha))));
    wave = call.node(ggml_sqr(context, wave));
    ggml_tensor* divisor = call.node(ggml_scale_bias(context, beta, 1.0f, kSnakeEpsilon));
    wave = call.node(ggml_div(context, wave, divisor));
    ggml_tensor* node = call.node(ggml_add(context, x, wave));
    call.recorder().kernel(snakeKernelNode(context, node, x, alpha, beta));
    return {node, call.source(0).rank};
}

Value scale(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    const float factor = call.number(0);
    const float bias = call.number(1, 0);
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(ggml_scale_bias(call.context(), a, factor, bias)), call.source(0).rank};
}

Value clamp(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    const float least = call.number(0);
    const float most = call.number(1);
    call.require(least <= most, "the lower bound is above the upper one.");
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(ggml_clamp(call.context(), a, least, most)), call.source(0).rank};
}

Value leakyRelu(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    const float slope = call.number(0, 0.01f);
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(ggml_leaky_relu(call.context(), a, slope, false)), call.source(0).rank};
}

/** Gated units over two halves of the last dimension: the first is activated, the second is the factor. */
template <Unary build>
Value glu(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    call.requireRank(0, 1, kMaxRank);
    call.requireShape(call.source(0).tensor->ne[0] % 2 == 0, "the last dimension must be even.");
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(build(call.context(), a)), call.source(0).rank};
}

template <Binary build>
Value gluSplit(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    call.require(call.source(0).tensor->type == call.source(1).tensor->type,
                 "both sources must have one type.");
    call.requireShape(ggml_are_same_shape(call.source(0).tensor, call.source(1).tensor),
                      "both sources must have one shape.");
    ggml_tensor* a = call.contiguousAnywhere(0);
    ggml_tensor* b = call.contiguousAnywhere(1);
    return {call.node(build(call.context(), a, b)), call.source(0).rank};
}

constexpr OpSpec kOps[] = {
    {"add", 2, 2, 0, 0, add},
    {"sub", 2, 2, 0, 0, sub},
    {"mul", 2, 2, 0, 0, mul},
    {"div", 2, 2, 0, 0, div},
    {"scale", 1, 1, 1, 2, scale},
    {"clamp", 1, 1, 2, 2, clamp},
    {"leaky_relu", 1, 1, 0, 1, leakyRelu},
    {"abs", 1, 1, 0, 0, unary<ggml_abs>},
    {"neg", 1, 1, 0, 0, unary<ggml_neg>},
    {"sgn", 1, 1, 0, 0, unary<ggml_sgn>},
    {"step", 1, 1, 0, 0, unary<ggml_step>},
    {"sqr", 1, 1, 0, 0, unary<ggml_sqr>},
    {"sqrt", 1, 1, 0, 0, unary<ggml_sqrt>},
    {"log", 1, 1, 0, 0, unary<ggml_log>},
    {"exp", 1, 1, 0, 0, unaryByKernel<ggml_exp>},
    {"expm1", 1, 1, 0, 0, unary<ggml_expm1>},
    {"sin", 1, 1, 0, 0, unary<ggml_sin>},
    {"cos", 1, 1, 0, 0, unary<ggml_cos>},
    {"tanh", 1, 1, 0, 0, unaryByKernel<ggml_tanh>},
    {"sigmoid", 1, 1, 0, 0, unaryByKernel<ggml_sigmoid>},
    {"relu", 1, 1, 0, 0, unary<ggml_relu>},
    {"elu", 1, 1, 0, 0, unaryByKernel<ggml_elu>},
    {"silu", 1, 1, 0, 0, unary<ggml_silu>},
    {"gelu", 1, 1, 0, 0, unary<ggml_gelu>},
    {"gelu_erf", 1, 1, 0, 0, unaryByKernel<ggml_gelu_erf>},
    {"gelu_quick", 1, 1, 0, 0, unary<ggml_gelu_quick>},
    {"gelu_tanh", 1, 1, 0, 0, geluTanh},
    {"snake", 3, 3, 0, 0, snake},
    {"softplus", 1, 1, 0, 0, unary<ggml_softplus>},
    {"hardswish", 1, 1, 0, 0, unary<ggml_hardswish>},
    {"hardsigmoid", 1, 1, 0, 0, unary<ggml_hardsigmoid>},
    {"floor", 1, 1, 0, 0, unary<ggml_floor>},
    {"ceil", 1, 1, 0, 0, unary<ggml_ceil>},
    {"round", 1, 1, 0, 0, unary<ggml_round>},
    {"trunc", 1, 1, 0, 0, unary<ggml_trunc>},
    {"swiglu", 1, 1, 0, 0, glu<ggml_swiglu>},
    {"geglu", 1, 1, 0, 0, glu<ggml_geglu>},
    {"geglu_erf", 1, 1, 0, 0, glu<ggml_geglu_erf>},
    {"geglu_quick", 1, 1, 0, 0, glu<ggml_geglu_quick>},
    {"reglu", 1, 1, 0, 0, glu<ggml_reglu>},
    {"swiglu_split", 2, 2, 0, 0, gluSplit<ggml_swiglu_split>},
    {"geglu_split", 2, 2, 0, 0, gluSplit<ggml_geglu_split>},
    {"geglu_erf_split", 2, 2, 0, 0, gluSplit<ggml_geglu_erf_split>},
    {"geglu_quick_split", 2, 2, 0, 0, gluSplit<ggml_geglu_quick_split>},
    {"reglu_split", 2, 2, 0, 0, gluSplit<ggml_reglu_split>},
};

}  // namespace

std::span<const OpSpec> elementwiseOps() {
    return kOps;
}

}  // namespace mizuoto
