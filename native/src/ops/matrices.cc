// Matrix products and table look-ups.
#include <algorithm>

#include "op_table.h"

namespace mizuoto {
namespace {

bool hasProduct(ggml_type type) {
    return ggml_is_quantized(type) || type == GGML_TYPE_F32 || type == GGML_TYPE_F16 ||
           type == GGML_TYPE_BF16;
}

/**
 * Rows may lie apart, and dimensions in any order; but where rows follow each other, Vulkan takes the next
 * matrix to begin where the last one ends.
 */
bool hasGapsBetweenMatrices(const ggml_tensor* tensor) {
    if (tensor->nb[1] != ggml_row_size(tensor->type, tensor->ne[0])) return false;
    const auto rows = static_cast<size_t>(tensor->ne[1]);
    const auto matrices = static_cast<size_t>(tensor->ne[2]);
    return (tensor->ne[2] > 1 && tensor->nb[2] != rows * tensor->nb[1]) ||
           (tensor->ne[3] > 1 && tensor->nb[3] != matrices * tensor->nb[2]);
}

/** a [..., n, k], b [..., m, k] -> [..., m, n] = b @ a^T: the order of torch.nn.functional.linear's weight,
 * input. */
Value mulMat(OpCall& call) {
    const Value& left = call.source(0);
    const Value& right = call.source(1);
    ggml_tensor* a = left.tensor;
    ggml_tensor* b = right.tensor;
    if (!hasProduct(a->type)) call.fail("UnsupportedDType", "the first source has no product of its type.");
    const bool sameHalf = a->type == b->type && (a->type == GGML_TYPE_F16 || a->type == GGML_TYPE_BF16);
    if (b->type != GGML_TYPE_F32 && !sameHalf) {
        call.fail("UnsupportedDType", "the second source must be f32, or half precision like the first.");
    }
    call.requireShape(a->ne[0] == b->ne[0], "the last dimensions must be equal.");
    call.requireShape(b->ne[2] % a->ne[2] == 0 && b->ne[3] % a->ne[3] == 0,
                      "leading dimensions of the second source must be multiples of the first's.");
    const int64_t precision = call.integerOr(0, 0, 0, 1);
    a = hasGapsBetweenMatrices(a) ? call.contiguous(0) : call.contiguousRows(0);
    b = hasGapsBetweenMatrices(b) ? call.contiguous(1) : call.contiguousRows(1);
    // Rows that lie closer than their own length (overlapping views) are not a matrix to ggml.
    if (ggml_is_transposed(a)) a = call.node(ggml_cont(call.context(), a));
    ggml_tensor* product = ggml_mul_mat(call.context(), a, b);
    if (precision == 1) ggml_mul_mat_set_prec(product, GGML_PREC_F32);
    const Value value{call.node(product), std::max({left.rank, right.rank, 1})};
    call.recorder().kernel(productKernelNode(call.context(), value.tensor));
    return value;
}

/** table [rows, width], ids [...] -> [..., width]. With more dimensions, the table is batched like the ids.
 */
Value getRows(OpCall& call) {
    const Value& table = call.source(0);
    const Value& ids = call.source(1);
    const bool known = hasProduct(table.tensor->type) || table.tensor->type == GGML_TYPE_I32;
    if (!known) call.fail("UnsupportedDType", "rows of this type cannot be looked up.");
    call.requireType(1, {GGML_TYPE_I32});
    call.requireRank(0, 2, kMaxRank);
    ggml_tensor* a = call.contiguousRows(0);
    ggml_tensor* indices = call.contiguous(1);
    call.recorder().requireIndices(indices, a->ne[1], "get_rows");
    if (table.rank == 2) {
        call.requireRank(1, 0, kMaxRank - 1);
        Shape shape = ids.shape();
        shape.push_back(a->ne[0]);
        checkShape(GGML_TYPE_F32, shape, "The result of get_rows");
        const auto ne = toNe(shape);
        ggml_tensor* flat = call.node(ggml_reshape_1d(call.context(), indices, ggml_nelements(indices)));
        ggml_tensor* rows = call.node(ggml_get_rows(call.context(), a, flat));
        ggml_tensor* shaped = call.node(ggml_reshape_4d(call.context(), rows, ne[0], ne[1], ne[2], ne[3]));
        return {shaped, static_cast<int>(shape.size())};
    }
    call.requireRank(1, table.rank - 1, table.rank - 1);
    call.requireShape(a->ne[2] == indices->ne[1] && a->ne[3] == indices->ne[2],
                      "the leading dimensions of table and ids must be equal.");
    return {call.node(ggml_get_rows(call.context(), a, indices)), table.rank};
}

constexpr OpSpec kOps[] = {
    {"mul_mat", 2, 2, 0, 1, mulMat},
    {"get_rows", 2, 2, 0, 0, getRows},
};

}  // namespace

std::span<const OpSpec> matrixOps() {
    return kOps;
}

}  // namespace mizuoto
