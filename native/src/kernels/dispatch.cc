#include <cmath>

#include "kernels.h"

#if defined(_WIN32)
#include <windows.h>
#endif

namespace mizuoto {

extern const Kernels kernels_plain;
#if defined(MIZUOTO_X86_KERNELS)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

#if defined(MIZUOTO_X86_KERNELS)
bool hasAvx2() {
#if defined(_WIN32)
    return IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE) != 0;
#else
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#endif
}

bool hasAvx512() {
#if defined(_WIN32)
    return IsProcessorFeaturePresent(PF_AVX512F_INSTRUCTIONS_AVAILABLE) != 0;
#else
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0;
#endif
}
#endif

}  // namespace

float scalarSine(float x) {
    return std::sin(x);
}

size_t kernelVariants(const Kernels** variants, size_t most) {
    size_t count = 0;
    const auto offer = [&](const Kernels& variant) {
        if (count < most) variants[count++] = &variant;
    };
    offer(kernels_plain);
#if defined(MIZUOTO_X86_KERNELS)
    if (hasAvx2()) offer(kernels_avx2);
    if (hasAvx2() && hasAvx512()) offer(kernels_avx512);
#endif
    return count;
}

const Kernels& kernels() {
    static const Kernels& best = []() -> const Kernels& {
        const Kernels* variants[3];
        return *variants[kernelVariants(variants, 3) - 1];
    }();
    return best;
}

}  // namespace mizuoto
