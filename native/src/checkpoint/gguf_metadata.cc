#include "gguf_metadata.h"

#include <array>
#include <bit>
#include <string>

#include "text.h"

namespace mizuoto {

namespace {

constexpr uint64_t maxKeyBytes = 65535;
/** Elements of all arrays together: a vocabulary of a quarter million entries has about a million. */
constexpr uint64_t maxArrayElements = 8'000'000;
constexpr int maxArrayDepth = 4;
constexpr uint64_t maxAlignment = 1 << 20;
constexpr double maxExact = 9007199254740992.0;  // 2^53

enum ValueType : uint32_t {
    Uint8 = 0,
    Int8 = 1,
    Uint16 = 2,
    Int16 = 3,
    Uint32 = 4,
    Int32 = 5,
    Float32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    Uint64 = 10,
    Int64 = 11,
    Float64 = 12,
};
/** Bytes of one value at least: a string and an array begin with their length. */
constexpr std::array<uint64_t, 13> minBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

template <typename Integer>
MetadataItem exact(Integer value) {
    const auto number = static_cast<double>(value);
    if (number > maxExact || number < -maxExact) return std::to_string(value);
    return number;
}

class Reader {
  public:
    Reader(GgufCursor& cursor, std::string_view file) : cursor_(cursor), file_(file) {}

    GgufMetadata read(uint64_t count) {
        GgufMetadata result;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t start = cursor_.at();
            const std::string_view key = cursor_.readString("a metadata key");
            if (key.empty() || key.size() > maxKeyBytes || findInvalidUtf8(key) != std::string_view::npos) {
                cursor_.fail(start, "a metadata key of " + byteCount(key.size()) + " is not valid");
            }
            if (result.values.contains(key))
                cursor_.fail(start, "the metadata key " + quoted(key) + " comes twice");
            const uint64_t valueStart = cursor_.at();
            const uint32_t type = readType();
            if (type == Array) {
                if (auto items = readArray(key, 1)) result.values.emplace(key, std::move(*items));
            } else if (type == Bool) {
                result.values.emplace(key, readBool());
            } else {
                std::visit([&](auto&& value) { result.values.emplace(key, std::move(value)); },
                           readItem(type));
            }
            const auto value = result.values.find(key);
            const double* number =
                value == result.values.end() ? nullptr : std::get_if<double>(&value->second);
            if (key == "general.alignment") {
                result.alignment = alignment(type == Uint32 ? number : nullptr, valueStart);
            }
            if (key == "split.count" && number != nullptr && *number >= 0 && *number <= 65535) {
                result.splitCount = static_cast<uint64_t>(*number);
            }
        }
        return result;
    }

  private:
    uint32_t readType() {
        const uint64_t start = cursor_.at();
        const auto type = cursor_.read<uint32_t>();
        if (type >= minBytes.size())
            cursor_.fail(start, "a value has the unknown type " + std::to_string(type));
        return type;
    }

    bool readBool() {
        const uint64_t start = cursor_.at();
        const auto value = cursor_.read<uint8_t>();
        if (value > 1) cursor_.fail(start, "a boolean is " + std::to_string(value) + " instead of 0 or 1");
        return value == 1;
    }

    MetadataItem readItem(uint32_t type) {
        switch (type) {
            case Uint8:
                return static_cast<double>(cursor_.read<uint8_t>());
            case Int8:
                return static_cast<double>(cursor_.read<int8_t>());
            case Uint16:
                return static_cast<double>(cursor_.read<uint16_t>());
            case Int16:
                return static_cast<double>(cursor_.read<int16_t>());
            case Uint32:
                return static_cast<double>(cursor_.read<uint32_t>());
            case Int32:
                return static_cast<double>(cursor_.read<int32_t>());
            case Uint64:
                return exact(cursor_.read<uint64_t>());
            case Int64:
                return exact(cursor_.read<int64_t>());
            case Float32:
                return static_cast<double>(cursor_.read<float>());
            case Float64:
                return cursor_.read<double>();
            case Bool:
                return readBool() ? 1.0 : 0.0;
            default:
                return repairedUtf8(cursor_.readString("a metadata string"));
        }
    }

    /** None where the array holds arrays: those are only checked. */
    std::optional<std::vector<MetadataItem>> readArray(std::string_view key, int depth) {
        const uint64_t start = cursor_.at();
        if (depth > maxArrayDepth) cursor_.fail(start, "arrays are nested too deep in " + quoted(key));
        const uint32_t type = readType();
        const auto count = cursor_.read<uint64_t>();
        elements_ = count > maxArrayElements ? count : elements_ + count;
        if (elements_ > maxArrayElements) {
            failFile("HeaderTooLarge", file_,
                     "has " + grouped(elements_) + " elements in the arrays of its metadata up to " +
                         quoted(key) + ", more than the limit of " + grouped(maxArrayElements) +
                         "; it is damaged, download it again.",
                     {detailOf("found", elements_), detailOf("limit", maxArrayElements)});
        }
        cursor_.need(count * minBytes[type]);
        if (type == Array) {
            for (uint64_t i = 0; i < count; i++) readArray(key, depth + 1);
            return std::nullopt;
        }
        std::vector<MetadataItem> items;
        items.reserve(static_cast<size_t>(count));
        for (uint64_t i = 0; i < count; i++) items.push_back(readItem(type));
        return items;
    }

    uint64_t alignment(const double* number, uint64_t start) const {
        const bool plain = number != nullptr && *number >= 1 && *number <= maxAlignment;
        if (!plain || !std::has_single_bit(static_cast<uint64_t>(*number))) {
            cursor_.fail(start, "\"general.alignment\" is not a power of two up to " + grouped(maxAlignment));
        }
        return static_cast<uint64_t>(*number);
    }

    GgufCursor& cursor_;
    std::string_view file_;
    uint64_t elements_ = 0;
};

}  // namespace

GgufMetadata readGgufMetadata(GgufCursor& cursor, std::string_view file, uint64_t count) {
    return Reader(cursor, file).read(count);
}

}  // namespace mizuoto
