#include "check.h"
#include "checkpoint/checkpoint.h"
#include "samples.h"

using namespace mizuoto;
using samples::Bytes;
using samples::bytesOf;
using samples::Gguf;

namespace {

std::shared_ptr<const Checkpoint> parse(Bytes bytes) {
    std::vector<CheckpointBuffer> buffers;
    buffers.push_back({"model.gguf", std::move(bytes)});
    return Checkpoint::openBuffers(std::move(buffers));
}

Bytes patched(Bytes bytes, size_t at, const Bytes& with) {
    std::copy(with.begin(), with.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return bytes;
}

double number(const Metadata& metadata, std::string_view key) {
    return std::get<double>(metadata.find(key)->second);
}

const Bytes oneFloat = bytesOf<float>({1.0F});

}  // namespace

TEST_CASE(gguf_metadata_of_every_type) {
    const auto checkpoint = parse(samples::richGguf());
    CHECK_EQUAL(std::string(formatName(checkpoint->format())), "gguf");
    const Metadata& m = checkpoint->metadata();
    CHECK_EQUAL(std::get<std::string>(m.at("general.architecture")), "mini");
    CHECK_EQUAL(number(m, "u8"), 200.0);
    CHECK_EQUAL(number(m, "i8"), -100.0);
    CHECK_EQUAL(number(m, "u16"), 60000.0);
    CHECK_EQUAL(number(m, "i16"), -30000.0);
    CHECK_EQUAL(number(m, "u32"), 4000000000.0);
    CHECK_EQUAL(number(m, "i32"), -2000000000.0);
    CHECK_EQUAL(number(m, "f32"), 0.25);
    CHECK_EQUAL(std::get<bool>(m.at("bool")), true);
    CHECK_EQUAL(std::get<std::string>(m.at("u64")), "18446744073709551615");
    CHECK_EQUAL(number(m, "i64"), -9007199254740992.0);
    CHECK_EQUAL(number(m, "f64"), 1e300);
    const auto& tokens = std::get<std::vector<MetadataItem>>(m.at("tokens"));
    CHECK_EQUAL(tokens.size(), 3u);
    CHECK_EQUAL(std::get<std::string>(tokens[1]), "\xE5\xA3\xB0");
    const auto& scores = std::get<std::vector<MetadataItem>>(m.at("scores"));
    CHECK_EQUAL(std::get<double>(scores[0]), -1.5);
    CHECK_EQUAL(std::get<double>(std::get<std::vector<MetadataItem>>(m.at("flags"))[0]), 1.0);
    CHECK_EQUAL(std::get<std::vector<MetadataItem>>(m.at("none")).size(), 0u);
    CHECK(m.find("nested") == m.end());
}

TEST_CASE(gguf_tensors_in_pytorch_order) {
    const auto checkpoint = parse(samples::richGguf());
    CHECK_EQUAL(checkpoint->tensors().size(), 9u);
    const CheckpointTensor& tensor = checkpoint->at("f32");
    CHECK_EQUAL(tensor.shape[0], 2);
    CHECK_EQUAL(tensor.shape[1], 3);
    CHECK_EQUAL(std::string(dtypeName(checkpoint->at("q4_K").dtype)), "q4_K");
    CHECK_EQUAL(checkpoint->at("q4_K").bytes, 144u);
    CHECK_EQUAL(std::string(dtypeName(checkpoint->at("iq2_xxs").dtype)), "other");
    CHECK_EQUAL(checkpoint->at("iq2_xxs").storedDType, "iq2_xxs");
    CHECK_EQUAL(checkpoint->at("iq2_xxs").ggmlType, 16);
}

TEST_CASE(gguf_versions) {
    const Bytes sound = samples::richGguf();
    CHECK_EQUAL(parse(patched(sound, 4, {2, 0, 0, 0}))->tensors().size(), 9u);
    auto rejects = [&](const Bytes& version, std::string_view why) {
        CHECK_THROWS("HeaderInvalid", ({why}), parse(patched(sound, 4, version)));
    };
    rejects({0, 0, 0, 3}, "big-endian");
    rejects({1, 0, 0, 0}, "version 1");
    rejects({4, 0, 0, 0}, "version 4; versions 2 and 3");
    rejects({0, 0, 0, 0}, "the version is 0");
    rejects({0xFF, 0xFF, 0xFF, 0x7F}, "the version is 2,147,483,647");
}

TEST_CASE(gguf_ends_anywhere) {
    const Bytes sound = samples::richGguf();
    for (size_t size = 4; size < sound.size(); size++) {
        CHECK_THROWS("FileTruncated", ({"download it again"}),
                     parse(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size))));
    }
    Bytes padded = sound;
    padded.resize(sound.size() + 100);
    CHECK_EQUAL(parse(padded)->tensors().size(), 9u);
    CHECK_THROWS("FileTruncated", ({"needed", "has 20"}), parse(Bytes(sound.begin(), sound.begin() + 20)));
}

TEST_CASE(gguf_counts) {
    CHECK_THROWS("TensorCountAbsurd", ({"1,000,001 tensors", "limit 1,000,000"}),
                 parse(Gguf().build(1000001)));
    CHECK_THROWS("TensorCountAbsurd", ({"9,223,372,036,854,775,807"}), parse(Gguf().build(INT64_MAX)));
    CHECK_THROWS("HeaderTooLarge", ({"100,001 metadata keys"}), parse(Gguf().build(0, 100001)));
    CHECK_THROWS("FileTruncated", ({"24,024 bytes"}), parse(Gguf().build(1000, 0)));
    CHECK_EQUAL(parse(Gguf().build())->tensors().size(), 0u);
}

TEST_CASE(gguf_metadata_errors) {
    auto rejects = [](const char* code, const Gguf& file, std::string_view why) {
        check::throws(__FILE__, __LINE__, code, {why}, [&] { parse(file.build()); });
    };
    const Bytes zero(4, 0);
    rejects("HeaderInvalid", Gguf().key("a", 4, zero).key("a", 4, zero), "\"a\" comes twice");
    rejects("HeaderInvalid", Gguf().key("", 4, zero), "a metadata key of 0 bytes is not valid");
    rejects("HeaderInvalid", Gguf().key("\xFF\xFE", 4, zero), "is not valid");
    rejects("HeaderInvalid", Gguf().key(std::string(70000, 'k'), 4, zero), "70,000 bytes is not valid");
    rejects("HeaderInvalid", Gguf().key("a", 13, zero), "unknown type 13");
    rejects("HeaderInvalid", Gguf().key("a", 7, {2}), "a boolean is 2");
    rejects("HeaderInvalid", Gguf().key("a", 8, bytesOf<uint64_t>({uint64_t{1} << 40})),
            "1,099,511,627,776 bytes");
    rejects("FileTruncated", Gguf().key("a", 8, bytesOf<uint64_t>({1000})), "ends inside its header");
    rejects("FileTruncated", Gguf().array("a", 0, 1000, {}), "ends inside its header");
    rejects("HeaderTooLarge", Gguf().array("a", 0, UINT64_MAX, {}), "more than the limit of 8,000,000");
    rejects("HeaderTooLarge", Gguf().array("a", 0, 8000001, {}), "8,000,001 elements");
    Bytes nest;
    for (int i = 0; i < 6; i++) {
        samples::append(nest, uint32_t{9});
        samples::append(nest, uint64_t{1});
    }
    nest.resize(nest.size() + 64);
    rejects("HeaderInvalid", Gguf().key("deep", 9, nest), "nested too deep in \"deep\"");
    for (const uint32_t bad : {0U, 3U, 48U, 1U << 21}) {
        rejects("HeaderInvalid", Gguf().key("general.alignment", 4, bytesOf<uint32_t>({bad})),
                "power of two");
    }
    rejects("HeaderInvalid", Gguf().key("general.alignment", 10, bytesOf<uint64_t>({32})), "power of two");
    Bytes nestedAlignment;
    samples::append(nestedAlignment, uint32_t{9});
    samples::append(nestedAlignment, uint64_t{0});
    rejects("HeaderInvalid", Gguf().key("general.alignment", 9, nestedAlignment), "power of two");
    // One bad byte in a vocabulary does not cost the model.
    const auto repaired = parse(Gguf().string("text", "a\xFFz").build());
    CHECK_EQUAL(std::get<std::string>(repaired->metadata().at("text")), "a\xEF\xBF\xBDz");
}

TEST_CASE(gguf_tensor_errors) {
    auto rejects = [](const char* code, const Gguf& file, std::initializer_list<std::string_view> parts) {
        check::throws(__FILE__, __LINE__, code, parts, [&] { parse(file.build()); });
    };
    rejects("HeaderInvalid", Gguf().tensor("w", {1}, 0, oneFloat).tensor("w", {1}, 0, oneFloat),
            {"\"w\" comes twice"});
    rejects("HeaderInvalid", Gguf().tensor("\xC0", {1}, 0, oneFloat), {"name of 1 byte is not valid"});
    rejects("HeaderInvalid", Gguf().tensor(std::string(5000, 'n'), {1}, 0, oneFloat), {"5,000 bytes"});
    rejects("HeaderInvalid", Gguf().tensor("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, oneFloat), {"9 dimensions"});
    rejects("HeaderInvalid", Gguf().tensor("w", {uint64_t{1} << 63}, 0, oneFloat),
            {"a dimension of 9,223,372,036,854,775,808"});
    rejects("HeaderInvalid", Gguf().tensor("w", {1ULL << 32, 1ULL << 32}, 0, {}), {"64 bits"});
    rejects("HeaderInvalid", Gguf().tensor("w", {1ULL << 40, 1ULL << 22}, 0, {}), {"64 bits"});
    rejects("HeaderInvalid", Gguf().tensor("w", {33}, 8, {}),
            {"rows of 33 elements", "32 of one q8_0 block"});
    rejects("HeaderInvalid", Gguf().tensor("w", {}, 8, {}), {"rows of 1 elements"});
    rejects("HeaderInvalid", Gguf().tensorAt("w", {1}, 0, 5), {"byte 5 of the data", "alignment 32"});
    for (const uint32_t type : {4U, 5U, 31U, 36U, 43U, 9999U, UINT32_MAX}) {
        rejects("UnsupportedDType", Gguf().tensor("w", {1}, type, oneFloat), {"\"w\"", "type number"});
    }
    rejects("TensorOverlap", Gguf().tensor("a", {64}, 24, Bytes(64)).tensorAt("b", {1}, 24, 32),
            {"\"b\" begins at byte 32", "ends at 64"});
    rejects("TensorOverlap", Gguf().tensor("a", {1}, 24, Bytes(1)).tensorAt("b", {2}, 24, 0), {"\"b\""});
    rejects("TensorOutOfBounds", Gguf().tensor("a", {1}, 24, Bytes(1)).tensorAt("b", {1}, 24, 1024),
            {"\"b\" has 1 byte from byte 1,024"});
    rejects("TensorOutOfBounds",
            Gguf().tensor("a", {1}, 24, Bytes(1)).tensorAt("b", {1}, 24, UINT64_MAX - 31), {"\"b\""});
    rejects("FileTruncated", Gguf().tensor("a", {100}, 24, Bytes(99)), {"promises 164 bytes", "has 163"});
}

TEST_CASE(gguf_alignment_and_gaps) {
    const auto checkpoint =
        parse(Gguf().alignment(8).tensor("a", {1}, 24, Bytes(1, 7)).tensor("b", {}, 0, oneFloat).build());
    CHECK_EQUAL(checkpoint->at("b").elements, 1u);
    CHECK_EQUAL(checkpoint->at("b").data - checkpoint->at("a").data, 8);
    CHECK_EQUAL(*checkpoint->at("a").data, 7);
    // Writers may leave room between tensors, and name them in any order.
    Bytes data(104, 0);
    data[96] = 5;
    const auto apart = parse(Gguf().tensorAt("b", {8}, 24, 96).tensor("a", {32}, 24, data).build());
    CHECK_EQUAL(apart->tensors()[0].name, "a");
    CHECK_EQUAL(*apart->at("b").data, 5);
}

TEST_CASE(gguf_split_files_come_whole) {
    auto part = [](const char* name, uint16_t number) {
        return CheckpointBuffer{name, Gguf()
                                          .key("split.no", 2, bytesOf<uint16_t>({number}))
                                          .key("split.count", 2, bytesOf<uint16_t>({2}))
                                          .tensor("t" + std::to_string(number), {1}, 0, oneFloat)
                                          .build()};
    };
    CHECK_THROWS("ShardMissing", ({"one of 2 parts", "only this one was given"}),
                 Checkpoint::openBuffers({part("a.gguf", 0)}));
    const auto whole = Checkpoint::openBuffers({part("a.gguf", 0), part("b.gguf", 1)});
    CHECK_EQUAL(whole->tensors().size(), 2u);
    CHECK_EQUAL(whole->at("t1").file, 1u);
}
