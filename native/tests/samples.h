#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/** Small checkpoints made by hand, sound or wrong on purpose, for tests and as seeds of the fuzzer. */
namespace samples {

using Bytes = std::vector<uint8_t>;

/** Little endian, whatever machine this is. */
template <typename T>
void append(Bytes& out, T value) {
    out.resize(out.size() + sizeof(T));
    std::memcpy(out.data() + out.size() - sizeof(T), &value, sizeof(T));
}
template <typename T>
Bytes bytesOf(std::initializer_list<T> values) {
    Bytes out;
    for (const T value : values) append(out, value);
    return out;
}
Bytes textBytes(std::string_view text);

/** Header text and data put together as they are; the length is the header's unless given. */
Bytes rawSafetensors(std::string_view header, const Bytes& data = {}, int64_t length = -1);

class Safetensors {
  public:
    Safetensors& tensor(std::string name, std::string dtype, std::vector<int64_t> shape, const Bytes& data);
    Safetensors& metadata(std::string key, std::string value);
    /** The header is padded with spaces to a multiple of 8, as upstream writes it; `skew` spaces more shift
     * the data. */
    Bytes build(size_t skew = 0) const;

  private:
    std::string tensors_;
    std::string metadata_;
    Bytes data_;
};

class Gguf {
  public:
    explicit Gguf(uint32_t version = 3) : version_(version) {}

    Gguf& key(std::string_view key, uint32_t type, const Bytes& value);
    Gguf& string(std::string_view key, std::string_view value);
    Gguf& array(std::string_view key, uint32_t type, uint64_t count, const Bytes& values);
    /** `ne` as in the file: the contiguous dimension first. Placed behind the one before it. */
    Gguf& tensor(std::string_view name, std::vector<uint64_t> ne, uint32_t type, const Bytes& data);
    /** The same at an offset of one's own, with no data of its own. */
    Gguf& tensorAt(std::string_view name, std::vector<uint64_t> ne, uint32_t type, uint64_t offset);
    Gguf& alignment(uint32_t bytes);
    /** Counts in the file are those added, unless given. */
    Bytes build(int64_t tensorCount = -1, int64_t keyCount = -1) const;

    static Bytes stringBytes(std::string_view text);

  private:
    uint32_t version_;
    uint64_t alignment_ = 32;
    uint64_t keyCount_ = 0;
    uint64_t tensorCount_ = 0;
    Bytes keys_;
    Bytes infos_;
    Bytes data_;
};

/** One tensor of each dtype of the format, with metadata. */
Bytes everySafetensorsType();
/** Tensors of several types, quantised among them, and metadata of every type. */
Bytes richGguf();

}  // namespace samples
