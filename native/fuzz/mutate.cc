#include "mutate.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fuzz {

namespace {

std::string randomName(Random& random) {
    constexpr const char* parts[] = {"w",   "blk.0", "\\u58f0",        "\xE5\xA3\xB0", "\\n",
                                     "a/b", "",      "\\ud83d\\ude00", "__metadata__", "\xFF"};
    std::string name;
    for (uint64_t i = random.below(3); i < 3; i++) name += random.pick(parts);
    return name + std::to_string(random.below(20));
}

Bytes randomBytes(Random& random, uint64_t size) {
    Bytes out(size);
    const bool special = random.oneIn(4);
    for (uint8_t& byte : out)
        byte = special ? (random.oneIn(2) ? 0xFF : 0x7F) : static_cast<uint8_t>(random.next());
    return out;
}

int64_t smallSize(Random& random) {
    constexpr int64_t sizes[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 16};
    return random.pick(sizes);
}

/** First and last + 1 of a number or string token that starts at or after `from`, or npos. */
std::pair<size_t, size_t> tokenAfter(std::string_view json, size_t from) {
    for (size_t at = from; at < json.size(); at++) {
        if (json[at] >= '0' && json[at] <= '9') {
            size_t end = at;
            while (end < json.size() && json[end] >= '0' && json[end] <= '9') end++;
            return {at, end};
        }
        if (json[at] == '"') {
            const size_t end = json.find('"', at + 1);
            if (end == std::string_view::npos) break;
            return {at, end + 1};
        }
    }
    return {std::string_view::npos, std::string_view::npos};
}

}  // namespace

uint64_t Random::next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

uint64_t interestingNumber(Random& random) {
    switch (random.below(5)) {
        case 0:
            return random.below(40);
        case 1:
            return random.below(4096);
        case 2:
            return (uint64_t{1} << random.below(64)) - random.below(2);
        case 3:
            return UINT64_MAX - random.below(40);
        default:
            return random.next() >> random.below(64);
    }
}

Bytes randomSafetensors(Random& random) {
    constexpr std::pair<const char*, int> types[] = {
        {"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},     {"I32", 4}, {"I16", 2},
        {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"NEW", 3}};
    samples::Safetensors file;
    for (uint64_t i = random.below(6); i > 0; i--) {
        const auto& [type, size] = random.pick(types);
        std::vector<int64_t> shape;
        uint64_t elements = 1;
        for (uint64_t d = random.below(5); d > 0; d--) {
            shape.push_back(smallSize(random));
            elements *= static_cast<uint64_t>(shape.back());
        }
        if (elements > 20000) continue;
        uint64_t bytes = elements * static_cast<uint64_t>(size);
        if (random.oneIn(50)) bytes = random.below(100);
        file.tensor(randomName(random), type, shape, randomBytes(random, bytes));
    }
    for (uint64_t i = random.below(3); i > 0; i--) file.metadata(randomName(random), randomName(random));
    return file.build(random.below(10));
}

Bytes randomGguf(Random& random) {
    samples::Gguf file(random.oneIn(10) ? static_cast<uint32_t>(random.next())
                                        : 2 + static_cast<uint32_t>(random.below(2)));
    if (random.oneIn(3)) file.alignment(uint32_t{1} << random.below(8));
    for (uint64_t i = random.below(5); i > 0; i--) {
        constexpr uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        const auto type = static_cast<uint32_t>(random.below(13));
        if (type == 8) {
            file.string(randomName(random), randomName(random));
        } else if (type == 9) {
            const auto inner = static_cast<uint32_t>(random.below(13));
            const uint64_t count = random.oneIn(8) ? interestingNumber(random) : random.below(8);
            file.array(randomName(random), inner, count,
                       randomBytes(random, std::min<uint64_t>(count, 8) * sizes[inner]));
        } else {
            Bytes value = randomBytes(random, sizes[type]);
            if (type == 7) value[0] &= 1;
            file.key(randomName(random), type, value);
        }
    }
    // Type, elements and bytes of a block.
    constexpr struct {
        uint32_t type, elements, bytes;
    } types[] = {{0, 1, 4},      {1, 1, 2},      {2, 32, 18},    {3, 32, 20},    {6, 32, 22},
                 {7, 32, 24},    {8, 32, 34},    {10, 256, 84},  {11, 256, 110}, {12, 256, 144},
                 {13, 256, 176}, {14, 256, 210}, {16, 256, 66},  {17, 256, 74},  {18, 256, 98},
                 {19, 256, 50},  {20, 32, 18},   {21, 256, 110}, {22, 256, 82},  {23, 256, 136},
                 {24, 1, 1},     {27, 1, 8},     {28, 1, 8},     {29, 256, 56},  {30, 1, 2},
                 {34, 256, 54},  {35, 256, 66},  {39, 32, 17}};
    for (uint64_t i = random.below(5); i > 0; i--) {
        const auto& type = random.pick(types);
        const uint64_t blocks = random.below(4);
        const uint64_t rows = random.below(4);
        const Bytes data = randomBytes(random, random.oneIn(50) ? 3 : blocks * rows * type.bytes);
        const uint32_t number = random.oneIn(50) ? static_cast<uint32_t>(random.below(50)) : type.type;
        if (random.oneIn(30)) {
            file.tensorAt(randomName(random), {blocks * type.elements, rows}, number,
                          interestingNumber(random));
        } else {
            file.tensor(randomName(random), {blocks * type.elements, rows}, number, data);
        }
    }
    return file.build();
}

Bytes randomIndex(Random& random, const std::vector<std::string>& shards) {
    std::string text = "{\"metadata\":{\"total_size\":12},\"weight_map\":{";
    for (uint64_t i = random.below(6); i < 6; i++) {
        if (text.back() != '{') text += ",";
        text += "\"" + randomName(random) + "\":\"" + shards[random.below(shards.size())] + "\"";
    }
    text += "}}";
    if (random.oneIn(2)) mutateJson(random, text);
    return samples::textBytes(text);
}

void mutateBytes(Random& random, Bytes& bytes, const Bytes& other) {
    for (uint64_t rounds = 1 + random.below(4); rounds > 0; rounds--) {
        if (bytes.empty()) bytes.push_back(0);
        // Headers are at the front: half of the changes go there.
        const uint64_t reach = random.oneIn(2) ? std::min<uint64_t>(bytes.size(), 128) : bytes.size();
        const auto at = static_cast<std::ptrdiff_t>(random.below(reach));
        const auto left = static_cast<uint64_t>(bytes.size()) - static_cast<uint64_t>(at);
        switch (random.below(8)) {
            case 0:
                bytes[static_cast<size_t>(at)] ^= static_cast<uint8_t>(1 << random.below(8));
                break;
            case 1:
                bytes[static_cast<size_t>(at)] = static_cast<uint8_t>(random.next());
                break;
            case 2:
            case 3: {
                const uint64_t number = interestingNumber(random);
                std::memcpy(bytes.data() + at, &number, std::min<uint64_t>(left, random.oneIn(2) ? 8 : 4));
                break;
            }
            case 4:
                bytes.resize(static_cast<size_t>(at));
                break;
            case 5:
                bytes.erase(bytes.begin() + at,
                            bytes.begin() + at +
                                static_cast<std::ptrdiff_t>(1 + random.below(std::min<uint64_t>(left, 16))));
                break;
            case 6: {
                const Bytes more = randomBytes(random, 1 + random.below(16));
                bytes.insert(bytes.begin() + at, more.begin(), more.end());
                break;
            }
            default: {
                if (other.empty()) break;
                const uint64_t from = random.below(other.size());
                const uint64_t count = std::min<uint64_t>(random.below(64), other.size() - from);
                const auto source = other.begin() + static_cast<std::ptrdiff_t>(from);
                bytes.insert(bytes.begin() + at, source, source + static_cast<std::ptrdiff_t>(count));
            }
        }
    }
}

void mutateJson(Random& random, std::string& json) {
    for (uint64_t rounds = 1 + random.below(3); rounds > 0 && !json.empty(); rounds--) {
        const auto [begin, end] = tokenAfter(json, random.below(json.size()));
        if (begin == std::string::npos) continue;
        const std::string token = json.substr(begin, end - begin);
        switch (random.below(6)) {
            case 0:
            case 1:
                json.replace(begin, end - begin, std::to_string(interestingNumber(random)));
                break;
            case 2: {
                constexpr const char* words[] = {
                    "\"F32\"", "\"I64\"",     "[]",       "{}",        "null",      "-1",
                    "1e3",     "\"\\ud800\"", "[[[[[[[[", "\"../x\"",  "\"U8\"",    "true",
                    "\"\"",    "1.5",         "\"\0",     "\"shape\"", "\"dtype\"", "9007199254740991"};
                json.replace(begin, end - begin, random.pick(words));
                break;
            }
            case 3:
                json.insert(begin, token + ",");
                break;
            case 4:
                json.erase(begin, end - begin);
                break;
            default: {
                const auto [from, to] = tokenAfter(json, random.below(json.size()));
                if (from != std::string::npos) json.replace(begin, end - begin, json.substr(from, to - from));
            }
        }
    }
}

void mutateSafetensorsHeader(Random& random, Bytes& bytes) {
    if (bytes.size() < 10) return;
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    length = std::min<uint64_t>(length, bytes.size() - 8);
    const auto headerEnd = bytes.begin() + 8 + static_cast<std::ptrdiff_t>(length);
    std::string json(bytes.begin() + 8, headerEnd);
    mutateJson(random, json);
    bytes.erase(bytes.begin() + 8, headerEnd);
    bytes.insert(bytes.begin() + 8, json.begin(), json.end());
    const uint64_t fitting = json.size();
    std::memcpy(bytes.data(), &fitting, 8);
}

}  // namespace fuzz
