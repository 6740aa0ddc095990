#define MIZUOTO_KERNELS kernels_avx2
#define MIZUOTO_INSTRUCTIONS "AVX2"
#include "kernel_bodies.h"
