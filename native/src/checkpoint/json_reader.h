#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mizuoto {

/**
 * Pull reader for the JSON of checkpoint headers (RFC 8259): strict, without recursion, and without a tree in
 * memory. The caller asks for what the format says must come; anything else throws HeaderInvalid with file
 * and byte offset.
 */
class JsonReader {
  public:
    static constexpr size_t maxDepth = 32;

    /** `text` and `file` must outlive the reader. `what` names the text in messages: "header", "index". */
    JsonReader(std::string_view text, std::string_view file, std::string_view what);

    void beginObject();
    /** Reads the next key of the innermost object; false where the object ends, which leaves it. */
    bool nextKey(std::string& key);

    void beginArray();
    /** True before each element of the innermost array; false where it ends, which leaves it. */
    bool nextItem();

    void readString(std::string& out);
    /** A non-negative integer below 2^53, written without fraction or exponent. */
    uint64_t readInteger();
    /** Steps over a value of any kind, checking its syntax. */
    void skipValue();
    /** Nothing but white space may be left. */
    void end();

    bool atString();
    [[noreturn]] void fail(const std::string& why) const;

  private:
    struct Level {
        bool object;
        bool empty;
    };

    char peek();
    void expect(char wanted, const char* name);
    void push(bool object);
    bool separator(char close);
    void readEscape(std::string& out);
    uint32_t readHex4();
    void skipScalar();
    void skipNumber();

    std::string_view text_;
    std::string_view file_;
    std::string_view what_;
    size_t at_ = 0;
    std::vector<Level> levels_;
    std::string scratch_;
};

}  // namespace mizuoto
