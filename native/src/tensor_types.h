#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ggml.h"

namespace mizuoto {

/** PyTorch order: last dimension contiguous. At most 4 dimensions. */
using Shape = std::vector<int64_t>;

constexpr int kMaxRank = GGML_MAX_DIMS;

/** `f32`, `q4_K`... Throws UnsupportedDType for names that a device tensor cannot have. */
ggml_type dtypeFromName(std::string_view name);

/** From the numbers of `enum ggml_type`, which ops take as parameters. Throws UnsupportedDType. */
ggml_type dtypeFromCode(double code);

/** Throws InvalidArgument or ShapeMismatch unless ggml can hold a tensor of this type and shape. */
void checkShape(ggml_type type, const Shape& shape, std::string_view what);

/** ggml's dimensions, fastest first, padded with ones. */
std::array<int64_t, kMaxRank> toNe(const Shape& shape);

/** Of a checked shape. */
int64_t elementCount(const Shape& shape);
size_t tensorBytes(ggml_type type, const Shape& shape);

/** The PyTorch shape of a tensor that is known to have `rank` dimensions. */
Shape shapeOf(const ggml_tensor* tensor, int rank);

/** `[2, 3, 4]` */
std::string shapeText(const Shape& shape);

/** Bytes as a person reads them: `1.25 GiB`. */
std::string bytesText(uint64_t bytes);

/** The next multiple of `alignment`, which is a power of two. */
constexpr size_t alignUp(size_t value, size_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace mizuoto
