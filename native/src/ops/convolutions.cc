// Convolutions and their parts. Columns are float32 unless asked otherwise: ggml's own conv_1d rounds them to
// f16.
#include "op_table.h"

namespace mizuoto {
namespace {

struct Sweep {
    int stride;
    int padding;
    int dilation;
};

Sweep sweepOf(OpCall& call, size_t stride, size_t padding, size_t dilation) {
    return {static_cast<int>(call.integerOr(stride, 1, 1, 1 << 20)),
            static_cast<int>(call.integerOr(padding, 0, 0, 1 << 30)),
            static_cast<int>(call.integerOr(dilation, 1, 1, 1 << 20))};
}

int64_t outputSize(OpCall& call, int64_t input, int64_t kernel, const Sweep& sweep) {
    const int64_t reach = sweep.dilation * (kernel - 1) + 1;
    const int64_t padded = input + 2 * int64_t{sweep.padding};
    call.requireShape(reach <= padded, "the kernel reaches over " + std::to_string(reach) +
                                           " frames; there are " + std::to_string(padded) + " with padding.");
    return (padded - reach) / sweep.stride + 1;
}

void requireKernelType(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16});
    call.requireType(1, {GGML_TYPE_F32});
}

ggml_type columnType(OpCall& call, size_t position) {
    if (!call.has(position)) return GGML_TYPE_F32;
    const ggml_type type = dtypeFromCode(call.number(position));
    call.require(type == GGML_TYPE_F32 || type == GGML_TYPE_F16, "columns are f32 or f16.");
    return type;
}

/** kernel [out, in, width] (its shape alone counts), x [batch, in, frames] -> [batch, out frames, in *
 * width]. */
Value im2col(OpCall& call) {
    requireKernelType(call);
    call.requireRank(0, 3, 3);
    call.requireRank(1, 2, 3);
    const ggml_tensor* kernel = call.source(0).tensor;
    const ggml_tensor* x = call.source(1).tensor;
    call.requireShape(kernel->ne[1] == x->ne[1], "kernel and input must have as many channels.");
    const Sweep sweep = sweepOf(call, 0, 1, 2);
    const int64_t frames = outputSize(call, x->ne[0], kernel->ne[0], sweep);
    const ggml_type type = columnType(call, 3);
    checkShape(type, {x->ne[2], frames, kernel->ne[1] * kernel->ne[0]}, "The result of im2col");
    ggml_tensor* data = call.contiguous(1);
    ggml_tensor* columns = ggml_im2col(call.context(), call.recorder().aligned(call.source(0).tensor), data,
                                       sweep.stride, 0, sweep.padding, 0, sweep.dilation, 0, false, type);
    return {call.node(columns), call.source(1).rank};
}

/** kernel [out, in, height, width], x [batch, in, height, width] -> [batch, out height, out width,
 * in*height*width]. */
Value im2col2d(OpCall& call) {
    requireKernelType(call);
    call.requireRank(0, 4, 4);
    call.requireRank(1, 4, 4);
    const ggml_tensor* kernel = call.source(0).tensor;
    const ggml_tensor* x = call.source(1).tensor;
    call.requireShape(kernel->ne[2] == x->ne[2], "kernel and input must have as many channels.");
    const Sweep rows = sweepOf(call, 0, 2, 4);
    const Sweep columns = sweepOf(call, 1, 3, 5);
    const int64_t height = outputSize(call, x->ne[1], kernel->ne[1], rows);
    const int64_t width = outputSize(call, x->ne[0], kernel->ne[0], columns);
    const ggml_type type = columnType(call, 6);
    checkShape(type, {x->ne[3], height, width, kernel->ne[2] * kernel->ne[1] * kernel->ne[0]},
               "The result of im2col_2d");
    ggml_tensor* data = call.contiguous(1);
    ggml_tensor* result =
        ggml_im2col(call.context(), call.recorder().aligned(call.source(0).tensor), data, columns.stride,
                    rows.stride, columns.padding, rows.padding, columns.dilation, rows.dilation, true, type);
    return {call.node(result), 4};
}

/** columns [frames, channels * width] -> [channels, (frames - 1) * stride + width - 2 * padding], overlaps
 * added. */
Value col2im1d(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16});
    call.requireRank(0, 2, 2);
    const ggml_tensor* columns = call.source(0).tensor;
    const int64_t stride = call.integer(0, 1, 1 << 20);
    const int64_t channels = call.integer(1, 1, columns->ne[0]);
    const int64_t padding = call.integerOr(2, 0, 0, 1 << 30);
    call.requireShape(columns->ne[0] % channels == 0, "the columns do not divide into these channels.");
    const int64_t frames = (columns->ne[1] - 1) * stride + columns->ne[0] / channels - 2 * padding;
    call.requireShape(frames > 0, "the padding takes every frame.");
    checkShape(columns->type, {channels, frames}, "The result of col2im_1d");
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_col2im_1d(call.context(), a, static_cast<int>(stride), static_cast<int>(channels),
                                     static_cast<int>(padding))),
            2};
}

/** kernel [in, out, width], x [in, frames] -> [out, (frames - 1) * stride + width]. */
Value convTranspose1d(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    call.requireType(1, {GGML_TYPE_F32});
    call.requireRank(0, 3, 3);
    call.requireRank(1, 2, 2);
    const ggml_tensor* x = call.source(1).tensor;
    const ggml_tensor* kernel = call.source(0).tensor;
    call.requireShape(kernel->ne[2] == x->ne[1], "kernel and input must have as many channels.");
    const int64_t stride = call.integer(0, 1, 1 << 20);
    checkShape(GGML_TYPE_F32, {kernel->ne[1], (x->ne[0] - 1) * stride + kernel->ne[0]},
               "The result of conv_transpose_1d");
    ggml_tensor* a = call.contiguous(0);
    ggml_tensor* b = call.contiguous(1);
    return {call.node(ggml_conv_transpose_1d(call.context(), a, b, static_cast<int>(stride), 0, 1)), 2};
}

/** Depthwise: kernel [channels, 1, width], x [batch, channels, frames] -> [batch, channels, out frames]. */
Value conv1dDepthwise(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    call.requireType(1, {GGML_TYPE_F32});
    call.requireRank(0, 3, 3);
    call.requireRank(1, 2, 3);
    const ggml_tensor* kernel = call.source(0).tensor;
    const ggml_tensor* x = call.source(1).tensor;
    call.requireShape(kernel->ne[1] == 1, "a depthwise kernel has one input channel per output channel.");
    call.requireShape(kernel->ne[2] == x->ne[1], "kernel and input must have as many channels.");
    const Sweep sweep = sweepOf(call, 0, 1, 2);
    const int64_t frames = outputSize(call, x->ne[0], kernel->ne[0], sweep);
    checkShape(GGML_TYPE_F32, {x->ne[2], x->ne[1], frames}, "The result of conv_1d_dw");
    // As two-dimensional depthwise convolution of height 1, which backends compute directly.
    ggml_tensor* weights = call.contiguous(0);
    ggml_tensor* data = call.contiguous(1);
    weights = call.node(ggml_reshape_4d(call.context(), weights, weights->ne[0], 1, 1, weights->ne[2]));
    data = call.node(ggml_reshape_4d(call.context(), data, data->ne[0], 1, data->ne[1], data->ne[2]));
    ggml_tensor* result = call.node(ggml_conv_2d_dw_direct(call.context(), weights, data, sweep.stride, 1,
                                                           sweep.padding, 0, sweep.dilation, 1));
    return {call.node(ggml_reshape_3d(call.context(), result, result->ne[0], result->ne[2], result->ne[3])),
            call.source(1).rank};
}

/**
 * Depthwise, channels last: kernel [width, channels], x [batch, frames, channels] -> [batch, out frames,
 * channels]. Processors compute whole vectors of channels here, many times faster than one channel after the
 * other.
 */
Value conv1dDepthwiseLast(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireType(1, {GGML_TYPE_F32});
    call.requireRank(0, 2, 2);
    call.requireRank(1, 2, 3);
    const ggml_tensor* kernel = call.source(0).tensor;
    const ggml_tensor* x = call.source(1).tensor;
    call.requireShape(kernel->ne[0] == x->ne[0], "kernel and input must have as many channels.");
    const Sweep sweep = sweepOf(call, 0, 1, 2);
    const int64_t frames = outputSize(call, x->ne[1], kernel->ne[1], sweep);
    checkShape(GGML_TYPE_F32, {x->ne[2], frames, x->ne[0]}, "The result of conv_1d_dw_last");
    ggml_context* context = call.context();
    const int64_t channels = x->ne[0];
    ggml_tensor* weights = call.contiguous(0);
    ggml_tensor* data = call.contiguous(1);
    // ggml tells the layouts apart by strides, which a single frame has not: two frames, of which one is
    // padding.
    if (data->ne[1] == 1) data = call.node(ggml_pad_ext(context, data, 0, 0, 0, 1, 0, 0, 0, 0));
    // As an image of height 1 whose memory runs over channels first.
    weights = call.node(ggml_reshape_4d(context, weights, 1, channels, weights->ne[1], 1));
    weights = call.node(ggml_permute(context, weights, 2, 3, 0, 1));
    data = call.node(ggml_reshape_4d(context, data, channels, data->ne[1], 1, data->ne[2]));
    data = call.node(ggml_permute(context, data, 2, 0, 1, 3));
    ggml_tensor* result = call.node(
        ggml_conv_2d_dw_direct(context, weights, data, sweep.stride, 1, sweep.padding, 0, sweep.dilation, 1));
    result = call.node(ggml_permute(context, result, 1, 2, 0, 3));
    result = call.node(ggml_reshape_3d(context, result, channels, result->ne[1], result->ne[3]));
    if (result->ne[1] != frames) {
        result = call.node(
            ggml_view_3d(context, result, channels, frames, result->ne[2], result->nb[1], result->nb[2], 0));
    }
    return {result, call.source(1).rank};
}

/** Depthwise: kernel [channels, 1, height, width], x [batch, channels, height, width]. */
Value conv2dDepthwise(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_F16});
    call.requireType(1, {GGML_TYPE_F32});
    call.requireRank(0, 4, 4);
    call.requireRank(1, 4, 4);
    const ggml_tensor* kernel = call.source(0).tensor;
    const ggml_tensor* x = call.source(1).tensor;
    call.requireShape(kernel->ne[2] == 1 && kernel->ne[3] == x->ne[2],
                      "a depthwise kernel has one input channel per output channel.");
    const Sweep rows = sweepOf(call, 0, 2, 4);
    const Sweep columns = sweepOf(call, 1, 3, 5);
    checkShape(GGML_TYPE_F32,
               {x->ne[3], x->ne[2], outputSize(call, x->ne[1], kernel->ne[1], rows),
                outputSize(call, x->ne[0], kernel->ne[0], columns)},
               "The result of conv_2d_dw");
    ggml_tensor* weights = call.contiguous(0);
    ggml_tensor* data = call.contiguous(1);
    return {call.node(ggml_conv_2d_dw_direct(call.context(), weights, data, columns.stride, rows.stride,
                                             columns.padding, rows.padding, columns.dilation, rows.dilation)),
            4};
}

/** Maximum (0) or average (1; padding is not counted) over windows of the last dimension. */
Value pool1d(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    call.requireRank(0, 1, kMaxRank);
    const int64_t mode = call.integer(0, 0, 1);
    const int64_t width = call.integer(1, 1, 1 << 30);
    const int64_t stride = call.integerOr(2, width, 1, 1 << 30);
    const int64_t padding = call.integerOr(3, 0, 0, width / 2);
    const ggml_tensor* x = call.source(0).tensor;
    call.requireShape(width <= x->ne[0] + 2 * padding, "the window is wider than the padded input.");
    ggml_tensor* a = call.contiguous(0);
    return {
        call.node(ggml_pool_1d(call.context(), a, mode == 0 ? GGML_OP_POOL_MAX : GGML_OP_POOL_AVG,
                               static_cast<int>(width), static_cast<int>(stride), static_cast<int>(padding))),
        call.source(0).rank};
}

constexpr OpSpec kOps[] = {
    {"im2col", 2, 2, 0, 4, im2col},
    {"im2col_2d", 2, 2, 0, 7, im2col2d},
    {"col2im_1d", 1, 1, 2, 3, col2im1d},
    {"conv_transpose_1d", 2, 2, 1, 1, convTranspose1d},
    {"conv_1d_dw", 2, 2, 0, 3, conv1dDepthwise},
    {"conv_1d_dw_last", 2, 2, 0, 3, conv1dDepthwiseLast},
    {"conv_2d_dw", 2, 2, 0, 6, conv2dDepthwise},
    {"pool_1d", 1, 1, 2, 4, pool1d},
};

}  // namespace

std::span<const OpSpec> convolutionOps() {
    return kOps;
}

}  // namespace mizuoto
