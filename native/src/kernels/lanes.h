// Numbers that fill a vector register, for kernels whose loops compilers do not turn into vectors by
// themselves.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mizuoto {
namespace {

#if defined(__AVX512F__)
constexpr size_t kLanes = 16;
#elif defined(__AVX2__)
constexpr size_t kLanes = 8;
#else
constexpr size_t kLanes = 4;
#endif

#if defined(__GNUC__) || defined(__clang__)
#define MIZUOTO_PREFETCH(address) __builtin_prefetch(address)
// Vectors wider than the instruction set's are passed in memory; nothing here is called from another file.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef unsigned Words __attribute__((vector_size(4 * kLanes)));
#else
#define MIZUOTO_PREFETCH(address)
struct Words {
    unsigned lane[kLanes];
};
struct Floats {
    float lane[kLanes];
    Floats& operator+=(const Floats& other) {
        for (size_t i = 0; i < kLanes; ++i) lane[i] += other.lane[i];
        return *this;
    }
};
inline Floats operator*(const Floats& a, const Floats& b) {
    Floats product;
    for (size_t i = 0; i < kLanes; ++i) product.lane[i] = a.lane[i] * b.lane[i];
    return product;
}
inline Floats operator*(const Floats& a, float b) {
    Floats product;
    for (size_t i = 0; i < kLanes; ++i) product.lane[i] = a.lane[i] * b;
    return product;
}
inline Words operator<<(const Words& words, int bits) {
    Words shifted;
    for (size_t i = 0; i < kLanes; ++i) shifted.lane[i] = words.lane[i] << bits;
    return shifted;
}
inline Words operator&(const Words& words, unsigned mask) {
    Words masked;
    for (size_t i = 0; i < kLanes; ++i) masked.lane[i] = words.lane[i] & mask;
    return masked;
}
#endif

inline Floats asFloats(const Words& words) {
    Floats floats;
    std::memcpy(&floats, &words, sizeof(floats));
    return floats;
}

inline Floats loadFloats(const float* from) {
    Floats floats;
    std::memcpy(&floats, from, sizeof(floats));
    return floats;
}

inline Words loadWords(const void* from) {
    Words words;
    std::memcpy(&words, from, sizeof(words));
    return words;
}

/** In a fixed order. */
inline float sumOf(const Floats& floats) {
    float lane[kLanes];
    std::memcpy(lane, &floats, sizeof(lane));
    if constexpr (kLanes == 16) {
        for (size_t i = 0; i < 8; ++i) lane[i] += lane[i + 8];
    }
    if constexpr (kLanes >= 8) {
        for (size_t i = 0; i < 4; ++i) lane[i] += lane[i + 4];
    }
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

}  // namespace
}  // namespace mizuoto
