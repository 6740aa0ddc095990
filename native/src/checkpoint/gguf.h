#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsed_file.h"

namespace mizuoto {

/**
 * Header of a GGUF file, version 2 or 3, little endian (github.com/ggml-org/ggml, docs/gguf.md). Shapes are
 * reversed into PyTorch order. Nested arrays are checked but not among the metadata. Throws HeaderInvalid,
 * HeaderTooLarge, FileTruncated, TensorOutOfBounds, TensorOverlap, TensorCountAbsurd or UnsupportedDType.
 */
ParsedFile parseGguf(std::span<const uint8_t> bytes, std::string_view file);

}  // namespace mizuoto
