#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../error.h"
#include "dtype.h"

namespace mizuoto {

enum class CheckpointFormat : uint8_t { Safetensors, Gguf };

/** "safetensors" or "gguf". */
const char* formatName(CheckpointFormat format);

/** Integers beyond 2^53, which a double cannot hold, come as decimal strings. */
using MetadataItem = std::variant<std::string, double>;
using MetadataValue = std::variant<std::string, double, bool, std::vector<MetadataItem>>;
using Metadata = std::map<std::string, MetadataValue, std::less<>>;

struct CheckpointTensor {
    std::string name;
    CheckpointDType dtype = CheckpointDType::Other;
    /** The file's own name of the type: "F8_E8M0", "iq2_xxs"... */
    std::string storedDType;
    /** Value of `enum ggml_type` for these bytes, or -1 where ggml has none. */
    int ggmlType = -1;
    /** PyTorch order, last dimension contiguous; empty for a scalar. At most 8 dimensions, ggml holds 4. */
    std::vector<int64_t> shape;
    uint64_t elements = 0;
    uint64_t bytes = 0;
    /** Index into `Checkpoint::files`. */
    uint32_t file = 0;
    /**
     * First byte, inside the map; valid as long as the Checkpoint. Aligned to nothing in particular:
     * safetensors packs tensors without padding. Null never, not even for an empty tensor.
     */
    const uint8_t* data = nullptr;
    /** Values are read in this order of `shape`'s dimensions (see reorder.h); empty: as they lie in the file.
     */
    std::vector<int64_t> order = {};
};

/** A file that is already in memory: for tests and fuzzing. */
struct CheckpointBuffer {
    std::string name;
    std::vector<uint8_t> bytes;
};

/**
 * An open checkpoint: one safetensors or GGUF file, a sharded safetensors index with its shards, or the
 * shards. Files are memory-mapped, read only; opening reads headers alone. Immutable, so any thread may read
 * it.
 *
 * Every size in the files is checked when opening, so `data .. data + bytes` lies within the map. The map
 * shows the file as it is now: another program that shortens it later turns reads of the lost pages into a
 * fatal signal on Linux and macOS (Windows refuses to shorten a mapped file). Call `checkUnchanged` before a
 * long read of `data`; the readers here do.
 */
class Checkpoint {
  public:
    /** Paths are UTF-8. Throws Error with one of the File*, Header*, Tensor* or Shard* codes, or
     * InvalidArgument. */
    static std::shared_ptr<const Checkpoint> open(const std::vector<std::string>& paths);
    /** The same from memory; an index finds its shards among the other buffers by name. */
    static std::shared_ptr<const Checkpoint> openBuffers(std::vector<CheckpointBuffer> buffers);

    ~Checkpoint();
    Checkpoint(const Checkpoint&) = delete;
    Checkpoint& operator=(const Checkpoint&) = delete;

    CheckpointFormat format() const { return format_; }
    /** Weight files in order; an index file is not among them. */
    const std::vector<std::string>& files() const { return files_; }
    /** In the order of the files, then of the bytes in the file. */
    const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
    const Metadata& metadata() const { return metadata_; }

    /** Null where there is no such tensor. */
    const CheckpointTensor* find(std::string_view name) const;
    /** Throws InvalidArgument that names the files and what they hold. */
    const CheckpointTensor& at(std::string_view name) const;

    /** Throws FileUnreadable or FileTruncated where a file's size or time differs from what was opened. */
    void checkUnchanged() const;
    /** Asks the system to read the tensor's pages ahead; returns at once. */
    void willNeed(const CheckpointTensor& tensor) const;

    /**
     * `tensor.elements` values as float32. Exact for f32, f16, bf16, fp8, i8, i16, u8 and bool (0 or 1; any
     * byte but zero is 1). i32, i64 and f64 are rounded to the nearest float32, ties to even; a finite f64
     * beyond float32's range is an error. Quantised types are dequantised by ggml. Throws UnsupportedDType
     * for other types.
     */
    void readFloat32(const CheckpointTensor& tensor, float* out) const;
    /** The same in pieces that fit a processor's cache: values from element `begin` on, whole blocks of every
     * type. */
    void forEachFloat32(
        const CheckpointTensor& tensor,
        const std::function<void(uint64_t begin, const float* values, uint64_t count)>& each) const;

    /**
     * The tensor as f16 or bf16, `tensor.elements` values, where that loses nothing: NaN stays NaN (its
     * payload may change), infinity stays infinity. Throws UnsupportedDType with element and value where a
     * value has no exact counterpart.
     */
    void readFloat16Exact(const CheckpointTensor& tensor, uint16_t* out) const;
    void readBFloat16Exact(const CheckpointTensor& tensor, uint16_t* out) const;

    /** Index of the first NaN or infinity. Integers have none. Throws UnsupportedDType for types without
     * values. */
    std::optional<uint64_t> firstNonFinite(const CheckpointTensor& tensor) const;

  private:
    class Source;
    friend class CheckpointBuilder;
    Checkpoint();
    void checkUnchanged(const CheckpointTensor& tensor) const;

    CheckpointFormat format_ = CheckpointFormat::Safetensors;
    std::vector<std::string> files_;
    std::vector<CheckpointTensor> tensors_;
    /** Indices into `tensors_`, by name. */
    std::vector<uint32_t> byName_;
    Metadata metadata_;
    std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace mizuoto
