#pragma once

#include <cstddef>

namespace mizuoto {

/**
 * Kernels for processors where ggml's own call a scalar function of the C library per value. Float32. Each
 * value is computed by the same instructions wherever it lies, so that results do not depend on how work is
 * split.
 *
 * Written once (kernel_bodies.h) and compiled for several instruction sets.
 */
struct Kernels {
    const char* instructions;

    using Unary = void (*)(const float* x, float* y, size_t count);
    /** x (1 + erf(x / sqrt 2)) / 2 */
    Unary geluErf;
    /** x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): GELU's tanh form, in other words. */
    Unary geluTanh;
    Unary sigmoid;
    Unary tanh;
    /** x above 0, exp(x) - 1 below. */
    Unary elu;
    Unary exp;

    /** y = 1 / (x + epsilon) */
    void (*reciprocals)(const float* x, float epsilon, float* y, size_t count);
    /** y = x + sin(alpha x)^2 scale for one row, each channel with its own alpha and scale. */
    void (*snakeChannels)(const float* x, const float* alpha, const float* scale, float* y, size_t channels);
    /** The same for one row that has one alpha and scale. */
    void (*snakeFrames)(const float* x, float alpha, float scale, float* y, size_t frames);

    /** Lays one column out for `bf16Product`; it takes as many values as `kBf16Block` times the blocks begun.
     */
    void (*bf16Prepare)(const float* x, float* prepared, size_t width);
    /**
     * y[column * yStride + row] = weights[row] . x[column], with prepared columns `stride` apart and rows of
     * bfloat16 `rowStride` apart.
     */
    void (*bf16Product)(const unsigned short* weights, size_t rows, size_t rowStride, const float* x,
                        size_t stride, size_t columns, size_t width, float* y, size_t yStride);

    /**
     * y[row * yStride + output] = weights[output] . x[row], rows of weights `rowStride` apart, of x `stride`
     * apart. `panel` is scratch memory of `panelValues`. Null where ggml's own is as good.
     */
    void (*f32Product)(const float* weights, size_t outputs, size_t rowStride, const float* x, size_t stride,
                       size_t rows, size_t width, float* y, size_t yStride, float* panel);
    size_t panelValues;
    /** Rows that are computed at once. */
    size_t panelRows;
};

/** The C library's sine, for arguments beyond what the kernels reduce exactly. */
float scalarSine(float x);

/** The fastest that this processor runs. */
const Kernels& kernels();
/** All that this processor runs, the plainest first: for tests. */
size_t kernelVariants(const Kernels** variants, size_t most);

}  // namespace mizuoto
