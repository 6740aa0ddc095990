#include "host_weight.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "error.h"
#include "ggml.h"

namespace mizuoto {
namespace {

constexpr size_t kAlignment = 64;

/** Kernels read elements, not vectors, at their natural alignment. */
size_t elementAlignment(ggml_type type) {
    return ggml_is_quantized(type) ? 4 : std::min<size_t>(8, ggml_type_size(type));
}

bool isAligned(const uint8_t* data, ggml_type type) {
    return reinterpret_cast<uintptr_t>(data) % elementAlignment(type) == 0;
}

/**
 * Large memory goes back to the system the moment that it is freed: glibc's heap keeps what is freed below
 * what is in use, which after relief from a shortage is nearly all of it. Sanitizers see more on the heap.
 */
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
bool ownPages(size_t bytes) {
    return bytes >= size_t{256} << 10;
}
void* mapPages(size_t bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
}
void unmapPages(void* data, size_t bytes) {
    ::munmap(data, bytes);
}
#else
bool ownPages(size_t) {
    return false;
}
void* mapPages(size_t) {
    return nullptr;
}
void unmapPages(void*, size_t) {}
#endif

bool convertible(ggml_type type) {
    switch (type) {
        case GGML_TYPE_F32:
        case GGML_TYPE_F16:
        case GGML_TYPE_BF16:
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_Q4_0:
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_Q5_0:
        case GGML_TYPE_Q5_1:
            return true;
        default:
            return false;
    }
}

}  // namespace

AlignedBytes::AlignedBytes(size_t bytes) : data_(nullptr, Free{bytes}), bytes_(bytes) {
    void* data =
        ownPages(bytes) ? mapPages(bytes) : ::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow);
    if (data == nullptr) {
        throw Error("OutOfHostMemory", "Host memory is used up: " + bytesText(bytes) + " were needed.",
                    {detailOf("needed", bytes)});
    }
    data_.reset(static_cast<uint8_t*>(data));
}

void AlignedBytes::Free::operator()(uint8_t* data) const {
    if (ownPages(bytes)) return unmapPages(data, bytes);
    ::operator delete(data, std::align_val_t{kAlignment});
}

HostWeight::HostWeight(const std::string& name, ggml_type type, const Shape& shape, WeightSource source)
    : name_(name), type_(type), bytes_(tensorBytes(type, shape)), source_(std::move(source)) {
    if (source_.tensor == nullptr) {
        if (source_.data.size() != bytes_) {
            throw Error("ShapeMismatch",
                        name + ": " + shapeText(shape) + " of " + ggml_type_name(type) + " is " +
                            std::to_string(bytes_) + " bytes, but the data has " +
                            std::to_string(source_.data.size()) + ".",
                        {detailOf("parameter", name), detailOf("expected", bytes_),
                         detailOf("found", source_.data.size())});
        }
        owned_ = AlignedBytes(bytes_);
        std::memcpy(owned_.data(), source_.data.data(), bytes_);
        source_.data = {};
        return;
    }
    const CheckpointTensor& tensor = *source_.tensor;
    if (static_cast<int64_t>(tensor.elements) != elementCount(shape)) {
        throw Error("ShapeMismatch",
                    name + ": the model wants " + shapeText(shape) + ", the checkpoint has " +
                        shapeText(tensor.shape) + " under the name " + tensor.name + ".",
                    {detailOf("parameter", name), detailOf("tensor", tensor.name)});
    }
    mapped_ = tensor.ggmlType == static_cast<int>(type) && isAligned(tensor.data, type);
    if (!mapped_ && tensor.ggmlType != static_cast<int>(type) && !convertible(type)) {
        throw Error("UnsupportedDType",
                    name + ": " + tensor.storedDType + " of the checkpoint cannot become " +
                        ggml_type_name(type) + ".",
                    {detailOf("parameter", name), detailOf("from", tensor.storedDType),
                     detailOf("to", ggml_type_name(type))});
    }
}

void HostWeight::materialise(const CancelPointer& cancel) {
    if (mapped_ || own() != nullptr) return;
    AlignedBytes fresh(bytes_);
    convert(fresh.data(), cancel);
    owned_ = std::move(fresh);
}

size_t HostWeight::drop() {
    if (source_.tensor == nullptr || mapped_ || own() == nullptr) return 0;
    owned_ = AlignedBytes();
    lodging_ = nullptr;
    return bytes_;
}

void HostWeight::lodge(uint8_t* memory, const CancelPointer& cancel) {
    if (mapped_ || own() != nullptr) {
        std::memcpy(memory, data(), bytes_);
    } else {
        convert(memory, cancel);
    }
    if (mapped_) return;
    owned_ = AlignedBytes();
    lodging_ = memory;
}

void HostWeight::dislodge() {
    if (!isLodged()) return;
    AlignedBytes fresh(bytes_);
    std::memcpy(fresh.data(), lodging_, bytes_);
    owned_ = std::move(fresh);
    lodging_ = nullptr;
}

void HostWeight::convert(uint8_t* target, const CancelPointer& cancel) {
    const CheckpointTensor& tensor = *source_.tensor;
    if (tensor.ggmlType == static_cast<int>(type_)) {
        source_.checkpoint->checkUnchanged();
        std::memcpy(target, tensor.data, bytes_);
        return;
    }
    if (type_ == GGML_TYPE_F32) {
        source_.checkpoint->readFloat32(tensor, reinterpret_cast<float*>(target));
        return;
    }
    // Piece by piece: the whole tensor never exists in float32.
    source_.checkpoint->forEachFloat32(tensor, [&](uint64_t begin, const float* values, uint64_t count) {
        throwIfCancelled(cancel);
        narrow(target, begin, values, static_cast<int64_t>(count));
    });
}

void HostWeight::narrow(uint8_t* target, uint64_t begin, const float* values, int64_t count) {
    if (type_ == GGML_TYPE_F16) {
        auto* halves = reinterpret_cast<ggml_fp16_t*>(target) + begin;
        ggml_fp32_to_fp16_row(values, halves, count);
        for (int64_t i = 0; i < count; ++i) {
            if ((halves[i] & 0x7FFF) == 0x7C00 && std::isfinite(values[i])) {
                throw Error("UnsupportedDType",
                            name_ + ": the value " + std::to_string(values[i]) +
                                " does not fit float16 (at most 65504). Load this model as bf16 or f32.",
                            {detailOf("parameter", name_), detailOf("value", values[i])});
            }
        }
        return;
    }
    if (type_ == GGML_TYPE_BF16) {
        ggml_fp32_to_bf16_row(values, reinterpret_cast<ggml_bf16_t*>(target) + begin, count);
        return;
    }
    // These types are quantised block by block: rows do not matter, and pieces are whole blocks.
    uint8_t* blocks = target + ggml_row_size(type_, static_cast<int64_t>(begin));
    ggml_quantize_chunk(type_, values, blocks, 0, 1, count, nullptr);
}

void HostWeight::replace(const uint8_t* data) {
    if (mapped_ || own() == nullptr) owned_ = AlignedBytes(bytes_);
    std::memcpy(isLodged() ? lodging_ : owned_.data(), data, bytes_);
    mapped_ = false;
    source_ = {};
}

}  // namespace mizuoto
