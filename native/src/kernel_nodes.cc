#include "kernel_nodes.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace mizuoto {
namespace {

thread_local const ggml_tensor* lastKernelNode = nullptr;

/** The first thread of a call is the one that asked for it. */
void noteNode(const ggml_tensor* node, int thread) {
    if (thread == 0) lastKernelNode = node;
}

struct Range {
    int64_t first;
    int64_t end;
};

/** The part of `count` that is this thread's, in whole multiples of `grain`. */
Range shareOf(int64_t count, int64_t grain, int thread, int threads) {
    const int64_t pieces = (count + grain - 1) / grain;
    const int64_t each = (pieces + threads - 1) / threads;
    const int64_t first = std::min(count, each * thread * grain);
    return {first, std::min(count, first + each * grain)};
}

const float* floats(const ggml_tensor* tensor) {
    return static_cast<const float*>(tensor->data);
}

template <Kernels::Unary Kernels::*member>
void computeUnary(ggml_tensor* node, const ggml_tensor* x, int thread, int threads, void*) {
    noteNode(node, thread);
    const Range range = shareOf(ggml_nelements(x), 1024, thread, threads);
    if (range.first == range.end) return;
    (kernels().*member)(floats(x) + range.first, static_cast<float*>(node->data) + range.first,
                        static_cast<size_t>(range.end - range.first));
}

void computeSnake(ggml_tensor* node, const ggml_tensor* x, const ggml_tensor* alpha, const ggml_tensor* beta,
                  int thread, int threads, void*) {
    noteNode(node, thread);
    const Kernels& kernel = kernels();
    const int64_t width = x->ne[0];
    const Range rows = shareOf(ggml_nrows(x), 1, thread, threads);
    if (rows.first == rows.end) return;
    thread_local std::vector<float> scales;
    scales.resize(static_cast<size_t>(ggml_nelements(beta)));
    kernel.reciprocals(floats(beta), kSnakeEpsilon, scales.data(), scales.size());
    const bool channelsLast = alpha->ne[0] == width;
    for (int64_t row = rows.first; row < rows.end; ++row) {
        const float* in = floats(x) + row * width;
        float* out = static_cast<float*>(node->data) + row * width;
        if (channelsLast) {
            kernel.snakeChannels(in, floats(alpha), scales.data(), out, static_cast<size_t>(width));
        } else {
            const auto channel = static_cast<size_t>(row % x->ne[1]);
            kernel.snakeFrames(in, floats(alpha)[channel], scales[channel], out, static_cast<size_t>(width));
        }
    }
}

void computeBf16Product(ggml_tensor* node, const ggml_tensor* weights, const ggml_tensor* x, int thread,
                        int threads, void*) {
    noteNode(node, thread);
    const Range rows = shareOf(weights->ne[1], 16, thread, threads);
    if (rows.first == rows.end) return;
    const Kernels& kernel = kernels();
    const auto width = static_cast<size_t>(weights->ne[0]);
    const auto columns = static_cast<size_t>(ggml_nrows(x));
    const auto outputs = static_cast<size_t>(weights->ne[1]);
    const size_t stride = (width + 31) / 32 * 32;
    thread_local std::vector<float> prepared;
    prepared.resize(stride * columns);
    for (size_t column = 0; column < columns; ++column)
        kernel.bf16Prepare(floats(x) + column * width, prepared.data() + column * stride, width);
    const auto first = static_cast<size_t>(rows.first);
    kernel.bf16Product(static_cast<const unsigned short*>(weights->data) + first * width,
                       static_cast<size_t>(rows.end) - first, width, prepared.data(), stride, columns, width,
                       static_cast<float*>(node->data) + first, outputs);
}

void computeF32Product(ggml_tensor* node, const ggml_tensor* weights, const ggml_tensor* x, int thread,
                       int threads, void*) {
    noteNode(node, thread);
    const Kernels& kernel = kernels();
    const int64_t outputs = weights->ne[1];
    const int64_t rows = ggml_nrows(x);
    const auto grain = static_cast<int64_t>(kernel.panelRows);
    // Threads share rows where there are panels for all, and outputs otherwise.
    const bool byRows = rows >= 2 * threads * grain;
    const Range mine = shareOf(byRows ? rows : outputs, byRows ? grain : 8, thread, threads);
    if (mine.first == mine.end) return;
    const Range row = byRows ? mine : Range{0, rows};
    const Range output = byRows ? Range{0, outputs} : mine;
    thread_local std::vector<float> panel;
    panel.resize(kernel.panelValues);
    const auto width = static_cast<size_t>(weights->ne[0]);
    const size_t rowStride = weights->nb[1] / sizeof(float);
    kernel.f32Product(floats(weights) + static_cast<size_t>(output.first) * rowStride,
                      static_cast<size_t>(output.end - output.first), rowStride,
                      floats(x) + static_cast<size_t>(row.first) * width, width,
                      static_cast<size_t>(row.end - row.first), width,
                      static_cast<float*>(node->data) + row.first * outputs + output.first,
                      static_cast<size_t>(outputs), panel.data());
}

/** Fewer rows would leave most of a vector idle: reading the weights is all there is to do. */
constexpr int64_t kLeastRows = 12;

bool isF32Product(const ggml_tensor* node) {
    const ggml_tensor* weights = node->src[0];
    const ggml_tensor* x = node->src[1];
    return kernels().f32Product != nullptr && weights->type == GGML_TYPE_F32 && x->type == GGML_TYPE_F32 &&
           weights->nb[0] == sizeof(float) && weights->nb[1] % sizeof(float) == 0 && weights->ne[2] == 1 &&
           weights->ne[3] == 1 && ggml_is_contiguous(x) && ggml_is_contiguous(node) &&
           ggml_nrows(x) >= kLeastRows;
}

KernelNode withKernel(ggml_tensor* node, const ggml_tensor* custom) {
    return {node, NodeRecipe::of(node), NodeRecipe::of(custom)};
}

template <Kernels::Unary Kernels::*member>
KernelNode unaryNode(ggml_context* context, ggml_tensor* node, ggml_tensor* x) {
    return withKernel(node, ggml_map_custom1(context, x, computeUnary<member>, GGML_N_TASKS_MAX, nullptr));
}

/** One value for each of a dimension of x, and that dimension alone. */
bool perChannel(const ggml_tensor* values, const ggml_tensor* x) {
    if (values->type != GGML_TYPE_F32 || !ggml_is_contiguous(values)) return false;
    const int64_t count = ggml_nelements(values);
    return (values->ne[0] == x->ne[0] && count == x->ne[0]) ||
           (values->ne[0] == 1 && values->ne[1] == x->ne[1] && count == x->ne[1]);
}

}  // namespace

NodeRecipe NodeRecipe::of(const ggml_tensor* tensor) {
    NodeRecipe recipe;
    recipe.op = tensor->op;
    static_assert(sizeof(recipe.params) == sizeof(tensor->op_params));
    std::memcpy(recipe.params.data(), tensor->op_params, sizeof(tensor->op_params));
    std::copy(std::begin(tensor->src), std::end(tensor->src), recipe.sources.begin());
    return recipe;
}

void NodeRecipe::applyTo(ggml_tensor* tensor) const {
    tensor->op = op;
    std::memcpy(tensor->op_params, params.data(), sizeof(tensor->op_params));
    std::copy(sources.begin(), sources.end(), std::begin(tensor->src));
}

std::optional<KernelNode> unaryKernelNode(ggml_context* context, ggml_tensor* node, ggml_unary_op op) {
    ggml_tensor* x = node->src[0];
    if (x->type != GGML_TYPE_F32) return std::nullopt;
    switch (op) {
        case GGML_UNARY_OP_GELU_ERF:
            return unaryNode<&Kernels::geluErf>(context, node, x);
        case GGML_UNARY_OP_SIGMOID:
            return unaryNode<&Kernels::sigmoid>(context, node, x);
        case GGML_UNARY_OP_TANH:
            return unaryNode<&Kernels::tanh>(context, node, x);
        case GGML_UNARY_OP_ELU:
            return unaryNode<&Kernels::elu>(context, node, x);
        case GGML_UNARY_OP_EXP:
            return unaryNode<&Kernels::exp>(context, node, x);
        default:
            return std::nullopt;
    }
}

KernelNode geluTanhKernelNode(ggml_context* context, ggml_tensor* node, ggml_tensor* x) {
    return unaryNode<&Kernels::geluTanh>(context, node, x);
}

std::optional<KernelNode> productKernelNode(ggml_context* context, ggml_tensor* node) {
    ggml_tensor* weights = node->src[0];
    ggml_tensor* x = node->src[1];
    if (isF32Product(node)) {
        return withKernel(
            node, ggml_map_custom2(context, weights, x, computeF32Product, GGML_N_TASKS_MAX, nullptr));
    }
    const bool fits = weights->type == GGML_TYPE_BF16 && x->type == GGML_TYPE_F32 &&
                      ggml_is_contiguous(weights) && ggml_is_contiguous(x) && ggml_is_contiguous(node) &&
                      weights->ne[2] == 1 && weights->ne[3] == 1;
    if (!fits) return std::nullopt;
    return withKernel(node,
                      ggml_map_custom2(context, weights, x, computeBf16Product, GGML_N_TASKS_MAX, nullptr));
}

const ggml_tensor* takeLastKernelNode() {
    return std::exchange(lastKernelNode, nullptr);
}

KernelNode copyingNode(ggml_context* context, ggml_tensor* node, ggml_tensor* same) {
    return withKernel(node, ggml_cont(context, same));
}

std::optional<KernelNode> snakeKernelNode(ggml_context* context, ggml_tensor* node, ggml_tensor* x,
                                          ggml_tensor* alpha, ggml_tensor* beta) {
    if (!perChannel(alpha, x) || !perChannel(beta, x) || alpha->ne[0] != beta->ne[0]) return std::nullopt;
    return withKernel(node,
                      ggml_map_custom3(context, x, alpha, beta, computeSnake, GGML_N_TASKS_MAX, nullptr));
}

}  // namespace mizuoto
