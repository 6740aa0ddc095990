#include "text.h"

#include <cctype>
#include <cstdio>

namespace mizuoto {

namespace {

/** Length of the well-formed sequence at `at`, or 0. */
size_t utf8Length(std::string_view text, size_t at) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    if (lead < 0x80) return 1;
    size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else {
        return 0;
    }
    if (text.size() - at < length) return 0;
    if (byte(at + 1) < low || byte(at + 1) > high) return 0;
    for (size_t i = 2; i < length; i++) {
        if (byte(at + i) < 0x80 || byte(at + i) > 0xBF) return 0;
    }
    return length;
}

void appendEscaped(std::string& out, std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8Length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        if (length == 0 || byte < 0x20 || byte == 0x7F) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\x%02X", byte);
            out += escape;
            at += 1;
        } else {
            out.append(text, at, length);
            at += length;
        }
    }
}

}  // namespace

std::string quoted(std::string_view name, size_t limit) {
    std::string out = "\"";
    if (name.size() <= limit) {
        appendEscaped(out, name);
    } else {
        size_t head = limit / 2;
        size_t tail = name.size() - limit / 2;
        // Do not cut inside a sequence.
        while (head > 0 && (static_cast<unsigned char>(name[head]) & 0xC0) == 0x80) head--;
        while (tail < name.size() && (static_cast<unsigned char>(name[tail]) & 0xC0) == 0x80) tail++;
        appendEscaped(out, name.substr(0, head));
        out += "...";
        appendEscaped(out, name.substr(tail));
    }
    return out + "\"";
}

std::string grouped(uint64_t number) {
    std::string digits = std::to_string(number);
    for (size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string byteCount(uint64_t bytes) {
    return bytes == 1 ? "1 byte" : grouped(bytes) + " bytes";
}

size_t findInvalidUtf8(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8Length(text, at);
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

std::string repairedUtf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8Length(text, at);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            at += 1;
        } else {
            out.append(text, at, length);
            at += length;
        }
    }
    return out;
}

std::string lowerAscii(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

bool endsWithNoCase(std::string_view text, std::string_view lowerCaseEnd) {
    return text.size() >= lowerCaseEnd.size() &&
           lowerAscii(text.substr(text.size() - lowerCaseEnd.size())) == lowerCaseEnd;
}

std::string_view baseName(std::string_view path) {
    const size_t slash = path.find_last_of("/\\");
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

void failFile(ErrorCode code, std::string_view file, const std::string& sentence, Error::Details details) {
    details.insert(details.begin(), detailOf("file", repairedUtf8(file)));
    throw Error(code, quoted(file, 300) + " " + sentence, std::move(details));
}

}  // namespace mizuoto
