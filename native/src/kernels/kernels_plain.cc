#define MIZUOTO_KERNELS kernels_plain
#define MIZUOTO_INSTRUCTIONS "plain"
#include "kernel_bodies.h"
