#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cancel.h"
#include "checkpoint/checkpoint.h"
#include "ggml-backend.h"
#include "tensor_types.h"

namespace mizuoto {

/** Host memory at an alignment that every backend accepts. Throws OutOfHostMemory. */
class AlignedBytes {
  public:
    AlignedBytes() : data_(nullptr, Free{0}) {}
    explicit AlignedBytes(size_t bytes);

    uint8_t* data() const { return data_.get(); }
    size_t size() const { return bytes_; }

  private:
    struct Free {
        size_t bytes;
        void operator()(uint8_t* data) const;
    };
    std::unique_ptr<uint8_t, Free> data_;
    size_t bytes_ = 0;
};

/** Where a weight's values come from: a checkpoint's tensor, or bytes in the weight's own type. */
struct WeightSource {
    std::shared_ptr<const Checkpoint> checkpoint;
    const CheckpointTensor* tensor = nullptr;
    std::vector<uint8_t> data;
};

/**
 * The host side of one weight: the checkpoint's own bytes where type and alignment allow, else memory that is
 * filled at first use: an owned buffer, or a place in page-locked memory (a lodging).
 */
class HostWeight {
  public:
    /** Throws ShapeMismatch or UnsupportedDType when the source cannot become this type and shape. */
    HostWeight(const std::string& name, ggml_type type, const Shape& shape, WeightSource source);

    /** Bytes beside the checkpoint's that this weight has, or will have once it is used. */
    size_t ownedBytes() const { return mapped_ ? 0 : bytes_; }
    size_t bytes() const { return bytes_; }

    /** The tensor whose bytes in a mapped file are this weight's own; null for owned memory. */
    const CheckpointTensor* inFile() const { return mapped_ ? source_.tensor : nullptr; }
    const std::shared_ptr<const Checkpoint>& checkpoint() const { return source_.checkpoint; }

    /** Reads and converts what is not there yet. Cancelled, nothing changes. Not on the JavaScript thread. */
    void materialise(const CancelPointer& cancel = nullptr);
    /** Null before `materialise`. */
    const uint8_t* data() const { return mapped_ ? source_.tensor->data : own(); }
    /** Gives up what `materialise` made and can make again. Returns bytes freed. */
    size_t drop();
    /**
     * New values, in the weight's type; `bytes` as before. Memory of its own keeps its address. Throws
     * OutOfHostMemory, and nothing changes.
     */
    void replace(const uint8_t* data);

    /**
     * `memory` holds its values from now on: what is owned moves there, what is not there yet is read and
     * converted there. Of a weight in a mapped file it gets a copy, and the file stays. Cancelled, nothing
     * changes. Not on the JavaScript thread.
     */
    void lodge(uint8_t* memory, const CancelPointer& cancel);
    bool isLodged() const { return lodging_ != nullptr; }
    /** Back into a buffer of its own. Throws OutOfHostMemory, and nothing changes. */
    void dislodge();
    /** Its values go with their lodging: nobody asks for them again. */
    void forgetLodging() { lodging_ = nullptr; }

  private:
    const uint8_t* own() const { return lodging_ != nullptr ? lodging_ : owned_.data(); }
    void convert(uint8_t* target, const CancelPointer& cancel);
    /** Writes `count` values in the weight's type, from element `begin` of `target` on. */
    void narrow(uint8_t* target, uint64_t begin, const float* values, int64_t count);

    std::string name_;
    ggml_type type_;
    size_t bytes_;
    WeightSource source_;
    bool mapped_ = false;
    AlignedBytes owned_;
    /** Memory of someone else that stands for `owned_`. */
    uint8_t* lodging_ = nullptr;
};

}  // namespace mizuoto
