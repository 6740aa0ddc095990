#include "check.h"
#include "checkpoint/checkpoint.h"
#include "samples.h"

using namespace mizuoto;
using samples::Bytes;
using samples::bytesOf;
using samples::rawSafetensors;
using samples::Safetensors;
using namespace std::string_view_literals;

namespace {

std::shared_ptr<const Checkpoint> parse(Bytes bytes, std::string name = "model.safetensors") {
    std::vector<CheckpointBuffer> buffers;
    buffers.push_back({std::move(name), std::move(bytes)});
    return Checkpoint::openBuffers(std::move(buffers));
}

const Bytes fourBytes = {1, 2, 3, 4};

/** A header with one tensor "w" of which the parts are given as text. */
std::string oneTensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{\"w\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}

}  // namespace

TEST_CASE(lists_every_dtype_of_the_format) {
    const auto checkpoint = parse(samples::everySafetensorsType());
    CHECK_EQUAL(std::string(formatName(checkpoint->format())), "safetensors");
    CHECK_EQUAL(checkpoint->tensors().size(), 16u);
    const char* names[] = {"f64", "f32",  "i64",     "i32",     "f16",   "bf16",  "i16", "i8",
                           "u8",  "bool", "f8_e4m3", "f8_e5m2", "other", "other", "f32", "f16"};
    for (size_t i = 0; i < 16; i++)
        CHECK_EQUAL(std::string(dtypeName(checkpoint->tensors()[i].dtype)), names[i]);
    const CheckpointTensor& half = checkpoint->at("e.f16");
    CHECK_EQUAL(half.shape.size(), 2u);
    CHECK_EQUAL(half.shape[0], 2);
    CHECK_EQUAL(half.shape[1], 1);
    CHECK_EQUAL(half.bytes, 4u);
    CHECK_EQUAL(half.elements, 2u);
    CHECK_EQUAL(half.data[1], 0x3C);
    CHECK_EQUAL(checkpoint->at("o.scalar").elements, 1u);
    CHECK_EQUAL(checkpoint->at("p.empty").elements, 0u);
    CHECK(checkpoint->at("p.empty").data != nullptr);
    CHECK_EQUAL(checkpoint->at("m.u16").storedDType, "U16");
    CHECK_EQUAL(std::get<std::string>(checkpoint->metadata().at("title")),
                "\xE5\xA3\xB0\xE9\x9F\xB3 \xF0\x9F\x98\x80");
    CHECK(checkpoint->find("nothing") == nullptr);
    CHECK_THROWS("InvalidArgument", ({"\"nothing\"", "16 tensors", "\"a.f64\""}), checkpoint->at("nothing"));
}

TEST_CASE(tensors_come_in_the_order_of_their_bytes) {
    const auto checkpoint = parse(rawSafetensors(
        R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
        fourBytes));
    CHECK_EQUAL(checkpoint->tensors()[0].name, "a");
    CHECK_EQUAL(checkpoint->at("b").data[0], 4);
}

TEST_CASE(empty_checkpoints_and_unknown_keys_are_sound) {
    CHECK_EQUAL(parse(rawSafetensors("{}"))->tensors().size(), 0u);
    CHECK_EQUAL(parse(rawSafetensors("{}   \n"))->tensors().size(), 0u);
    CHECK_EQUAL(parse(rawSafetensors(R"({"__metadata__":{}})"))->tensors().size(), 0u);
    CHECK_EQUAL(
        parse(
            rawSafetensors(
                R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":{"y":[1,{},"\n",-1.5e3,null]}}})"))
            ->tensors()
            .size(),
        1u);
    // Several empty tensors share a place.
    CHECK_EQUAL(parse(rawSafetensors(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},
        "b":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]},"c":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                     {9}))
                    ->at("c")
                    .data[0],
                9);
}

TEST_CASE(a_dtype_of_a_later_version_is_listed) {
    const auto checkpoint = parse(rawSafetensors(oneTensor("\"F2_X\"", "[16]", "[0,4]"), fourBytes));
    CHECK_EQUAL(std::string(dtypeName(checkpoint->at("w").dtype)), "other");
    CHECK_EQUAL(checkpoint->at("w").bytes, 4u);
    float out[16];
    CHECK_THROWS("UnsupportedDType", ({"\"w\"", "\"F2_X\""}),
                 checkpoint->readFloat32(checkpoint->at("w"), out));
}

TEST_CASE(header_length_against_file) {
    CHECK_THROWS("FileTruncated", ({"only 4 bytes"}), parse({1, 2, 3, 4}));
    CHECK_THROWS("FileTruncated", ({"ends inside its header", "1,008 bytes", "the file has 10"}),
                 parse(rawSafetensors("{}", {}, 1000)));
    CHECK_THROWS("HeaderTooLarge", ({"100,000,001 bytes", "100,000,000 bytes"}),
                 parse(rawSafetensors("{}", {}, 100000001)));
    CHECK_THROWS("HeaderTooLarge", ({"bytes"}), parse(rawSafetensors("{}", {}, INT64_MAX)));
    CHECK_THROWS("HeaderInvalid", ({"of 0 bytes does not begin with '{'"}),
                 parse({0, 0, 0, 0, 0, 0, 0, 0, '[', ']', 1}, "x.safetensors"));
    CHECK_THROWS("HeaderInvalid", ({"of 1 byte does not begin"}), parse(rawSafetensors("{}", {}, 1)));
    CHECK_THROWS("HeaderInvalid", ({"of 4 bytes does not begin with '{'"}), parse(rawSafetensors(" {} ")));
    CHECK_THROWS("FileNotACheckpoint", ({"no safetensors file"}),
                 parse(samples::textBytes(std::string(40, '\xE7')), "x.safetensors"));
}

TEST_CASE(safetensors_end_anywhere) {
    const Bytes sound = samples::everySafetensorsType();
    for (size_t size = 0; size < sound.size(); size++) {
        CHECK_THROWS("FileTruncated", ({"download it again"}),
                     parse(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size))));
    }
    Bytes longer = sound;
    longer.push_back(0);
    CHECK_THROWS("HeaderInvalid", ({"1 byte too many"}), parse(longer));
}

TEST_CASE(json_depth) {
    auto nested = [](int arrays) {
        const std::string value =
            std::string(static_cast<size_t>(arrays), '[') + std::string(static_cast<size_t>(arrays), ']');
        return rawSafetensors("{\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":" + value +
                              "}}");
    };
    CHECK_EQUAL(parse(nested(30))->tensors().size(), 1u);
    CHECK_THROWS("HeaderInvalid", ({"nested deeper than 32 levels"}), parse(nested(31)));
    CHECK_THROWS("HeaderInvalid", ({"nested deeper"}), parse(nested(1000000)));
}

TEST_CASE(json_is_strict) {
    auto rejects = [](std::string_view header, std::string_view why) {
        CHECK_THROWS("HeaderInvalid", ({why, "at byte"}), parse(rawSafetensors(header)));
    };
    rejects("{} x", "something follows its end");
    rejects("{\"a\":1}", "an object was expected");
    rejects("{   ", "a string was expected");
    rejects("{\"a", "a string has no end");
    rejects("{\"a\\", "a string has no end");
    rejects("{\"a\nb\":{}}", "control character");
    rejects("{\"a\\x\":{}}", "unknown escape");
    rejects("{\"a\\u12\":{}}", "hexadecimal");
    rejects("{\"a\\ud800\":{}}", "lone surrogate");
    rejects("{\"a\\ud800\\u0041\":{}}", "lone surrogate");
    rejects("{\"a\\udc00\":{}}", "lone surrogate");
    rejects("{\"a\" {}}", "':' was expected");
    rejects("{\"\xC3\x28\":{}}", "not valid UTF-8");
    rejects("{\"\xED\xA0\x80\":{}}", "not valid UTF-8");
    rejects("{\"\xC0\xAF\":{}}", "not valid UTF-8");
    rejects("{\"\xF4\x90\x80\x80\":{}}", "not valid UTF-8");
    rejects(std::string_view("{\0}", 3), "a string was expected");
    rejects(oneTensor("\"U8\"", "[1,]", "[0,0]"), "non-negative integer");
    rejects(oneTensor("\"U8\"", "[-1]", "[0,0]"), "non-negative integer");
    rejects(oneTensor("\"U8\"", "[1.0]", "[0,1]"), "not a plain integer");
    rejects(oneTensor("\"U8\"", "[1e1]", "[0,1]"), "not a plain integer");
    rejects(oneTensor("\"U8\"", "[01]", "[0,1]"), "leading zero");
    rejects(oneTensor("\"U8\"", "[9007199254740992]", "[0,1]"), "2^53");
    rejects(oneTensor("\"U8\"", "[99999999999999999999999]", "[0,1]"), "2^53");
    rejects(oneTensor("\"U8\"", "[1 1]", "[0,1]"), "',' or ']'");
    rejects(oneTensor("8", "[1]", "[0,1]"), "a string was expected");
    rejects(oneTensor("\"U8\"", "1", "[0,1]"), "an array was expected");
    rejects("{\"w\":{\"x\":" + std::string(40, '[') + std::string(40, ']') + "}}", "nested deeper");
    rejects("{\"w\":{\"x\":[1,2", "',' or ']'");
    rejects("{\"w\":{\"x\":tru}}", "a value was expected");
    rejects("{\"w\":{\"x\":-}}", "a digit was expected");
    rejects("{\"w\":{\"x\":1.}}", "a digit was expected");
    rejects("{\"w\":{\"x\":1e}}", "a digit was expected");
    rejects("{\"w\":{\"x\":00}}", "',' or '}'");
    rejects("{,}", "a string was expected");
}

TEST_CASE(json_escapes) {
    const auto checkpoint = parse(
        rawSafetensors(R"({"__metadata__":{"all":"\"\\\/\b\f\n\r\t\u0041\u00e9\u58F0\ud83D\uDE00\u0000"}})"));
    constexpr std::string_view wanted = "\"\\/\b\f\n\r\tA\xC3\xA9\xE5\xA3\xB0\xF0\x9F\x98\x80\0"sv;
    CHECK_EQUAL(std::get<std::string>(checkpoint->metadata().at("all")), wanted);
}

TEST_CASE(duplicates_and_missing_parts) {
    auto rejects = [](std::string_view header, std::string_view why) {
        CHECK_THROWS("HeaderInvalid", ({why}), parse(rawSafetensors(header)));
    };
    const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    rejects("{\"w\":" + empty + ",\"w\":" + empty + "}", "tensor \"w\" comes twice");
    rejects("{\"w\":" + empty + ",\"\\u0077\":" + empty + "}", "tensor \"w\" comes twice");
    rejects(R"({"__metadata__":{},"__metadata__":{}})", "\"__metadata__\" comes twice");
    rejects(R"({"__metadata__":{"a":"1","a":"2"}})", "\"a\" comes twice");
    rejects(R"({"__metadata__":{"a":1}})", "\"a\" in \"__metadata__\" is not a string");
    rejects(R"({"w":{"dtype":"U8","dtype":"U8"}})", "comes twice");
    rejects(R"({"w":{"shape":[0],"data_offsets":[0,0]}})", "lacks its dtype");
    rejects(R"({"w":{"dtype":"U8","data_offsets":[0,0]}})", "lacks its shape");
    rejects(R"({"w":{"dtype":"U8","shape":[0]}})", "lacks its data_offsets");
    rejects(oneTensor("\"U8\"", "[0]", "[0]"), "needs two data_offsets");
    rejects(oneTensor("\"U8\"", "[0]", "[0,0,0]"), "more than two data_offsets");
    rejects(oneTensor("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "more than 8 dimensions");
    rejects(oneTensor("\"" + std::string(40, 'F') + "\"", "[0]", "[0,0]"),
            "dtype of tensor \"w\" has 40 bytes");
    rejects("{\"" + std::string(5000, 'n') + "\":" + empty + "}", "name has 5,000 bytes");
}

TEST_CASE(offsets_and_sizes) {
    auto rejects = [](const char* code, std::string_view header,
                      std::initializer_list<std::string_view> parts, const Bytes& data = fourBytes) {
        check::throws(__FILE__, __LINE__, code, parts, [&] { parse(rawSafetensors(header, data)); });
    };
    rejects("HeaderInvalid", oneTensor("\"U8\"", "[4]", "[4,0]"), {"\"w\"", "before its begin"});
    rejects("HeaderInvalid", oneTensor("\"F32\"", "[2]", "[0,4]"), {"for 4 bytes", "2 elements of 32 bits"});
    rejects("HeaderInvalid", oneTensor("\"F4\"", "[3]", "[0,1]"), {"3 elements of 4 bits"});
    rejects("HeaderInvalid", oneTensor("\"F32\"", "[4294967296,4294967296]", "[0,4]"), {"64 bits can count"});
    rejects("HeaderInvalid", oneTensor("\"F64\"", "[4503599627370496,1024]", "[0,4]"), {"64 bits can count"});
    // 2^62 elements of 4 bytes: the product of the sizes would wrap to 0.
    rejects("HeaderInvalid", oneTensor("\"F32\"", "[4503599627370496,1024]", "[0,0]"), {"64 bits can count"});
    rejects("FileTruncated", oneTensor("\"U8\"", "[9]", "[0,9]"), {"promises 70 bytes", "has 65"});
    rejects("HeaderInvalid", oneTensor("\"U8\"", "[3]", "[0,3]"),
            {"1 byte too many", "64 bytes were expected", "has 65"});
    rejects("HeaderInvalid", "{}", {"4 bytes too many after its last tensor"});
    rejects("HeaderInvalid", oneTensor("\"U8\"", "[3]", "[1,4]"), {"hole of 1 byte"});
    rejects("TensorOutOfBounds", oneTensor("\"U8\"", "[4]", "[1000,1004]"),
            {"\"w\"", "1,000 to 1,004", "there are 4"});
    rejects(
        "TensorOverlap",
        R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
        {"\"b\" begins at byte 2", "ends at 3"});
    rejects(
        "TensorOverlap",
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
        {"\"b\""});
}

TEST_CASE(absurd_counts_stop_early) {
    std::string header = "{";
    for (int i = 0; i < 1000001; i++) {
        header += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
                  R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    header += "}";
    CHECK_THROWS("TensorCountAbsurd", ({"more than 1,000,000 tensors"}), parse(rawSafetensors(header)));
}

TEST_CASE(names_in_messages_are_clean) {
    CHECK_THROWS("HeaderInvalid", ({"\"a\\x01\\x0Ab\"", "lacks its dtype"}),
                 parse(rawSafetensors(R"({"a\u0001\nb":{}})")));
    const std::string longName(3000, 'x');
    CHECK_THROWS("HeaderInvalid", ({"xxx...xxx"}), parse(rawSafetensors("{\"" + longName + "\":{}}")));
}
