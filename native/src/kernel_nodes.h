#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ggml.h"

namespace mizuoto {

/** What a node computes: everything of a tensor that says so. */
struct NodeRecipe {
    ggml_op op = GGML_OP_NONE;
    std::array<int32_t, GGML_MAX_OP_PARAMS / sizeof(int32_t)> params{};
    std::array<ggml_tensor*, GGML_MAX_SRC> sources{};

    static NodeRecipe of(const ggml_tensor* tensor);
    void applyTo(ggml_tensor* tensor) const;
};

/**
 * A node that processors compute by a kernel of ours (kernels/), other devices by ggml's operations. The
 * nodes that only ggml's way needs reach no output where the kernel is used, and fall away.
 */
struct KernelNode {
    ggml_tensor* tensor = nullptr;
    NodeRecipe composed;
    NodeRecipe kernel;
};

/** A kernel of one source for the node of ggml's operation of that name; nothing where ggml's own is as good.
 */
std::optional<KernelNode> unaryKernelNode(ggml_context* context, ggml_tensor* node, ggml_unary_op op);
/** For `node` = x sigmoid(...), composed. */
KernelNode geluTanhKernelNode(ggml_context* context, ggml_tensor* node, ggml_tensor* x);
/**
 * For `node` = x + sin(alpha x)^2 / (beta + epsilon), composed. Nothing unless alpha and beta have a value
 * for each of x's last or second last dimension.
 */
std::optional<KernelNode> snakeKernelNode(ggml_context* context, ggml_tensor* node, ggml_tensor* x,
                                          ggml_tensor* alpha, ggml_tensor* beta);

/**
 * For ggml's matrix product `node`. Nothing unless one matrix of bfloat16, or one of float32 where there are
 * rows enough to fill vectors, is multiplied with float32 without gaps.
 */
std::optional<KernelNode> productKernelNode(ggml_context* context, ggml_tensor* node);

/** For an operation of ggml whose bits depend on the number of threads: processors copy `same`, which
 * computes it otherwise. */
KernelNode copyingNode(ggml_context* context, ggml_tensor* node, ggml_tensor* same);

/** On the thread that leads a call of the CPU backend: the node of a kernel of ours that was computed last,
 * once. */
const ggml_tensor* takeLastKernelNode();

/** The divisor's addend in `snake`, as upstream models have it. */
constexpr float kSnakeEpsilon = 1e-9f;

}  // namespace mizuoto
