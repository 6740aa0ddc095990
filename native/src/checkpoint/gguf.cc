#include "gguf.h"

#include <algorithm>

#include "gguf_cursor.h"
#include "gguf_metadata.h"

namespace mizuoto {

namespace {

constexpr uint32_t newestVersion = 3;
constexpr uint64_t maxMetadataKeys = 100'000;
/** Key or name, type, and the shortest value; name, rank, type and offset. */
constexpr uint64_t minPairBytes = 8 + 4 + 1;
constexpr uint64_t minInfoBytes = 8 + 4 + 4 + 8;

struct Entry {
    CheckpointTensor tensor;
    uint64_t offset = 0;
};

class Parser {
  public:
    Parser(std::span<const uint8_t> bytes, std::string_view file)
        : bytes_(bytes), file_(file), cursor_(bytes, file) {}

    ParsedFile parse() {
        readVersion();
        const auto tensorCount = cursor_.read<uint64_t>();
        const auto pairCount = cursor_.read<uint64_t>();
        checkCounts(tensorCount, pairCount);
        GgufMetadata metadata = readGgufMetadata(cursor_, file_, pairCount);
        alignment_ = metadata.alignment;
        cursor_.need(tensorCount * minInfoBytes);
        entries_.reserve(static_cast<size_t>(tensorCount));
        for (uint64_t i = 0; i < tensorCount; i++) entries_.push_back(readInfo());
        rejectDuplicates();
        place();

        ParsedFile result;
        result.format = CheckpointFormat::Gguf;
        result.metadata = std::move(metadata.values);
        result.splitCount = metadata.splitCount;
        result.tensors.reserve(entries_.size());
        for (Entry& entry : entries_) result.tensors.push_back(std::move(entry.tensor));
        return result;
    }

  private:
    void readVersion() {
        cursor_.skip(4);  // "GGUF"
        const auto version = cursor_.read<uint32_t>();
        if (version == 2 || version == newestVersion) return;
        if (version != 0 && (version & 0xFFFF) == 0) {
            failFile(
                "HeaderInvalid", file_,
                "is a big-endian GGUF file, made for another kind of processor; get the little-endian file.");
        }
        if (version == 1) {
            failFile(
                "HeaderInvalid", file_,
                "is a GGUF file of version 1, which was given up in 2023; get a newer file of this model.");
        }
        if (version > newestVersion && version < 100) {
            failFile("HeaderInvalid", file_,
                     "is a GGUF file of version " + std::to_string(version) +
                         "; versions 2 and 3 can be read, "
                         "update the studio or get the model in one of them.");
        }
        cursor_.fail(4, "the version is " + grouped(version));
    }

    void checkCounts(uint64_t tensors, uint64_t pairs) const {
        if (tensors > maxTensors) {
            failFile("TensorCountAbsurd", file_,
                     "announces " + grouped(tensors) + " tensors, more than any model has (limit " +
                         grouped(maxTensors) + "); it is damaged, download it again.",
                     {detailOf("found", tensors), detailOf("limit", maxTensors)});
        }
        if (pairs > maxMetadataKeys) {
            failFile("HeaderTooLarge", file_,
                     "announces " + grouped(pairs) + " metadata keys, more than the limit of " +
                         grouped(maxMetadataKeys) + "; it is damaged, download it again.",
                     {detailOf("found", pairs), detailOf("limit", maxMetadataKeys)});
        }
        cursor_.need(tensors * minInfoBytes + pairs * minPairBytes);
    }

    Entry readInfo() {
        Entry entry;
        CheckpointTensor& tensor = entry.tensor;
        const uint64_t start = cursor_.at();
        const std::string_view name = cursor_.readString("a tensor's name");
        if (name.size() > maxNameBytes || findInvalidUtf8(name) != std::string_view::npos) {
            cursor_.fail(start, "a tensor's name of " + byteCount(name.size()) + " is not valid");
        }
        tensor.name = name;
        const auto rank = cursor_.read<uint32_t>();
        if (rank > maxDimensions) {
            failTensor("HeaderInvalid", tensor,
                       "has " + grouped(rank) + " dimensions, more than " + grouped(maxDimensions));
        }
        tensor.shape.resize(rank);
        // GGUF writes the contiguous dimension first.
        for (uint32_t i = 0; i < rank; i++) {
            const auto size = cursor_.read<uint64_t>();
            if (size > static_cast<uint64_t>(INT64_MAX)) {
                failTensor("HeaderInvalid", tensor, "has a dimension of " + grouped(size));
            }
            tensor.shape[rank - 1 - i] = static_cast<int64_t>(size);
        }
        const auto typeNumber = cursor_.read<uint32_t>();
        entry.offset = cursor_.read<uint64_t>();
        measure(entry, typeNumber);
        return entry;
    }

    void measure(Entry& entry, uint32_t typeNumber) const {
        CheckpointTensor& tensor = entry.tensor;
        const GgufType type = ggufType(typeNumber);
        if (type.blockElements == 0) {
            failFile("UnsupportedDType", file_,
                     "stores tensor " + quoted(tensor.name) + " in type number " + grouped(typeNumber) +
                         ", which this version of ggml does not know; get the model in another quantisation.",
                     {detailOf("tensor", tensor.name), detailOf("type", typeNumber)});
        }
        tensor.dtype = type.dtype;
        tensor.storedDType = type.name;
        tensor.ggmlType = static_cast<int>(typeNumber);
        uint64_t elements = 1;
        uint64_t bytes = 0;
        bool fits = true;
        for (const int64_t size : tensor.shape) {
            fits = fits && checkedMultiply(elements, static_cast<uint64_t>(size), elements);
        }
        fits = fits && elements <= static_cast<uint64_t>(INT64_MAX) &&
               checkedMultiply(elements / type.blockElements, type.blockBytes, bytes);
        if (!fits) failTensor("HeaderInvalid", tensor, "has more elements than 64 bits can count");
        const uint64_t row = tensor.shape.empty() ? 1 : static_cast<uint64_t>(tensor.shape.back());
        if (row % type.blockElements != 0) {
            failTensor("HeaderInvalid", tensor,
                       "has rows of " + grouped(row) + " elements, which is no multiple of the " +
                           grouped(type.blockElements) + " of one " + type.name + " block");
        }
        if (entry.offset % alignment_ != 0) {
            failTensor("HeaderInvalid", tensor,
                       "begins at byte " + grouped(entry.offset) +
                           " of the data, which is no multiple of the "
                           "alignment " +
                           grouped(alignment_));
        }
        tensor.elements = elements;
        tensor.bytes = bytes;
    }

    void rejectDuplicates() const {
        std::vector<const Entry*> order;
        order.reserve(entries_.size());
        for (const Entry& entry : entries_) order.push_back(&entry);
        std::sort(order.begin(), order.end(),
                  [](auto* a, auto* b) { return a->tensor.name < b->tensor.name; });
        const auto twice = std::adjacent_find(
            order.begin(), order.end(), [](auto* a, auto* b) { return a->tensor.name == b->tensor.name; });
        if (twice != order.end()) failTensor("HeaderInvalid", (*twice)->tensor, "comes twice");
    }

    uint64_t padded(uint64_t size) const {
        uint64_t sum = 0;
        return checkedAdd(size, alignment_ - 1, sum) ? sum / alignment_ * alignment_ : UINT64_MAX;
    }

    /** Sorts by place; no two tensors may share a byte, and none may leave the file. */
    void place() {
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
            if (a.offset != b.offset) return a.offset < b.offset;
            return a.tensor.bytes != b.tensor.bytes ? a.tensor.bytes < b.tensor.bytes
                                                    : a.tensor.name < b.tensor.name;
        });
        const uint64_t dataStart = std::min<uint64_t>(padded(cursor_.at()), bytes_.size());
        const uint64_t available = bytes_.size() - dataStart;
        uint64_t at = 0;
        bool dense = true;
        const Entry* outside = nullptr;
        for (Entry& entry : entries_) {
            if (entry.offset < at) {
                failTensor("TensorOverlap", entry.tensor,
                           "begins at byte " + grouped(entry.offset) +
                               " of the data, where the one before it ends "
                               "at " +
                               grouped(at));
            }
            uint64_t end = UINT64_MAX;
            checkedAdd(entry.offset, entry.tensor.bytes, end);
            dense = dense && entry.offset == padded(at);
            if (end > available && outside == nullptr) outside = &entry;
            at = end;
            entry.tensor.data = bytes_.data() + dataStart + std::min(entry.offset, available);
        }
        if (outside == nullptr) return;
        // Tensors without a gap make a sound header: the bytes are missing, not the header wrong.
        uint64_t expected = UINT64_MAX;
        if (dense && checkedAdd(padded(cursor_.at()), at, expected)) {
            failFile("FileTruncated", file_,
                     "ends too early: its header promises " + byteCount(expected) + " and the file has " +
                         grouped(bytes_.size()) + "; download it again.",
                     {detailOf("expected", expected), detailOf("found", bytes_.size())});
        }
        failTensor("TensorOutOfBounds", outside->tensor,
                   "has " + byteCount(outside->tensor.bytes) + " from byte " + grouped(outside->offset) +
                       " of the data, of which there are " + grouped(available));
    }

    [[noreturn]] void failTensor(ErrorCode code, const CheckpointTensor& tensor,
                                 const std::string& why) const {
        failFile(code, file_,
                 "is damaged: tensor " + quoted(tensor.name) + " " + why + "; download it again.",
                 {detailOf("tensor", tensor.name)});
    }

    std::span<const uint8_t> bytes_;
    std::string_view file_;
    GgufCursor cursor_;
    uint64_t alignment_ = 0;
    std::vector<Entry> entries_;
};

}  // namespace

ParsedFile parseGguf(std::span<const uint8_t> bytes, std::string_view file) {
    return Parser(bytes, file).parse();
}

}  // namespace mizuoto
