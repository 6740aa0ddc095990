#pragma once

#include <cstdint>

namespace mizuoto {

/** Physical cores that this process may use, at least 1. More threads than that make ggml slower. */
int physicalCores();

struct HostMemory {
    uint64_t totalBytes = 0;
    uint64_t availableBytes = 0;
    /** Resident set of this process. */
    uint64_t processBytes = 0;
};

HostMemory hostMemory();

}  // namespace mizuoto
