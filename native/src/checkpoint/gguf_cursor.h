#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "text.h"

namespace mizuoto {

/** Reads the little-endian header of a GGUF file from front to back and never past its end. */
class GgufCursor {
  public:
    static constexpr uint64_t maxStringBytes = 16 << 20;

    GgufCursor(std::span<const uint8_t> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

    uint64_t at() const { return at_; }
    uint64_t left() const { return bytes_.size() - at_; }

    /** Throws FileTruncated where fewer bytes are left. */
    void need(uint64_t bytes) const {
        if (bytes <= left()) return;
        uint64_t end = UINT64_MAX;
        checkedAdd(at_, bytes, end);
        failFile("FileTruncated", file_,
                 "ends inside its header: at least " + byteCount(end) +
                     " are needed for it and the file has " + grouped(bytes_.size()) + "; download it again.",
                 {detailOf("expected", end), detailOf("found", bytes_.size())});
    }

    template <typename T>
    T read() {
        need(sizeof(T));
        uint8_t raw[sizeof(T)];
        std::memcpy(raw, bytes_.data() + at_, sizeof(T));
        at_ += sizeof(T);
        if constexpr (std::endian::native == std::endian::big) std::reverse(raw, raw + sizeof(T));
        T value;
        std::memcpy(&value, raw, sizeof(T));
        return value;
    }

    std::string_view readString(const char* what) {
        const uint64_t start = at_;
        const auto length = read<uint64_t>();
        if (length > maxStringBytes) {
            fail(start, std::string(what) + " has a length of " + byteCount(length) + " (limit " +
                            grouped(maxStringBytes) + ")");
        }
        need(length);
        const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_,
                                    static_cast<size_t>(length));
        at_ += length;
        return text;
    }

    void skip(uint64_t bytes) {
        need(bytes);
        at_ += bytes;
    }

    [[noreturn]] void fail(uint64_t at, const std::string& why) const {
        failFile("HeaderInvalid", file_,
                 "is damaged: at byte " + grouped(at) + " of its header, " + why + "; download it again.",
                 {detailOf("offset", at)});
    }

  private:
    std::span<const uint8_t> bytes_;
    std::string_view file_;
    uint64_t at_ = 0;
};

}  // namespace mizuoto
