#include <ggml.h>

#include <cmath>
#include <limits>

#include "check.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/float_formats.h"
#include "samples.h"

using namespace mizuoto;
using samples::Bytes;
using samples::bytesOf;
using samples::Safetensors;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/** A checkpoint with the one tensor "w"; `skew` moves its data off any alignment. */
std::shared_ptr<const Checkpoint> holding(const std::string& dtype, int64_t count, const Bytes& data,
                                          size_t skew = 0) {
    std::vector<CheckpointBuffer> buffers;
    buffers.push_back({"model.safetensors", Safetensors().tensor("w", dtype, {count}, data).build(skew)});
    return Checkpoint::openBuffers(std::move(buffers));
}

std::vector<float> floats(const Checkpoint& checkpoint, std::string_view name = "w") {
    std::vector<float> out(checkpoint.at(name).elements);
    checkpoint.readFloat32(checkpoint.at(name), out.data());
    return out;
}

bool same(float a, float b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

void checkFloats(int line, const std::vector<float>& found, std::initializer_list<float> wanted) {
    check::equal(__FILE__, line, "number of values", found.size(), wanted.size());
    size_t i = 0;
    for (const float value : wanted) {
        if (i < found.size() && !same(found[i], value)) {
            check::equal(__FILE__, line, ("value " + std::to_string(i)).c_str(), found[i], value);
        }
        i++;
    }
}

}  // namespace

TEST_CASE(every_half_is_widened_as_defined) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
        const int exponent = static_cast<int>((bits >> 10) & 0x1F);
        const double mantissa = bits & 0x3FF;
        double wanted = sign * std::ldexp(exponent == 0 ? mantissa : mantissa + 1024,
                                          (exponent == 0 ? 1 : exponent) - 25);
        if (exponent == 31)
            wanted = mantissa == 0 ? sign * static_cast<double>(inf) : static_cast<double>(notANumber);
        const float found = floatFromF16(static_cast<uint16_t>(bits));
        if (!same(found, static_cast<float>(wanted))) CHECK_EQUAL(found, static_cast<float>(wanted));
        CHECK(same(found, ggml_fp16_to_fp32(static_cast<ggml_fp16_t>(bits))));
        uint16_t back = 0;
        CHECK(f16FromFloat(found, back));
        CHECK(std::isnan(found) ? (back & 0x7FFF) > 0x7C00 : back == bits);
        const float brain = floatFromBF16(static_cast<uint16_t>(bits));
        CHECK(bf16FromFloat(brain, back));
        CHECK(std::isnan(brain) ? (back & 0x7FFF) > 0x7F80 : back == bits);
    }
}

TEST_CASE(every_fp8_is_widened_as_defined) {
    for (uint32_t bits = 0; bits < 256; bits++) {
        const double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
        const int exponent = static_cast<int>((bits >> 3) & 15);
        const double mantissa = bits & 7;
        double wanted =
            sign * std::ldexp(exponent == 0 ? mantissa : mantissa + 8, (exponent == 0 ? 1 : exponent) - 10);
        if ((bits & 0x7F) == 0x7F) wanted = static_cast<double>(notANumber);
        CHECK(same(floatFromE4M3(static_cast<uint8_t>(bits)), static_cast<float>(wanted)));
        CHECK(
            same(floatFromE5M2(static_cast<uint8_t>(bits)), floatFromF16(static_cast<uint16_t>(bits << 8))));
    }
    CHECK_EQUAL(floatFromE4M3(0x7E), 448.0F);
    CHECK_EQUAL(floatFromE5M2(0x7B), 57344.0F);
}

TEST_CASE(all_types_read_as_float32) {
    std::vector<CheckpointBuffer> buffers;
    buffers.push_back({"all.safetensors", samples::everySafetensorsType()});
    const auto all = Checkpoint::openBuffers(std::move(buffers));
    checkFloats(__LINE__, floats(*all, "a.f64"), {1.5F, -2.25F});
    checkFloats(__LINE__, floats(*all, "b.f32"), {0.5F, 3.0F});
    checkFloats(__LINE__, floats(*all, "c.i64"), {-7.0F, 1099511627776.0F});
    checkFloats(__LINE__, floats(*all, "d.i32"), {-7.0F, 70000.0F});
    checkFloats(__LINE__, floats(*all, "e.f16"), {1.0F, 0x1p-24F});
    checkFloats(__LINE__, floats(*all, "f.bf16"), {1.0F, -3.0F});
    checkFloats(__LINE__, floats(*all, "g.i16"), {-300.0F, 300.0F});
    checkFloats(__LINE__, floats(*all, "h.i8"), {-128.0F, 127.0F});
    checkFloats(__LINE__, floats(*all, "i.u8"), {0.0F, 128.0F, 255.0F});
    checkFloats(__LINE__, floats(*all, "j.bool"), {0.0F, 1.0F});
    checkFloats(__LINE__, floats(*all, "k.e4m3"), {1.0F, 0x1p-9F});
    checkFloats(__LINE__, floats(*all, "l.e5m2"), {1.0F, 0x1p-16F});
    checkFloats(__LINE__, floats(*all, "o.scalar"), {42.0F});
    checkFloats(__LINE__, floats(*all, "p.empty"), {});
    CHECK_THROWS("UnsupportedDType", ({"\"m.u16\"", "\"U16\"", "no reader"}), floats(*all, "m.u16"));
    CHECK_THROWS("UnsupportedDType", ({"\"n.f4\""}), floats(*all, "n.f4"));
    CHECK_THROWS("UnsupportedDType", ({"\"n.f4\""}), all->firstNonFinite(all->at("n.f4")));
}

TEST_CASE(wide_numbers_are_rounded_to_nearest) {
    checkFloats(__LINE__,
                floats(*holding("I64", 3, bytesOf<int64_t>({INT64_MAX, (1LL << 53) + 1, 16777217}))),
                {0x1p63F, 0x1p53F, 16777216.0F});
    checkFloats(__LINE__, floats(*holding("I32", 2, bytesOf<int32_t>({16777219, INT32_MIN}))),
                {16777220.0F, -0x1p31F});
    checkFloats(__LINE__,
                floats(*holding(
                    "F64", 6,
                    bytesOf<double>({1.0 + 0x1p-24, 1.0 + 0x1p-23, 1e-300, -0.0, HUGE_VAL, -std::nan("")}))),
                {1.0F, 1.0F + 0x1p-23F, 0.0F, -0.0F, inf, notANumber});
    checkFloats(__LINE__, floats(*holding("F64", 1, bytesOf<double>({0x1.FFFFFEFFFFFFFp127}))),
                {std::numeric_limits<float>::max()});
    CHECK_THROWS("UnsupportedDType", ({"\"w\"", "1e+39 at element 1", "range of float32"}),
                 floats(*holding("F64", 2, bytesOf<double>({1.0, 1e39}))));
}

TEST_CASE(data_off_any_alignment) {
    for (size_t skew = 0; skew < 8; skew++) {
        checkFloats(__LINE__, floats(*holding("F32", 2, bytesOf<float>({1.5F, -inf}), skew)), {1.5F, -inf});
        checkFloats(__LINE__, floats(*holding("F64", 1, bytesOf<double>({0.1}), skew)), {0.1F});
        const auto halves = holding("F16", 3, bytesOf<uint16_t>({0x3C00, 0x3C00, 0x7C00}), skew);
        CHECK_EQUAL(halves->firstNonFinite(halves->at("w")).value_or(99), 2u);
    }
}

TEST_CASE(longer_than_a_chunk) {
    constexpr int64_t count = 3 * 4096 + 5;
    Bytes data;
    for (int64_t i = 0; i < count; i++) samples::append(data, static_cast<float>(i));
    const auto checkpoint = holding("F32", count, data);
    const std::vector<float> values = floats(*checkpoint);
    for (int64_t i = 0; i < count; i++) {
        if (values[static_cast<size_t>(i)] != static_cast<float>(i))
            CHECK_EQUAL(values[static_cast<size_t>(i)], static_cast<float>(i));
    }
    CHECK(!checkpoint->firstNonFinite(checkpoint->at("w")).has_value());
    std::memcpy(data.data() + 4 * (count - 1), &notANumber, 4);
    const auto broken = holding("F32", count, data);
    CHECK_EQUAL(broken->firstNonFinite(broken->at("w")).value_or(0), static_cast<uint64_t>(count - 1));
}

TEST_CASE(first_non_finite_of_every_type) {
    auto first = [](const std::string& dtype, int64_t count, const Bytes& data) {
        const auto checkpoint = holding(dtype, count, data);
        const auto found = checkpoint->firstNonFinite(checkpoint->at("w"));
        return found ? static_cast<int>(*found) : -1;
    };
    CHECK_EQUAL(first("F32", 3, bytesOf<float>({std::numeric_limits<float>::max(), -inf, notANumber})), 1);
    CHECK_EQUAL(first("F16", 3, bytesOf<uint16_t>({0x7BFF, 0xFBFF, 0xFC01})), 2);
    CHECK_EQUAL(first("BF16", 2, bytesOf<uint16_t>({0x7F7F, 0x7F80})), 1);
    CHECK_EQUAL(first("F64", 2, bytesOf<double>({1e308, HUGE_VAL})), 1);
    CHECK_EQUAL(first("F8_E4M3", 3, bytesOf<uint8_t>({0x7E, 0xFE, 0xFF})), 2);
    CHECK_EQUAL(first("F8_E5M2", 3, bytesOf<uint8_t>({0x7B, 0xFC, 0x7F})), 1);
    CHECK_EQUAL(first("I32", 2, bytesOf<uint32_t>({0x7F800000, 0xFFFFFFFF})), -1);
    CHECK_EQUAL(first("BOOL", 1, {255}), -1);
    CHECK_EQUAL(first("F32", 0, {}), -1);
}

TEST_CASE(exact_narrowing) {
    auto half = [](const std::string& dtype, int64_t count, const Bytes& data, bool brain = false) {
        const auto checkpoint = holding(dtype, count, data);
        std::vector<uint16_t> out(static_cast<size_t>(count));
        if (brain) {
            checkpoint->readBFloat16Exact(checkpoint->at("w"), out.data());
        } else {
            checkpoint->readFloat16Exact(checkpoint->at("w"), out.data());
        }
        return out;
    };
    for (int bits = 0; bits < 256; bits++) {
        const auto byte = static_cast<uint8_t>(bits);
        const float value = floatFromE4M3(byte);
        CHECK(same(floatFromF16(half("F8_E4M3", 1, {byte})[0]), value));
        CHECK(same(floatFromBF16(half("F8_E4M3", 1, {byte}, true)[0]), value));
        CHECK(same(floatFromF16(half("F8_E5M2", 1, {byte})[0]), floatFromE5M2(byte)));
        CHECK(same(floatFromBF16(half("F8_E5M2", 1, {byte}, true)[0]), floatFromE5M2(byte)));
    }
    CHECK_EQUAL(half("F32", 4, bytesOf<float>({65504.0F, -0x1p-24F, inf, -0.0F}))[1], 0x8001);
    CHECK_EQUAL(half("F16", 1, bytesOf<uint16_t>({0x7C01}))[0], 0x7C01);
    CHECK_EQUAL(half("BF16", 1, bytesOf<uint16_t>({0x1234}), true)[0], 0x1234);
    CHECK_EQUAL(half("I64", 1, bytesOf<int64_t>({-2048}))[0], 0xE800);
    CHECK_EQUAL(half("I64", 1, bytesOf<int64_t>({INT64_MIN}), true)[0], 0xDF00);
    CHECK_EQUAL(half("F64", 1, bytesOf<double>({0.5}))[0], 0x3800);
    CHECK_EQUAL(floatFromF16(half("F64", 1, bytesOf<double>({std::nan("")}))[0]) == 0.0F, false);
    auto loses = [&](const std::string& dtype, const Bytes& data, bool brain, std::string_view value) {
        CHECK_THROWS("UnsupportedDType", ({"\"w\"", value, "at element 0", brain ? "bf16" : "f16"}),
                     half(dtype, 1, data, brain));
    };
    loses("F32", bytesOf<float>({65536.0F}), false, "65536");
    loses("F32", bytesOf<float>({65520.0F}), false, "65520");
    loses("F32", bytesOf<float>({0x1p-25F}), false, "2.98");
    loses("F32", bytesOf<float>({1.0F + 0x1p-11F}), false, "1.00048828125");
    loses("F32", bytesOf<float>({1.0F + 0x1p-8F}), true, "1.00390625");
    loses("BF16", bytesOf<uint16_t>({0x7F7F}), false, "e+38");
    loses("F16", bytesOf<uint16_t>({0x3C01}), true, "1.0009765625");
    loses("I64", bytesOf<int64_t>({INT64_MAX}), true, "9.2233720368547758e+18");
    loses("I32", bytesOf<int32_t>({16777217}), true, "16777216");
    loses("F64", bytesOf<double>({1.0 + 0x1p-40}), false, "holds 1 at");
}

TEST_CASE(quantised_types_are_dequantised) {
    std::vector<CheckpointBuffer> buffers;
    buffers.push_back({"rich.gguf", samples::richGguf()});
    const auto checkpoint = Checkpoint::openBuffers(std::move(buffers));
    const std::vector<float> q8 = floats(*checkpoint, "q8_0");
    for (int i = 0; i < 32; i++) CHECK_EQUAL(q8[static_cast<size_t>(i)], 0.5F * static_cast<float>(i - 16));
    // Scale 0x11 & 63 = 17 in the first four blocks, nibbles of 1, d = 1.
    const std::vector<float> q4 = floats(*checkpoint, "q4_K");
    CHECK_EQUAL(q4[0], 17.0F);
    CHECK_EQUAL(q4[127], 17.0F);
    CHECK_EQUAL(q4[128], 1.0F);
    CHECK_EQUAL(floats(*checkpoint, "iq2_xxs")[255], 0.0F);
    CHECK_EQUAL(floats(*checkpoint, "i64")[0], -5.0F);
    CHECK(!checkpoint->firstNonFinite(checkpoint->at("q8_0")).has_value());
}

/** Values made by ggml's own quantisers survive a trip through a file, for each type that has one. */
TEST_CASE(ggml_quantisers_round_trip) {
    constexpr int64_t columns = 256;
    constexpr int64_t rows = 20;  // more than a chunk
    std::vector<float> source(columns * rows);
    for (size_t i = 0; i < source.size(); i++) source[i] = std::sin(static_cast<float>(i) * 0.37F);
    int types = 0;
    for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                 GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K,
                                 GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS}) {
        Bytes data(ggml_row_size(type, columns) * rows);
        ggml_quantize_chunk(type, source.data(), data.data(), 0, rows, columns, nullptr);
        std::vector<float> wanted(source.size());
        ggml_get_type_traits(type)->to_float(data.data(), wanted.data(), columns * rows);
        std::vector<CheckpointBuffer> buffers;
        buffers.push_back({"q.gguf", samples::Gguf()
                                         .alignment(1)
                                         .string("shift", "x")
                                         .tensor("w", {columns, rows}, static_cast<uint32_t>(type), data)
                                         .build()});
        const auto checkpoint = Checkpoint::openBuffers(std::move(buffers));
        CHECK(checkpoint->at("w").dtype != CheckpointDType::Other);
        CHECK_EQUAL(std::string(dtypeName(checkpoint->at("w").dtype)), ggml_type_name(type));
        CHECK(floats(*checkpoint) == wanted);
        types++;
        // A scale that is no number shows.
        if (type == GGML_TYPE_Q8_0) {
            data[34 * 100] = 0x00, data[34 * 100 + 1] = 0x7E;
            std::vector<CheckpointBuffer> broken;
            broken.push_back({"q.gguf", samples::Gguf().tensor("w", {columns, rows}, 8, data).build()});
            const auto bad = Checkpoint::openBuffers(std::move(broken));
            CHECK_EQUAL(bad->firstNonFinite(bad->at("w")).value_or(0), 3200u);
        }
    }
    CHECK_EQUAL(types, 12);
}
