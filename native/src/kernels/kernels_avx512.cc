#define MIZUOTO_KERNELS kernels_avx512
#define MIZUOTO_INSTRUCTIONS "AVX-512"
#include "kernel_bodies.h"
