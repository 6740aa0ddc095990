#pragma once

#include "ggml.h"

namespace mizuoto {

/** Conversions that every backend's copy kernels agree on; others abort in some of them. */
inline bool canCast(ggml_type from, ggml_type to) {
    const auto isFloat = [](ggml_type type) {
        return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
    };
    const auto isWritableQuant = [](ggml_type type) {
        switch (type) {
            case GGML_TYPE_Q4_0:
            case GGML_TYPE_Q4_1:
            case GGML_TYPE_Q5_0:
            case GGML_TYPE_Q5_1:
            case GGML_TYPE_Q8_0:
            case GGML_TYPE_IQ4_NL:
                return true;
            default:
                return false;
        }
    };
    if (from == to) return true;
    if (isFloat(from) && isFloat(to)) return true;
    if (from == GGML_TYPE_F32) return to == GGML_TYPE_I32 || isWritableQuant(to);
    if (to == GGML_TYPE_F32) return from == GGML_TYPE_I32 || ggml_is_quantized(from);
    return false;
}

}  // namespace mizuoto
