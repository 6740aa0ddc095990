#include "json_reader.h"

#include "text.h"

namespace mizuoto {

namespace {

constexpr uint64_t maxSafeInteger = (uint64_t{1} << 53) - 1;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

void appendUtf8(std::string& out, uint32_t point) {
    auto add = [&](uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xC0 | (point >> 6));
        add(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        add(0xE0 | (point >> 12));
        add(0x80 | ((point >> 6) & 0x3F));
        add(0x80 | (point & 0x3F));
    } else {
        add(0xF0 | (point >> 18));
        add(0x80 | ((point >> 12) & 0x3F));
        add(0x80 | ((point >> 6) & 0x3F));
        add(0x80 | (point & 0x3F));
    }
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string_view file, std::string_view what)
    : text_(text), file_(file), what_(what) {
    const size_t bad = findInvalidUtf8(text);
    if (bad != std::string_view::npos) {
        at_ = bad;
        fail("it is not valid UTF-8");
    }
}

void JsonReader::fail(const std::string& why) const {
    failFile("HeaderInvalid", file_,
             "is damaged: its JSON " + std::string(what_) + " is wrong at byte " + grouped(at_) + ": " + why +
                 "; download the file again.",
             {detailOf("offset", at_)});
}

/** Next character that is not white space, or NUL at the end (a NUL in the text is no token either). */
char JsonReader::peek() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
        at_++;
    }
    return '\0';
}

void JsonReader::expect(char wanted, const char* name) {
    if (peek() != wanted || at_ >= text_.size()) fail(std::string(name) + " was expected");
    at_++;
}

void JsonReader::push(bool object) {
    if (levels_.size() >= maxDepth) fail("it is nested deeper than " + std::to_string(maxDepth) + " levels");
    levels_.push_back({object, true});
}

void JsonReader::beginObject() {
    expect('{', "an object");
    push(true);
}

void JsonReader::beginArray() {
    expect('[', "an array");
    push(false);
}

/** Consumes the comma before the next element, or the closing bracket (then false). */
bool JsonReader::separator(char close) {
    Level& level = levels_.back();
    const char c = peek();
    if (c == close) {
        at_++;
        levels_.pop_back();
        return false;
    }
    if (!level.empty) {
        if (c != ',') fail(std::string("',' or '") + close + "' was expected");
        at_++;
    }
    level.empty = false;
    return true;
}

bool JsonReader::nextKey(std::string& key) {
    if (!separator('}')) return false;
    readString(key);
    expect(':', "':'");
    return true;
}

bool JsonReader::nextItem() {
    return separator(']');
}

bool JsonReader::atString() {
    return peek() == '"';
}

void JsonReader::readString(std::string& out) {
    expect('"', "a string");
    out.clear();
    for (;;) {
        const size_t start = at_;
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
               static_cast<unsigned char>(text_[at_]) >= 0x20) {
            at_++;
        }
        out.append(text_, start, at_ - start);
        if (at_ >= text_.size()) fail("a string has no end");
        if (text_[at_] == '"') {
            at_++;
            return;
        }
        if (text_[at_] != '\\') fail("a control character stands in a string");
        at_++;
        readEscape(out);
    }
}

void JsonReader::readEscape(std::string& out) {
    if (at_ >= text_.size()) fail("a string has no end");
    switch (text_[at_++]) {
        case '"':
            out += '"';
            return;
        case '\\':
            out += '\\';
            return;
        case '/':
            out += '/';
            return;
        case 'b':
            out += '\b';
            return;
        case 'f':
            out += '\f';
            return;
        case 'n':
            out += '\n';
            return;
        case 'r':
            out += '\r';
            return;
        case 't':
            out += '\t';
            return;
        case 'u':
            break;
        default:
            at_--;
            fail("an unknown escape stands in a string");
    }
    uint32_t point = readHex4();
    if (point >= 0xDC00 && point <= 0xDFFF) fail("a lone surrogate stands in a string");
    if (point >= 0xD800 && point <= 0xDBFF) {
        if (text_.substr(at_, 2) != "\\u") fail("a lone surrogate stands in a string");
        at_ += 2;
        const uint32_t low = readHex4();
        if (low < 0xDC00 || low > 0xDFFF) fail("a lone surrogate stands in a string");
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    appendUtf8(out, point);
}

uint32_t JsonReader::readHex4() {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        uint32_t digit = 0;
        if (isDigit(c)) {
            digit = static_cast<uint32_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = static_cast<uint32_t>(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = static_cast<uint32_t>(c - 'A') + 10;
        } else {
            fail("four hexadecimal digits were expected");
        }
        value = value * 16 + digit;
        at_++;
    }
    return value;
}

uint64_t JsonReader::readInteger() {
    if (!isDigit(peek())) fail("a non-negative integer was expected");
    if (text_[at_] == '0' && at_ + 1 < text_.size() && isDigit(text_[at_ + 1])) {
        fail("a number has a leading zero");
    }
    uint64_t value = 0;
    for (; at_ < text_.size() && isDigit(text_[at_]); at_++) {
        value = value * 10 + static_cast<uint64_t>(text_[at_] - '0');
        if (value > maxSafeInteger) fail("a number is 2^53 or more");
    }
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
        fail("a number is not a plain integer");
    }
    return value;
}

void JsonReader::skipValue() {
    const size_t outside = levels_.size();
    for (;;) {
        switch (peek()) {
            case '{':
                beginObject();
                break;
            case '[':
                beginArray();
                break;
            default:
                skipScalar();
        }
        // To the next value, leaving what ends here.
        for (;;) {
            if (levels_.size() == outside) return;
            if (levels_.back().object ? nextKey(scratch_) : nextItem()) break;
        }
    }
}

void JsonReader::skipScalar() {
    const char c = peek();
    if (c == '"') {
        readString(scratch_);
        return;
    }
    if (c == '-' || isDigit(c)) {
        skipNumber();
        return;
    }
    for (const std::string_view word : {"true", "false", "null"}) {
        if (text_.substr(at_, word.size()) == word) {
            at_ += word.size();
            return;
        }
    }
    fail("a value was expected");
}

void JsonReader::skipNumber() {
    auto digits = [&] {
        if (at_ >= text_.size() || !isDigit(text_[at_])) fail("a digit was expected");
        while (at_ < text_.size() && isDigit(text_[at_])) at_++;
    };
    if (text_[at_] == '-') at_++;
    if (at_ < text_.size() && text_[at_] == '0') {
        at_++;
    } else {
        digits();
    }
    if (at_ < text_.size() && text_[at_] == '.') {
        at_++;
        digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
        at_++;
        if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
        digits();
    }
}

void JsonReader::end() {
    peek();
    if (at_ < text_.size()) fail("something follows its end");
}

}  // namespace mizuoto
