// Bodies of the kernels, included once per instruction set by a file that defines MIZUOTO_KERNELS.
//
// Nothing of the C++ library is used here: the linker keeps one copy of an inline function, and it must not
// be one that was compiled for a newer processor. Polynomials are least-maximum fits in double precision.
#include "kernels.h"
#include "lanes.h"

#if defined(_MSC_VER)
#define MIZUOTO_RESTRICT __restrict
#else
#define MIZUOTO_RESTRICT __restrict__
#endif

namespace mizuoto {
namespace {

union Bits {
    float number;
    int word;
};

inline float fromBits(int word) {
    Bits bits;
    bits.word = word;
    return bits.number;
}
inline int toBits(float number) {
    Bits bits;
    bits.number = number;
    return bits.word;
}
inline float magnitude(float x) {
    return fromBits(toBits(x) & 0x7fffffff);
}
inline float withSignOf(float size, float sign) {
    return fromBits((toBits(size) & 0x7fffffff) | (toBits(sign) & static_cast<int>(0x80000000u)));
}

/** Adding and taking this away rounds to a whole number (|x| < 2^22). */
constexpr float kRounder = 12582912.0f;

/** e^x for x in [-87.3, 88.3]; relative error below 2e-7. */
inline float expInRange(float x) {
    const float shifted = x * 1.442695041f + kRounder;
    const float n = shifted - kRounder;
    const float r = (x - n * 0.693115234375f) - n * 3.1946184945e-05f;
    float p = 0.0013956062f;
    p = p * r + 0.00837513525f;
    p = p * r + 0.041666083f;
    p = p * r + 0.166664153f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    // The low bits of `shifted` are n itself.
    return fromBits(toBits(p) + (toBits(shifted) << 23));
}

inline float clampExponent(float x) {
    const float low = x < -87.3f ? -87.3f : x;
    return low > 88.3f ? 88.3f : low;
}

/** Of half the argument, squared: reaches 0 and infinity by itself. */
inline float expOf(float x) {
    const float half = expInRange(clampExponent(0.5f * x));
    return x != x ? x : half * half;
}

inline float erfOf(float x) {
    const float a = magnitude(x);
    const float s = x * x;
    float p = 7.8891193e-05f;
    p = p * s - 0.000802084105f;
    p = p * s + 0.00518953521f;
    p = p * s - 0.0268544443f;
    p = p * s + 0.112836003f;
    p = p * s - 0.37612626f;
    p = p * s + 1.12837911f;
    const float near = a * p;
    const float t = a > 4.0f ? 4.0f : a;
    float q = 1.69743345e-07f;
    q = q * t + 1.92627704e-05f;
    q = q * t - 0.000426505605f;
    q = q * t + 0.00415377691f;
    q = q * t - 0.0251017623f;
    q = q * t + 0.108278491f;
    q = q * t + 0.633332849f;
    q = q * t + 1.12952733f;
    q = q * t - 0.000178124275f;
    const float far = 1.0f - expInRange(-q);
    return withSignOf(a < 1.0f ? near : far, x);
}

inline float geluErfOf(float x) {
    const float y = 0.5f * x * (1.0f + erfOf(x * 0.7071067812f));
    return x != x ? x : y;
}

inline float sigmoidOf(float x) {
    const float y = 1.0f / (1.0f + expInRange(clampExponent(-x)));
    return x != x ? x : (x < -88.3f ? 0.0f : y);
}

inline float geluTanhOf(float x) {
    return x * sigmoidOf(1.595769122f * x * (1.0f + 0.044715f * x * x));
}

inline float tanhOf(float x) {
    const float a = magnitude(x);
    const float s = x * x;
    float p = -0.00548156677f;
    p = p * s + 0.0204293262f;
    p = p * s - 0.0536705405f;
    p = p * s + 0.133304954f;
    p = p * s - 0.33333233f;
    const float near = a + a * (s * p);
    const float e = expInRange(a > 40.0f ? -80.0f : -2.0f * a);
    const float far = (1.0f - e) / (1.0f + e);
    const float y = withSignOf(a < 0.65f ? near : far, x);
    return x != x ? x : y;
}

inline float eluOf(float x) {
    const float below = x > 0.0f ? 0.0f : x;
    float p = 0.000159800184f;
    p = p * below + 0.00136341539f;
    p = p * below + 0.00832483452f;
    p = p * below + 0.0416652001f;
    p = p * below + 0.166666552f;
    p = p * below + 0.5f;
    const float near = below + below * (below * p);
    const float far = expInRange(clampExponent(below)) - 1.0f;
    const float y = x > 0.0f ? x : (below > -0.5f ? near : far);
    return x != x ? x : y;
}

/** Beyond it, x - n pi loses too much: see `snake`. */
constexpr float kSineLimit = 6000.0f;

/** sin(x)^2, which repeats every pi; |x| up to `kSineLimit`, error below 3e-7. */
inline float sineSquaredOf(float x) {
    const float n = (x * 0.3183098862f + kRounder) - kRounder;
    const float r = ((x - n * 3.140625f) - n * 0.0009675025939941406f) - n * 1.5099578831723193e-07f;
    const float s = r * r;
    float p = -2.38886422e-08f;
    p = p * s + 2.7525241e-06f;
    p = p * s - 0.000198408612f;
    p = p * s + 0.00833333097f;
    p = p * s - 0.166666672f;
    const float sine = r + r * (s * p);
    return sine * sine;
}

/** Values worked on at once; the last ones of a row are padded to it. */
constexpr size_t kBlock = 64;

template <float (*function)(float)>
inline void block(const float* MIZUOTO_RESTRICT x, float* MIZUOTO_RESTRICT y) {
    for (size_t i = 0; i < kBlock; ++i) y[i] = function(x[i]);
}

template <float (*function)(float)>
void unary(const float* x, float* y, size_t count) {
    size_t at = 0;
    for (; at + kBlock <= count; at += kBlock) block<function>(x + at, y + at);
    if (at == count) return;
    float in[kBlock] = {};
    float out[kBlock];
    for (size_t i = at; i < count; ++i) in[i - at] = x[i];
    block<function>(in, out);
    for (size_t i = at; i < count; ++i) y[i] = out[i - at];
}

void reciprocals(const float* MIZUOTO_RESTRICT x, float epsilon, float* MIZUOTO_RESTRICT y, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] = 1.0f / (x[i] + epsilon);
}

inline void snakeBlock(const float* MIZUOTO_RESTRICT x, const float* MIZUOTO_RESTRICT alpha,
                       const float* MIZUOTO_RESTRICT scale, float* MIZUOTO_RESTRICT y) {
    // As integers, which compare like the numbers; NaN is above all.
    int largest = 0;
    for (size_t i = 0; i < kBlock; ++i) {
        const int size = toBits(alpha[i] * x[i]) & 0x7fffffff;
        largest = size > largest ? size : largest;
    }
    if (largest <= toBits(kSineLimit)) {
        for (size_t i = 0; i < kBlock; ++i) y[i] = x[i] + sineSquaredOf(alpha[i] * x[i]) * scale[i];
        return;
    }
    for (size_t i = 0; i < kBlock; ++i) {
        const float argument = alpha[i] * x[i];
        const float sine = scalarSine(argument);
        y[i] = x[i] + (magnitude(argument) <= kSineLimit ? sineSquaredOf(argument) : sine * sine) * scale[i];
    }
}

void snakeChannels(const float* x, const float* alpha, const float* scale, float* y, size_t channels) {
    size_t at = 0;
    for (; at + kBlock <= channels; at += kBlock) snakeBlock(x + at, alpha + at, scale + at, y + at);
    if (at == channels) return;
    float in[kBlock] = {};
    float alphas[kBlock] = {};
    float scales[kBlock] = {};
    float out[kBlock];
    for (size_t i = at; i < channels; ++i) {
        in[i - at] = x[i];
        alphas[i - at] = alpha[i];
        scales[i - at] = scale[i];
    }
    snakeBlock(in, alphas, scales, out);
    for (size_t i = at; i < channels; ++i) y[i] = out[i - at];
}

void snakeFrames(const float* x, float alpha, float scale, float* y, size_t frames) {
    float alphas[kBlock];
    float scales[kBlock];
    for (size_t i = 0; i < kBlock; ++i) {
        alphas[i] = alpha;
        scales[i] = scale;
    }
    size_t at = 0;
    for (; at + kBlock <= frames; at += kBlock) snakeBlock(x + at, alphas, scales, y + at);
    if (at == frames) return;
    float in[kBlock] = {};
    float out[kBlock];
    for (size_t i = at; i < frames; ++i) in[i - at] = x[i];
    snakeBlock(in, alphas, scales, out);
    for (size_t i = at; i < frames; ++i) y[i] = out[i - at];
}

#include "bf16_bodies.h"
#include "f32_bodies.h"

}  // namespace

extern const Kernels MIZUOTO_KERNELS;
const Kernels MIZUOTO_KERNELS = {
    MIZUOTO_INSTRUCTIONS, unary<geluErfOf>, unary<geluTanhOf>,   unary<sigmoidOf>, unary<tanhOf>,
    unary<eluOf>,         unary<expOf>,     reciprocals,         snakeChannels,    snakeFrames,
    bf16Prepare,          bf16Product,      MIZUOTO_F32_PRODUCT, kPanelValues,     kPanelRows,
};

}  // namespace mizuoto
