#pragma once

#include <cstdint>

#include "checkpoint.h"
#include "gguf_cursor.h"

namespace mizuoto {

struct GgufMetadata {
    Metadata values;
    /** `general.alignment`, or its default. */
    uint64_t alignment = 32;
    /** `split.count`: files that the model is cut into; 0 where it is not. */
    uint64_t splitCount = 0;
};

/** The key-value pairs that follow the counts. Throws HeaderInvalid, HeaderTooLarge or FileTruncated. */
GgufMetadata readGgufMetadata(GgufCursor& cursor, std::string_view file, uint64_t count);

}  // namespace mizuoto
