#include "safetensors.h"

#include <algorithm>

#include "json_reader.h"
#include "text.h"

namespace mizuoto {

namespace {

constexpr uint64_t lengthBytes = 8;
/** Upstream's limit. */
constexpr uint64_t maxHeaderBytes = 100'000'000;
constexpr uint64_t maxDTypeNameBytes = 32;

uint64_t headerLength(std::span<const uint8_t> bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < lengthBytes; i++) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    return value;
}

/** A tensor of the header, and where it lies in the data that follows the header. */
struct Entry {
    CheckpointTensor tensor;
    uint64_t begin = 0;
    uint64_t end = 0;
};

class Parser {
  public:
    Parser(std::span<const uint8_t> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

    ParsedFile parse() {
        const std::string_view header = readHeader();
        parseHeader(header);
        place(lengthBytes + header.size());
        ParsedFile result;
        result.format = CheckpointFormat::Safetensors;
        result.metadata = std::move(metadata_);
        result.tensors.reserve(entries_.size());
        for (Entry& entry : entries_) result.tensors.push_back(std::move(entry.tensor));
        return result;
    }

  private:
    std::string_view readHeader() {
        if (bytes_.size() < safetensorsMinBytes) {
            failFile(
                "FileTruncated", file_,
                "has only " + byteCount(bytes_.size()) + ", too few for a checkpoint; download it again.",
                {detailOf("expected", safetensorsMinBytes), detailOf("found", bytes_.size())});
        }
        const uint64_t length = headerLength(bytes_);
        if (length > maxHeaderBytes) {
            if (bytes_[lengthBytes] != '{') {
                failFile(
                    "FileNotACheckpoint", file_,
                    "is no safetensors file, whatever its name says (no header follows its first 8 bytes); "
                    "download it again.");
            }
            failFile("HeaderTooLarge", file_,
                     "announces a header of " + byteCount(length) + ", more than the format's limit of " +
                         byteCount(maxHeaderBytes) + "; it is damaged, download it again.",
                     {detailOf("found", length), detailOf("limit", maxHeaderBytes)});
        }
        if (length > bytes_.size() - lengthBytes) {
            failFile("FileTruncated", file_,
                     "ends inside its header: " + byteCount(lengthBytes + length) +
                         " are needed for it and the file has " + grouped(bytes_.size()) +
                         "; download it again.",
                     {detailOf("expected", lengthBytes + length), detailOf("found", bytes_.size())});
        }
        if (length < 2 || bytes_[lengthBytes] != '{') {
            failFile("HeaderInvalid", file_,
                     "is damaged: its header of " + byteCount(length) +
                         " does not begin with '{'; download it again.");
        }
        return {reinterpret_cast<const char*>(bytes_.data()) + lengthBytes, static_cast<size_t>(length)};
    }

    void parseHeader(std::string_view header) {
        JsonReader json(header, file_, "header");
        bool hasMetadata = false;
        std::string key;
        json.beginObject();
        while (json.nextKey(key)) {
            if (key == "__metadata__") {
                if (hasMetadata) json.fail("\"__metadata__\" comes twice");
                hasMetadata = true;
                parseMetadata(json);
                continue;
            }
            if (entries_.size() >= maxTensors) {
                failFile("TensorCountAbsurd", file_,
                         "lists more than " + grouped(maxTensors) +
                             " tensors, more than any model has; it is damaged, download it again.",
                         {detailOf("limit", maxTensors)});
            }
            if (key.size() > maxNameBytes) {
                json.fail("a tensor's name has " + byteCount(key.size()) + ", more than " +
                          grouped(maxNameBytes));
            }
            entries_.push_back(parseTensor(json, key));
        }
        json.end();
        rejectDuplicates(json);
    }

    void parseMetadata(JsonReader& json) {
        std::string key;
        std::string value;
        json.beginObject();
        while (json.nextKey(key)) {
            if (!json.atString())
                json.fail("the value of " + quoted(key) + " in \"__metadata__\" is not a string");
            json.readString(value);
            if (!metadata_.emplace(key, value).second)
                json.fail(quoted(key) + " comes twice in \"__metadata__\"");
        }
    }

    Entry parseTensor(JsonReader& json, const std::string& name) {
        Entry entry;
        entry.tensor.name = name;
        bool hasDType = false;
        bool hasShape = false;
        bool hasOffsets = false;
        auto once = [&](bool& seen) {
            if (seen) json.fail("a key of tensor " + quoted(name) + " comes twice");
            seen = true;
        };
        std::string key;
        json.beginObject();
        while (json.nextKey(key)) {
            if (key == "dtype") {
                once(hasDType);
                json.readString(entry.tensor.storedDType);
                if (entry.tensor.storedDType.size() > maxDTypeNameBytes) {
                    json.fail("the dtype of tensor " + quoted(name) + " has " +
                              byteCount(entry.tensor.storedDType.size()));
                }
            } else if (key == "shape") {
                once(hasShape);
                json.beginArray();
                while (json.nextItem()) {
                    if (entry.tensor.shape.size() >= maxDimensions) {
                        json.fail("tensor " + quoted(name) + " has more than " + grouped(maxDimensions) +
                                  " dimensions");
                    }
                    entry.tensor.shape.push_back(static_cast<int64_t>(json.readInteger()));
                }
            } else if (key == "data_offsets") {
                once(hasOffsets);
                uint64_t offsets[2] = {};
                size_t count = 0;
                json.beginArray();
                while (json.nextItem()) {
                    if (count == 2) json.fail("tensor " + quoted(name) + " has more than two data_offsets");
                    offsets[count++] = json.readInteger();
                }
                if (count != 2) json.fail("tensor " + quoted(name) + " needs two data_offsets");
                entry.begin = offsets[0];
                entry.end = offsets[1];
            } else {
                json.skipValue();
            }
        }
        if (!hasDType || !hasShape || !hasOffsets) {
            json.fail("tensor " + quoted(name) + " lacks its " +
                      (!hasDType   ? "dtype"
                       : !hasShape ? "shape"
                                   : "data_offsets"));
        }
        checkSize(entry);
        return entry;
    }

    /** The length between the offsets must be that of shape and dtype. */
    void checkSize(Entry& entry) {
        CheckpointTensor& tensor = entry.tensor;
        if (entry.begin > entry.end) {
            failTensor(
                "HeaderInvalid", tensor,
                "ends at byte " + grouped(entry.end) + ", before its begin at " + grouped(entry.begin));
        }
        uint64_t elements = 1;
        for (const int64_t size : tensor.shape) {
            if (!checkedMultiply(elements, static_cast<uint64_t>(size), elements) || elements > INT64_MAX) {
                failTensor("HeaderInvalid", tensor, "has more elements than 64 bits can count");
            }
        }
        tensor.elements = elements;
        tensor.bytes = entry.end - entry.begin;
        const SafetensorsDType type = safetensorsDType(tensor.storedDType);
        tensor.dtype = type.dtype;
        tensor.ggmlType = ggmlTypeOf(type.dtype);
        if (type.bits == 0) return;  // A dtype of a later version: only its bytes are known.
        uint64_t bits = 0;
        if (!checkedMultiply(elements, type.bits, bits)) {
            failTensor("HeaderInvalid", tensor, "has more elements than 64 bits can count");
        }
        if (bits % 8 != 0 || bits / 8 != tensor.bytes) {
            failTensor("HeaderInvalid", tensor,
                       "has data_offsets for " + byteCount(tensor.bytes) + ", but its shape and dtype " +
                           tensor.storedDType + " make " + grouped(elements) + " elements of " +
                           std::to_string(type.bits) + " bits");
        }
    }

    void rejectDuplicates(const JsonReader& json) {
        std::vector<const std::string*> names;
        names.reserve(entries_.size());
        for (const Entry& entry : entries_) names.push_back(&entry.tensor.name);
        std::sort(names.begin(), names.end(), [](auto* a, auto* b) { return *a < *b; });
        const auto twice =
            std::adjacent_find(names.begin(), names.end(), [](auto* a, auto* b) { return *a == *b; });
        if (twice != names.end()) json.fail("tensor " + quoted(**twice) + " comes twice");
    }

    /** Sorts by place and checks that the tensors fill the rest of the file, end to end. */
    void place(uint64_t dataStart) {
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
            if (a.begin != b.begin) return a.begin < b.begin;
            return a.end != b.end ? a.end < b.end : a.tensor.name < b.tensor.name;
        });
        const uint64_t available = bytes_.size() - dataStart;
        uint64_t at = 0;
        for (Entry& entry : entries_) {
            if (entry.begin < at) {
                failTensor("TensorOverlap", entry.tensor,
                           "begins at byte " + grouped(entry.begin) +
                               " of the data, where the one before it ends at " + grouped(at));
            }
            if (entry.begin > at) {
                if (entry.end > available) {
                    failTensor("TensorOutOfBounds", entry.tensor,
                               "lies at bytes " + grouped(entry.begin) + " to " + grouped(entry.end) +
                                   " of the data, of which there are " + grouped(available));
                }
                failTensor("HeaderInvalid", entry.tensor,
                           "begins at byte " + grouped(entry.begin) + " of the data and leaves a hole of " +
                               byteCount(entry.begin - at) + " before it");
            }
            at = entry.end;
            // Empty files of tensors have no data to point at; the end of the header serves.
            entry.tensor.data = bytes_.data() + dataStart + std::min(entry.begin, available);
        }
        if (at > available) {
            failFile("FileTruncated", file_,
                     "ends too early: its header promises " + byteCount(dataStart + at) +
                         " and the file has " + grouped(bytes_.size()) + "; download it again.",
                     {detailOf("expected", dataStart + at), detailOf("found", bytes_.size())});
        }
        if (at < available) {
            failFile("HeaderInvalid", file_,
                     "is damaged: it has " + byteCount(available - at) + " too many after its last tensor (" +
                         grouped(dataStart + at) + " bytes were expected and the file has " +
                         grouped(bytes_.size()) + "); download it again.",
                     {detailOf("expected", dataStart + at), detailOf("found", bytes_.size())});
        }
    }

    [[noreturn]] void failTensor(ErrorCode code, const CheckpointTensor& tensor,
                                 const std::string& why) const {
        failFile(code, file_,
                 "is damaged: tensor " + quoted(tensor.name) + " " + why + "; download it again.",
                 {detailOf("tensor", tensor.name)});
    }

    std::span<const uint8_t> bytes_;
    std::string_view file_;
    std::vector<Entry> entries_;
    Metadata metadata_;
};

}  // namespace

bool looksLikeSafetensors(std::span<const uint8_t> bytes) {
    return bytes.size() > lengthBytes && bytes[lengthBytes] == '{' && headerLength(bytes) <= maxHeaderBytes;
}

ParsedFile parseSafetensors(std::span<const uint8_t> bytes, std::string_view file) {
    return Parser(bytes, file).parse();
}

}  // namespace mizuoto
