#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mizuoto {

/** Memory of a mapped file that a device could read where it lies. */
struct Importable {
    /** The file that it belongs to: only memory of one file is imported together. */
    const void* file = nullptr;
    const uint8_t* data = nullptr;
    size_t bytes = 0;
};

/** Whole pages of one file, imported at once. */
struct ImportWindow {
    const void* file = nullptr;
    const uint8_t* data = nullptr;
    size_t bytes = 0;
};

struct ImportPlan {
    std::vector<ImportWindow> windows;
    /** By position among the importable; -1: too large for one import, or left out. */
    std::vector<int> windowOf;
};

struct ImportLimits {
    size_t pageBytes = 4096;
    size_t maxBytes = SIZE_MAX;
    /** Drivers limit how many allocations there are, and imports are among them. */
    size_t maxWindows = 64;
    /** What lies between two pieces and belongs to neither is imported with them up to here. */
    size_t largestGap = size_t{1} << 20;
};

/** The fewest windows that cover all that can be covered; where there are too many, the fullest are kept. */
ImportPlan planImports(const std::vector<Importable>& pieces, const ImportLimits& limits);

}  // namespace mizuoto
