#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mizuoto {

/** Codes are those of `NativeErrorCode` in native/addon.ts. */
using ErrorCode = const char*;

/** Number or name behind a message, handed to JavaScript as `details[key]`. */
using ErrorValue = std::variant<double, std::string>;

/** Every failure of the native layer: what happened and why, with the numbers. Knows nothing of Node. */
struct Error : std::exception {
    using Details = std::vector<std::pair<std::string, ErrorValue>>;

    Error(ErrorCode code_, std::string message_, Details details_ = {})
        : code(code_), message(std::move(message_)), details(std::move(details_)) {}

    const char* what() const noexcept override { return message.c_str(); }

    std::string code;
    std::string message;
    Details details;
};

namespace detail {
inline ErrorValue errorValue(std::string value) {
    return value;
}
inline ErrorValue errorValue(const char* value) {
    return std::string(value);
}
template <typename Number>
ErrorValue errorValue(Number value) {
    return static_cast<double>(value);
}
}  // namespace detail

/** `{"needed", bytes}` pairs without casts: `throw Error("X", "...", {detailOf("needed", n)})`. */
template <typename Value>
std::pair<std::string, ErrorValue> detailOf(const char* key, Value value) {
    return {key, detail::errorValue(value)};
}

}  // namespace mizuoto
