#pragma once

#include <vector>

#include "checkpoint.h"

namespace mizuoto {

/** More than any model has (the largest public ones have tens of thousands), few enough to list. */
constexpr uint64_t maxTensors = 1'000'000;
constexpr uint64_t maxDimensions = 8;
constexpr uint64_t maxNameBytes = 4096;

/** What one weight file holds; `data` points into the bytes that were parsed. */
struct ParsedFile {
    CheckpointFormat format = CheckpointFormat::Safetensors;
    std::vector<CheckpointTensor> tensors;
    Metadata metadata;
    /** Files that a GGUF model says it is cut into; 0 where it is not. */
    uint64_t splitCount = 0;
};

}  // namespace mizuoto
