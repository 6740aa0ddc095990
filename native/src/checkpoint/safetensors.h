#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsed_file.h"

namespace mizuoto {

/** 8 bytes of header length and the shortest header, `{}`. */
constexpr uint64_t safetensorsMinBytes = 10;

/** True where the bytes begin with a header length within the format's limit and an opening brace. */
bool looksLikeSafetensors(std::span<const uint8_t> bytes);

/**
 * Header of a safetensors file (github.com/huggingface/safetensors, "Format"): an 8-byte little-endian
 * length, a JSON object, then the tensors' bytes without holes up to the end of the file. Throws
 * HeaderTooLarge, HeaderInvalid, FileTruncated, TensorOutOfBounds, TensorOverlap or TensorCountAbsurd.
 */
ParsedFile parseSafetensors(std::span<const uint8_t> bytes, std::string_view file);

}  // namespace mizuoto
