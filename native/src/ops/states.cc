// The only operations that write into existing tensors: into states, and views of them.
#include "casts.h"
#include "op_table.h"

namespace mizuoto {
namespace {

/** Copies values into a state or a view of one; the handle stands for the written place. */
Value cpy(OpCall& call) {
    const Value& target = call.source(1);
    ggml_tensor* a = call.source(0).tensor;
    ggml_tensor* b = target.tensor;
    call.require(call.recorder().isState(b), "only a state or a view of one can be written.");
    call.requireShape(ggml_nelements(a) == ggml_nelements(b), "both must hold as many elements.");
    if (!canCast(a->type, b->type))
        call.fail("UnsupportedDType", "values cannot be cast to the state's type.");
    call.require(!ggml_is_quantized(b->type) || ggml_is_contiguous(b), "a quantised state is written whole.");
    if (ggml_is_quantized(a->type) || ggml_is_quantized(b->type)) a = call.contiguous(0);
    return {call.node(ggml_cpy(call.context(), a, b)), target.rank};
}

/** target [..., rows, width] of a state, values [..., n, width] f32, ids [n] -> target with these rows
 * replaced. */
Value setRows(OpCall& call) {
    call.requireType(1, {GGML_TYPE_F32});
    call.requireType(2, {GGML_TYPE_I32, GGML_TYPE_I64});
    const Value& target = call.source(0);
    ggml_tensor* a = target.tensor;
    call.require(call.recorder().isState(a), "only a state or a view of one can be written.");
    call.require(ggml_is_contiguous_rows(a), "rows of the target must be contiguous.");
    if (!canCast(GGML_TYPE_F32, a->type) || a->type == GGML_TYPE_I32) {
        call.fail("UnsupportedDType", "values cannot be cast to the state's type.");
    }
    ggml_tensor* values = call.contiguousRows(1);
    ggml_tensor* ids = call.contiguous(2);
    call.requireShape(a->ne[0] == values->ne[0] && a->ne[2] == values->ne[2] && a->ne[3] == values->ne[3],
                      "target and values must agree in all but the rows.");
    call.requireShape(values->ne[1] == ids->ne[0], "there must be one id per row of values.");
    call.requireShape(values->ne[2] % ids->ne[1] == 0 && values->ne[3] % ids->ne[2] == 0 && ids->ne[3] == 1,
                      "leading dimensions of the values must be multiples of the ids'.");
    call.recorder().requireIndices(ids, a->ne[1], "set_rows");
    return {call.node(ggml_set_rows(call.context(), a, values, ids)), target.rank};
}

constexpr OpSpec kOps[] = {
    {"cpy", 2, 2, 0, 0, cpy},
    {"set_rows", 3, 3, 0, 0, setRows},
};

}  // namespace

std::span<const OpSpec> stateOps() {
    return kOps;
}

}  // namespace mizuoto
