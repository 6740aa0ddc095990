#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mizuoto {

/** Widening is exact for every format here. */

/** IEEE 754 binary16. Written without branches, so that compilers vectorise loops over it. */
inline float floatFromF16(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7FFF;
    const uint32_t normal = (magnitude << 13) + (uint32_t{112} << 23);
    const uint32_t special = (magnitude << 13) | 0x7F800000;
    const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
    const uint32_t bits = magnitude >= 0x7C00 ? special : magnitude >= 0x0400 ? normal : subnormal;
    return std::bit_cast<float>(sign | bits);
}

/** The upper half of a binary32. */
inline float floatFromBF16(uint16_t brain) {
    return std::bit_cast<float>(static_cast<uint32_t>(brain) << 16);
}

/** 5 exponent bits, 2 mantissa bits: the upper half of a binary16. */
inline float floatFromE5M2(uint8_t value) {
    return floatFromF16(static_cast<uint16_t>(value << 8));
}

/** 4 exponent bits, 3 mantissa bits, no infinity; all ones is NaN (the "fn" variant of PyTorch). */
inline float floatFromE4M3(uint8_t value) {
    const uint32_t sign = static_cast<uint32_t>(value & 0x80) << 24;
    const uint32_t magnitude = value & 0x7F;
    const uint32_t normal = (magnitude << 20) + (uint32_t{120} << 23);
    const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-9F);
    const uint32_t bits = magnitude == 0x7F ? 0x7FC00000 : magnitude >= 0x08 ? normal : subnormal;
    return std::bit_cast<float>(sign | bits);
}

/** False where binary16 has no such value. NaN becomes a quiet NaN. */
inline bool f16FromFloat(float value, uint16_t& out) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) {
        out = static_cast<uint16_t>(sign | 0x7E00);
    } else if (magnitude == 0x7F800000) {
        out = static_cast<uint16_t>(sign | 0x7C00);
    } else if (magnitude >= 0x38800000 && magnitude < 0x47800000) {  // 2^-14 to below 2^16: normal
        if ((magnitude & 0x1FFF) != 0) return false;
        out = static_cast<uint16_t>(sign | ((magnitude - (uint32_t{112} << 23)) >> 13));
    } else {
        // Subnormals are the multiples of 2^-24 below 2^-14. Scaling by a power of two is exact here.
        const float steps = std::bit_cast<float>(magnitude) * 0x1p24F;
        if (!(steps < 1024.0F) || steps != std::floor(steps)) return false;
        out = static_cast<uint16_t>(sign | static_cast<uint16_t>(steps));
    }
    return true;
}

/** False where bfloat16 has no such value. NaN becomes a quiet NaN. */
inline bool bf16FromFloat(float value, uint16_t& out) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) {
        out = static_cast<uint16_t>((bits >> 16) | 0x0040);
        return true;
    }
    out = static_cast<uint16_t>(bits >> 16);
    return (bits & 0xFFFF) == 0;
}

}  // namespace mizuoto
