// Softmax, rotary positions and fused attention.
#include <array>
#include <cstring>

#include "op_table.h"

namespace mizuoto {
namespace {

Value softMax(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 1, kMaxRank);
    const float scale = call.number(0, 1);
    const float maxBias = call.number(1, 0);
    call.require(maxBias >= 0, "the ALiBi bias cannot be negative.");
    ggml_tensor* a = call.contiguous(0);
    ggml_tensor* mask = nullptr;
    if (call.sourceCount() == 2) {
        call.requireType(1, {GGML_TYPE_F32, GGML_TYPE_F16});
        mask = call.contiguous(1);
        call.requireShape(mask->ne[0] == a->ne[0] && mask->ne[1] >= a->ne[1],
                          "the mask must be as wide as the scores and at least as high.");
        call.requireShape(a->ne[2] % mask->ne[2] == 0 && a->ne[3] % mask->ne[3] == 0,
                          "leading dimensions of the scores must be multiples of the mask's.");
    }
    call.require(mask != nullptr || maxBias == 0, "ALiBi needs a mask.");
    return {call.node(ggml_soft_max_ext(call.context(), a, mask, scale, maxBias)), call.source(0).rank};
}

struct Rope {
    ggml_tensor* a;
    ggml_tensor* positions;
    ggml_tensor* factors = nullptr;
    int dims;
    int mode;
    int context;
    float base;
    float scale;
    float extension;
    float attention;
    float betaFast;
    float betaSlow;
};

/** Sources: values [batch, tokens, heads, width], positions, optional frequency factors; parameters from
 * `dims` on. */
Rope ropeOf(OpCall& call, int64_t positionsPerToken) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    call.requireRank(0, 3, 4);
    call.requireType(1, {GGML_TYPE_I32});
    call.requireRank(1, 1, 1);
    Rope rope{};
    const ggml_tensor* values = call.source(0).tensor;
    call.requireShape(call.source(1).tensor->ne[0] == values->ne[2] * positionsPerToken,
                      "there must be " + std::to_string(positionsPerToken) + " position(s) per token.");
    rope.dims = static_cast<int>(call.integer(0, 2, values->ne[0]));
    call.require(rope.dims % 2 == 0, "rotated dimensions come in pairs.");
    rope.mode = static_cast<int>(call.integer(1, 0, GGML_ROPE_TYPE_IMROPE));
    rope.context = static_cast<int>(call.integerOr(2, 0, 0, INT32_MAX));
    rope.base = call.number(3, 10000);
    rope.scale = call.number(4, 1);
    rope.extension = call.number(5, 0);
    rope.attention = call.number(6, 1);
    rope.betaFast = call.number(7, 32);
    rope.betaSlow = call.number(8, 1);
    call.require(rope.base > 0 && rope.scale > 0, "frequency base and scale must be positive.");
    call.require(rope.extension == 0 || rope.context > 0, "YaRN needs the original context length.");
    if (call.sourceCount() == 3) {
        call.requireType(2, {GGML_TYPE_F32});
        rope.factors = call.contiguous(2);
        call.requireShape(rope.factors->ne[0] >= rope.dims / 2,
                          "there must be one frequency factor per pair.");
    }
    rope.a = call.contiguousRows(0);
    rope.positions = call.contiguous(1);
    return rope;
}

Value rope(OpCall& call) {
    const Rope r = ropeOf(call, 1);
    call.require(r.mode == GGML_ROPE_TYPE_NORMAL || r.mode == GGML_ROPE_TYPE_NEOX,
                 "the mode is 0 (neighbouring pairs) or 2 (halves); others are rope_multi's.");
    return {call.node(ggml_rope_ext(call.context(), r.a, r.positions, r.factors, r.dims, r.mode, r.context,
                                    r.base, r.scale, r.extension, r.attention, r.betaFast, r.betaSlow)),
            call.source(0).rank};
}

Value ropeMulti(OpCall& call) {
    const Rope r = ropeOf(call, GGML_MROPE_SECTIONS);
    const bool vision = r.mode == GGML_ROPE_TYPE_VISION;
    call.require(vision || r.mode == GGML_ROPE_TYPE_MROPE || r.mode == GGML_ROPE_TYPE_IMROPE,
                 "the mode is 8 (mrope), 24 (vision) or 40 (interleaved).");
    std::array<int, GGML_MROPE_SECTIONS> sections{};
    int64_t sum = 0;
    for (size_t i = 0; i < sections.size(); ++i) {
        sections[i] = static_cast<int>(call.integer(9 + i, 0, INT32_MAX / 8));
        sum += sections[i];
    }
    call.require(sections[0] > 0 || sections[1] > 0 || sections[2] > 0,
                 "one of the first three sections is needed.");
    call.require(sum <= r.a->ne[0], "the sections are longer than a row.");
    call.require(!vision || r.dims == r.a->ne[0] / 2, "vision positions rotate half of a row.");
    return {call.node(ggml_rope_multi(call.context(), r.a, r.positions, r.factors, r.dims, sections.data(),
                                      r.mode, r.context, r.base, r.scale, r.extension, r.attention,
                                      r.betaFast, r.betaSlow)),
            call.source(0).rank};
}

using Mask = ggml_tensor* (*)(ggml_context*, ggml_tensor*, int);

template <Mask build>
Value diagonalMask(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 2, kMaxRank);
    const auto past = static_cast<int>(call.integer(0, 0, INT32_MAX / 2));
    ggml_tensor* a = call.contiguous(0);
    return {call.node(build(call.context(), a, past)), call.source(0).rank};
}

/**
 * ggml's processors split the keys of a single query among their threads, from this many on: the order of
 * sums, hence the last bits, would depend on how many threads there are.
 */
constexpr int64_t kSplitKeys = 512;

bool splitsKeys(const ggml_tensor* q, const ggml_tensor* k) {
    return q->ne[1] == 1 && q->ne[3] == 1 && k->ne[1] >= kSplitKeys &&
           (k->type == GGML_TYPE_F32 || k->type == GGML_TYPE_F16);
}

/** [heads, rows, width] as [2, heads / 2, rows, width]. */
ggml_tensor* asTwoBatches(OpCall& call, ggml_tensor* x) {
    const auto half = static_cast<size_t>(x->ne[2] / 2);
    return call.node(ggml_view_4d(call.context(), x, x->ne[0], x->ne[1], x->ne[2] / 2, 2, x->nb[1], x->nb[2],
                                  half * x->nb[2], 0));
}

/**
 * The attention of one query that `node` is, in a form in which ggml gives a thread whole heads: half of the
 * heads as a second batch; where they cannot be halved, the query twice. Values like `node`'s.
 */
ggml_tensor* withWholeHeads(OpCall& call, const ggml_tensor* node) {
    ggml_context* context = call.context();
    ggml_tensor* const q = node->src[0];
    ggml_tensor* const k = node->src[1];
    ggml_tensor* const v = node->src[2];
    ggml_tensor* const mask = node->src[3];
    std::array<float, 3> params;
    std::memcpy(params.data(), node->op_params, sizeof(params));
    const float maxBias = params[1];
    const auto attend = [&](ggml_tensor* queries, ggml_tensor* keys, ggml_tensor* values,
                            ggml_tensor* masks) {
        ggml_tensor* result =
            ggml_flash_attn_ext(context, queries, keys, values, masks, params[0], maxBias, params[2]);
        ggml_flash_attn_ext_set_prec(result, ggml_flash_attn_ext_get_prec(node));
        return call.node(result);
    };
    const int64_t half = q->ne[2] / 2;
    // ALiBi's slopes count heads from the first of a batch.
    const bool halves = k->ne[2] % 2 == 0 && maxBias == 0 && (mask == nullptr || half % mask->ne[2] == 0);
    if (halves) {
        ggml_tensor* result =
            attend(asTwoBatches(call, q), asTwoBatches(call, k), asTwoBatches(call, v), mask);
        return call.node(ggml_reshape_4d(context, result, node->ne[0], node->ne[1], 1, 1));
    }
    ggml_tensor* masks = mask;
    if (mask != nullptr && mask->ne[1] == 1) {
        masks = call.node(ggml_repeat_4d(context, mask, mask->ne[0], 2, mask->ne[2], mask->ne[3]));
    }
    ggml_tensor* result = attend(call.node(ggml_concat(context, q, q, 1)), k, v, masks);
    return call.node(ggml_view_4d(context, result, node->ne[0], node->ne[1], 1, 1, result->nb[1],
                                  result->nb[2], result->nb[3], 0));
}

/** q [batch, heads, tokens, width], k and v [batch, kv heads, kv, width], mask [.., tokens, kv] f16. */
Value flashAttention(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireType(1, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0});
    call.requireType(2, {call.source(1).tensor->type});
    for (size_t i = 0; i < 3; ++i) call.requireRank(i, 3, 4);
    ggml_tensor* q = call.contiguousRows(0);
    ggml_tensor* k = call.contiguousRows(1);
    ggml_tensor* v = call.contiguousRows(2);
    call.requireShape(q->ne[0] == k->ne[0], "queries and keys must be equally wide.");
    call.requireShape(k->ne[1] == v->ne[1] && k->ne[2] == v->ne[2], "there must be one value per key.");
    call.requireShape(q->ne[2] % k->ne[2] == 0, "query heads must be a multiple of key heads.");
    call.requireShape(q->ne[3] == k->ne[3] && q->ne[3] == v->ne[3], "the batches must be equal.");
    const float scale = call.number(0);
    const float maxBias = call.number(1, 0);
    const float softcap = call.number(2, 0);
    const bool precise = call.flag(3);
    call.require(maxBias >= 0 && softcap >= 0, "bias and soft cap cannot be negative.");
    ggml_tensor* mask = nullptr;
    if (call.sourceCount() == 4) {
        call.requireType(3, {GGML_TYPE_F16});
        mask = call.contiguous(3);
        call.requireShape(mask->ne[0] == k->ne[1] && mask->ne[1] >= q->ne[1],
                          "the mask must be as wide as there are keys and as high as there are tokens.");
        call.requireShape(q->ne[2] % mask->ne[2] == 0 && q->ne[3] % mask->ne[3] == 0,
                          "heads and batch must be multiples of the mask's.");
    }
    call.require(mask != nullptr || maxBias == 0, "ALiBi needs a mask.");
    ggml_tensor* result = ggml_flash_attn_ext(call.context(), q, k, v, mask, scale, maxBias, softcap);
    if (precise) ggml_flash_attn_ext_set_prec(result, GGML_PREC_F32);
    if (splitsKeys(q, k)) {
        call.recorder().kernel(copyingNode(call.context(), result, withWholeHeads(call, result)));
    }
    return {call.node(result), call.source(0).rank};
}

constexpr OpSpec kOps[] = {
    {"soft_max", 1, 2, 0, 2, softMax},
    {"rope", 2, 3, 2, 9, rope},
    {"rope_multi", 2, 3, 13, 13, ropeMulti},
    {"diag_mask_inf", 1, 1, 1, 1, diagonalMask<ggml_diag_mask_inf>},
    {"diag_mask_zero", 1, 1, 1, 1, diagonalMask<ggml_diag_mask_zero>},
    {"flash_attn_ext", 3, 4, 1, 4, flashAttention},
};

}  // namespace

std::span<const OpSpec> attentionOps() {
    return kOps;
}

}  // namespace mizuoto
