#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../error.h"

namespace mizuoto {

/**
 * A name out of a file, safe in a message: in quotes, control characters and broken UTF-8 as `\xNN`, and the
 * middle cut out where it is longer than `limit` bytes.
 */
std::string quoted(std::string_view name, size_t limit = 120);

/** 5174502 -> "5,174,502". */
std::string grouped(uint64_t number);

/** "1 byte", "5,174,502 bytes". */
std::string byteCount(uint64_t bytes);

/** Offset of the first byte that is not well-formed UTF-8 (RFC 3629), or npos. */
size_t findInvalidUtf8(std::string_view text);

/** Each byte that is not part of well-formed UTF-8 becomes U+FFFD. */
std::string repairedUtf8(std::string_view text);

/** ASCII only. */
std::string lowerAscii(std::string_view text);
bool endsWithNoCase(std::string_view text, std::string_view lowerCaseEnd);

/** Last component of a path, by the separators of any system. */
std::string_view baseName(std::string_view path);

/** Throws an Error about a file: `"<file>" <sentence>`, with the file among the details. */
[[noreturn]] void failFile(ErrorCode code, std::string_view file, const std::string& sentence,
                           Error::Details details = {});

/** False on overflow; `out` is then untouched. */
inline bool checkedMultiply(uint64_t a, uint64_t b, uint64_t& out) {
    if (a != 0 && b > UINT64_MAX / a) return false;
    out = a * b;
    return true;
}
inline bool checkedAdd(uint64_t a, uint64_t b, uint64_t& out) {
    if (b > UINT64_MAX - a) return false;
    out = a + b;
    return true;
}

}  // namespace mizuoto
