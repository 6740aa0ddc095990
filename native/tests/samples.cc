#include "samples.h"

namespace samples {

namespace {

void appendAll(Bytes& out, const Bytes& more) {
    out.insert(out.end(), more.begin(), more.end());
}

void pad(Bytes& out, size_t alignment) {
    while (out.size() % alignment != 0) out.push_back(0);
}

}  // namespace

Bytes textBytes(std::string_view text) {
    return Bytes(text.begin(), text.end());
}

Bytes rawSafetensors(std::string_view header, const Bytes& data, int64_t length) {
    Bytes out;
    append(out, length < 0 ? static_cast<uint64_t>(header.size()) : static_cast<uint64_t>(length));
    appendAll(out, textBytes(header));
    appendAll(out, data);
    return out;
}

Safetensors& Safetensors::tensor(std::string name, std::string dtype, std::vector<int64_t> shape,
                                 const Bytes& data) {
    if (!tensors_.empty()) tensors_ += ",";
    tensors_ += "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[";
    for (size_t i = 0; i < shape.size(); i++) tensors_ += (i > 0 ? "," : "") + std::to_string(shape[i]);
    tensors_ += "],\"data_offsets\":[" + std::to_string(data_.size()) + "," +
                std::to_string(data_.size() + data.size()) + "]}";
    appendAll(data_, data);
    return *this;
}

Safetensors& Safetensors::metadata(std::string key, std::string value) {
    if (!metadata_.empty()) metadata_ += ",";
    metadata_ += "\"" + key + "\":\"" + value + "\"";
    return *this;
}

Bytes Safetensors::build(size_t skew) const {
    std::string header = "{";
    if (!metadata_.empty()) header += "\"__metadata__\":{" + metadata_ + "}" + (tensors_.empty() ? "" : ",");
    header += tensors_ + "}";
    while (header.size() % 8 != 0) header += ' ';
    header.append(skew, ' ');
    return rawSafetensors(header, data_);
}

Bytes Gguf::stringBytes(std::string_view text) {
    Bytes out;
    append(out, static_cast<uint64_t>(text.size()));
    appendAll(out, textBytes(text));
    return out;
}

Gguf& Gguf::key(std::string_view key, uint32_t type, const Bytes& value) {
    appendAll(keys_, stringBytes(key));
    append(keys_, type);
    appendAll(keys_, value);
    keyCount_++;
    return *this;
}

Gguf& Gguf::string(std::string_view name, std::string_view value) {
    return key(name, 8, stringBytes(value));
}

Gguf& Gguf::array(std::string_view name, uint32_t type, uint64_t count, const Bytes& values) {
    Bytes value;
    append(value, type);
    append(value, count);
    appendAll(value, values);
    return key(name, 9, value);
}

Gguf& Gguf::tensor(std::string_view name, std::vector<uint64_t> ne, uint32_t type, const Bytes& data) {
    pad(data_, alignment_);
    tensorAt(name, std::move(ne), type, data_.size());
    appendAll(data_, data);
    return *this;
}

Gguf& Gguf::tensorAt(std::string_view name, std::vector<uint64_t> ne, uint32_t type, uint64_t offset) {
    appendAll(infos_, stringBytes(name));
    append(infos_, static_cast<uint32_t>(ne.size()));
    for (const uint64_t size : ne) append(infos_, size);
    append(infos_, type);
    append(infos_, offset);
    tensorCount_++;
    return *this;
}

Gguf& Gguf::alignment(uint32_t bytes) {
    alignment_ = bytes;
    return key("general.alignment", 4, bytesOf<uint32_t>({bytes}));
}

Bytes Gguf::build(int64_t tensorCount, int64_t keyCount) const {
    Bytes out = textBytes("GGUF");
    append(out, version_);
    append(out, tensorCount < 0 ? tensorCount_ : static_cast<uint64_t>(tensorCount));
    append(out, keyCount < 0 ? keyCount_ : static_cast<uint64_t>(keyCount));
    appendAll(out, keys_);
    appendAll(out, infos_);
    pad(out, alignment_);
    appendAll(out, data_);
    return out;
}

Bytes everySafetensorsType() {
    return Safetensors()
        .metadata("format", "pt")
        .metadata("title", "\\u58f0\\u97f3 \\ud83d\\ude00")
        .tensor("a.f64", "F64", {2}, bytesOf<double>({1.5, -2.25}))
        .tensor("b.f32", "F32", {1, 2}, bytesOf<float>({0.5F, 3.0F}))
        .tensor("c.i64", "I64", {2}, bytesOf<int64_t>({-7, 1LL << 40}))
        .tensor("d.i32", "I32", {2}, bytesOf<int32_t>({-7, 70000}))
        .tensor("e.f16", "F16", {2, 1}, bytesOf<uint16_t>({0x3C00, 0x0001}))
        .tensor("f.bf16", "BF16", {2}, bytesOf<uint16_t>({0x3F80, 0xC040}))
        .tensor("g.i16", "I16", {1, 1, 2}, bytesOf<int16_t>({-300, 300}))
        .tensor("h.i8", "I8", {2}, bytesOf<int8_t>({-128, 127}))
        .tensor("i.u8", "U8", {3}, bytesOf<uint8_t>({0, 128, 255}))
        .tensor("j.bool", "BOOL", {2}, bytesOf<uint8_t>({0, 1}))
        .tensor("k.e4m3", "F8_E4M3", {2}, bytesOf<uint8_t>({0x38, 0x01}))
        .tensor("l.e5m2", "F8_E5M2", {2}, bytesOf<uint8_t>({0x3C, 0x01}))
        .tensor("m.u16", "U16", {1}, bytesOf<uint16_t>({65535}))
        .tensor("n.f4", "F4", {2}, bytesOf<uint8_t>({0x12}))
        .tensor("o.scalar", "F32", {}, bytesOf<float>({42.0F}))
        .tensor("p.empty", "F16", {0, 4}, {})
        .build();
}

Bytes richGguf() {
    Bytes q8;
    append(q8, uint16_t{0x3800});  // scale 0.5
    for (int i = 0; i < 32; i++) append(q8, static_cast<int8_t>(i - 16));
    Bytes q4k(144, 0x11);
    q4k[0] = 0x00, q4k[1] = 0x3C;  // d = 1
    q4k[2] = 0x00, q4k[3] = 0x00;  // dmin = 0
    Bytes names = Gguf::stringBytes("<s>");
    for (const std::string_view text : {"\xE5\xA3\xB0", ""}) {
        const Bytes more = Gguf::stringBytes(text);
        names.insert(names.end(), more.begin(), more.end());
    }
    Bytes nested;
    append(nested, uint32_t{0});
    append(nested, uint64_t{2});
    append(nested, uint16_t{0x0201});
    return Gguf()
        .string("general.architecture", "mini")
        .key("u8", 0, bytesOf<uint8_t>({200}))
        .key("i8", 1, bytesOf<int8_t>({-100}))
        .key("u16", 2, bytesOf<uint16_t>({60000}))
        .key("i16", 3, bytesOf<int16_t>({-30000}))
        .key("u32", 4, bytesOf<uint32_t>({4000000000U}))
        .key("i32", 5, bytesOf<int32_t>({-2000000000}))
        .key("f32", 6, bytesOf<float>({0.25F}))
        .key("bool", 7, bytesOf<uint8_t>({1}))
        .key("u64", 10, bytesOf<uint64_t>({UINT64_MAX}))
        .key("i64", 11, bytesOf<int64_t>({-(int64_t{1} << 53)}))
        .key("f64", 12, bytesOf<double>({1e300}))
        .array("tokens", 8, 3, names)
        .array("scores", 6, 2, bytesOf<float>({-1.5F, 2.0F}))
        .array("flags", 7, 2, bytesOf<uint8_t>({1, 0}))
        .array("nested", 9, 1, nested)
        .array("none", 5, 0, {})
        .tensor("f32", {3, 2}, 0, bytesOf<float>({1, 2, 3, 4, 5, 6}))
        .tensor("f16", {2}, 1, bytesOf<uint16_t>({0x3C00, 0xBC00}))
        .tensor("bf16", {2}, 30, bytesOf<uint16_t>({0x3F80, 0xBF80}))
        .tensor("i8", {2}, 24, bytesOf<int8_t>({-1, 1}))
        .tensor("i64", {1}, 27, bytesOf<int64_t>({-5}))
        .tensor("f64", {1}, 28, bytesOf<double>({0.125}))
        .tensor("q8_0", {32, 1}, 8, q8)
        .tensor("q4_K", {256}, 12, q4k)
        .tensor("iq2_xxs", {256}, 16, Bytes(66, 0))
        .build();
}

}  // namespace samples
