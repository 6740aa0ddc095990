#include "exercise.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "checkpoint/text.h"

namespace fuzz {

using namespace mizuoto;

namespace {

/** The codes that native/addon.ts promises for opening and reading. */
constexpr std::string_view codes[] = {
    "InvalidArgument", "UnsupportedDType",   "FileNotFound",  "FileUnreadable", "FileTruncated",
    "FileIsHtml",      "FileNotACheckpoint", "FileIsPickle",  "HeaderInvalid",  "FileIsLfsPointer",
    "HeaderTooLarge",  "TensorOutOfBounds",  "TensorOverlap", "ShardMissing",   "TensorCountAbsurd"};

void requireSound(const Error& error) {
    if (std::find(std::begin(codes), std::end(codes), error.code) == std::end(codes)) {
        broken("unknown code " + error.code);
    }
    const std::string& text = error.message;
    const bool clean =
        !text.empty() && text.size() < 4000 && text.back() == '.' &&
        findInvalidUtf8(text) == std::string::npos &&
        std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (!clean) broken("the message is no clean sentence: " + text);
}

/** True unless it throws; only Error may be thrown. */
template <typename Body>
bool attempt(Body&& body) {
    try {
        body();
        return true;
    } catch (const Error& error) {
        requireSound(error);
    } catch (const std::exception& error) {
        broken(std::string("not an Error: ") + error.what());
    }
    return false;
}

/** Largest tensor that is read: more only costs time. */
constexpr uint64_t maxElements = 1 << 20;

void readAll(const Checkpoint& checkpoint) {
    uint64_t before = 0;
    const CheckpointTensor* last = nullptr;
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
        if (tensor.data == nullptr || tensor.file >= checkpoint.files().size())
            broken("a tensor lies nowhere");
        if (checkpoint.find(tensor.name) != &tensor) broken("a tensor is not found by its name");
        if (tensor.shape.size() > 8) broken("a tensor has too many dimensions");
        // Tensors of a file come in order and apart.
        if (last != nullptr && last->file == tensor.file && tensor.data < last->data + last->bytes) {
            broken("tensors overlap or are out of order");
        }
        last = &tensor;
        // Every byte is there to be read.
        for (uint64_t i = 0; i < tensor.bytes; i++) before += tensor.data[i];
        if (tensor.elements > maxElements) continue;
        std::vector<float> floats(tensor.elements);
        std::vector<uint16_t> halves(tensor.elements);
        const bool readable = attempt([&] { checkpoint.readFloat32(tensor, floats.data()); });
        std::optional<uint64_t> bad;
        const bool scanned = attempt([&] { bad = checkpoint.firstNonFinite(tensor); });
        if (readable && !scanned) broken("a tensor can be read but not scanned");
        const auto found =
            std::find_if(floats.begin(), floats.end(), [](float v) { return !(v - v == 0.0F); });
        const bool clean = found == floats.end();
        if (readable && clean != !bad.has_value()) broken("reading and scanning disagree about NaN");
        if (readable && bad && *bad != static_cast<uint64_t>(found - floats.begin()))
            broken("another first NaN");
        attempt([&] { checkpoint.readFloat16Exact(tensor, halves.data()); });
        attempt([&] { checkpoint.readBFloat16Exact(tensor, halves.data()); });
    }
    static volatile uint64_t sink;
    sink = before;
    (void)sink;
    attempt([&] { checkpoint.at("no such tensor"); });
}

}  // namespace

void broken(const std::string& why) {
    std::fprintf(stderr, "BROKEN: %s\n", why.c_str());
    std::abort();
}

bool exerciseBuffers(std::vector<CheckpointBuffer> buffers) {
    // A buffer of exactly its size, so that a read past its end is seen.
    for (CheckpointBuffer& buffer : buffers) buffer.bytes.shrink_to_fit();
    return attempt([&] { readAll(*Checkpoint::openBuffers(std::move(buffers))); });
}

bool exerciseFiles(const std::vector<std::string>& paths) {
    return attempt([&] { readAll(*Checkpoint::open(paths)); });
}

}  // namespace fuzz
