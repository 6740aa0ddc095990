// Operations along the last dimension, and sums.
#include "op_table.h"

namespace mizuoto {
namespace {

using Unary = ggml_tensor* (*)(ggml_context*, ggml_tensor*);

ggml_tensor* rows(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 1, kMaxRank);
    return call.contiguous(0);
}

Value sum(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_sum(call.context(), a)), 1};
}

/** Keeps the last dimension, with size 1 (sums) or as it is. */
template <Unary build>
Value alongRows(OpCall& call) {
    ggml_tensor* a = rows(call);
    return {call.node(build(call.context(), a)), call.source(0).rank};
}

Value argmax(OpCall& call) {
    ggml_tensor* a = rows(call);
    const int rank = call.source(0).rank;
    // ggml takes a matrix and gives a vector; leading dimensions are restored.
    ggml_tensor* matrix = call.node(ggml_reshape_2d(call.context(), a, a->ne[0], ggml_nrows(a)));
    ggml_tensor* indices = call.node(ggml_argmax(call.context(), matrix));
    ggml_tensor* shaped = call.node(ggml_reshape_3d(call.context(), indices, a->ne[1], a->ne[2], a->ne[3]));
    return {shaped, rank - 1};
}

Value topK(OpCall& call) {
    ggml_tensor* a = rows(call);
    const int64_t k = call.integer(0, 1, a->ne[0]);
    return {call.node(ggml_top_k(call.context(), a, static_cast<int>(k))), call.source(0).rank};
}

Value argsort(OpCall& call) {
    ggml_tensor* a = rows(call);
    const ggml_sort_order order = call.flag(0) ? GGML_SORT_ORDER_DESC : GGML_SORT_ORDER_ASC;
    return {call.node(ggml_argsort(call.context(), a, order)), call.source(0).rank};
}

constexpr OpSpec kOps[] = {
    {"sum", 1, 1, 0, 0, sum},
    {"sum_rows", 1, 1, 0, 0, alongRows<ggml_sum_rows>},
    {"mean", 1, 1, 0, 0, alongRows<ggml_mean>},
    {"cumsum", 1, 1, 0, 0, alongRows<ggml_cumsum>},
    {"argmax", 1, 1, 0, 0, argmax},
    {"top_k", 1, 1, 1, 1, topK},
    {"argsort", 1, 1, 0, 1, argsort},
};

}  // namespace

std::span<const OpSpec> reductionOps() {
    return kOps;
}

}  // namespace mizuoto
