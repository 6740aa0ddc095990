#include <ggml.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "checkpoint.h"
#include "float_formats.h"
#include "reorder.h"
#include "text.h"

namespace mizuoto {

static_assert(std::endian::native == std::endian::little, "checkpoints are little endian and read in place");

namespace {

/** Elements that are converted at a time: a multiple of every block size of ggml, small enough for the cache.
 */
constexpr uint64_t chunkElements = 4096;
/** More than any quantised type takes. */
constexpr uint64_t chunkBytesPerElement = 2;

template <typename T>
T load(const uint8_t* data, uint64_t index) {
    T value;
    std::memcpy(&value, data + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T, typename Convert>
void convert(const uint8_t* data, uint64_t begin, uint64_t count, float* out, Convert&& one) {
    for (uint64_t i = 0; i < count; i++) out[i] = one(load<T>(data, begin + i));
}

/** Looking fp8 up is three times as fast as working it out. */
std::array<float, 256> tableOf(float (*one)(uint8_t)) {
    std::array<float, 256> table;
    for (size_t i = 0; i < table.size(); i++) table[i] = one(static_cast<uint8_t>(i));
    return table;
}

/** Shortest of a few precisions that names this value and no other. */
std::string numberText(double value) {
    char text[40];
    for (const int digits : {6, 9, 15, 17}) {
        std::snprintf(text, sizeof text, "%.*g", digits, value);
        if (std::strtod(text, nullptr) == value) break;
    }
    return text;
}

/** One tensor of one file, as a sequence of float32. */
class Reader {
  public:
    Reader(const CheckpointTensor& tensor, const std::string& file) : tensor_(tensor), file_(file) {
        if (tensor.ggmlType >= 0) traits_ = ggml_get_type_traits(static_cast<ggml_type>(tensor.ggmlType));
        quantised_ = traits_ != nullptr && traits_->is_quantized;
        const bool readable = quantised_ ? traits_->to_float != nullptr && fitsChunks(*traits_)
                                         : tensor.dtype != CheckpointDType::Other;
        if (!readable) {
            fail("UnsupportedDType", "has the type " + quoted(tensor.storedDType, 40) +
                                         ", which has no reader here; get the model in another precision.");
        }
    }

    /** Elements `begin .. begin + count`; both are multiples of the chunk, except for the end. */
    void read(uint64_t begin, uint64_t count, float* out) const {
        const uint8_t* data = tensor_.data;
        switch (tensor_.dtype) {
            case CheckpointDType::F32:
                std::memcpy(out, data + begin * sizeof(float), count * sizeof(float));
                return;
            case CheckpointDType::F16:
                convert<uint16_t>(data, begin, count, out, floatFromF16);
                return;
            case CheckpointDType::BF16:
                convert<uint16_t>(data, begin, count, out, floatFromBF16);
                return;
            case CheckpointDType::F8_E4M3: {
                static const std::array<float, 256> table = tableOf(floatFromE4M3);
                convert<uint8_t>(data, begin, count, out, [](uint8_t v) { return table[v]; });
                return;
            }
            case CheckpointDType::F8_E5M2: {
                static const std::array<float, 256> table = tableOf(floatFromE5M2);
                convert<uint8_t>(data, begin, count, out, [](uint8_t v) { return table[v]; });
                return;
            }
            case CheckpointDType::Bool:
                convert<uint8_t>(data, begin, count, out, [](uint8_t v) { return v != 0 ? 1.0F : 0.0F; });
                return;
            case CheckpointDType::U8:
                convertInteger<uint8_t>(begin, count, out);
                return;
            case CheckpointDType::I8:
                convertInteger<int8_t>(begin, count, out);
                return;
            case CheckpointDType::I16:
                convertInteger<int16_t>(begin, count, out);
                return;
            case CheckpointDType::I32:
                convertInteger<int32_t>(begin, count, out);
                return;
            case CheckpointDType::I64:
                convertInteger<int64_t>(begin, count, out);
                return;
            case CheckpointDType::F64:
                readF64(begin, count, out);
                return;
            default:
                dequantise(begin, count, out);
                return;
        }
    }

    /** The same of a reordered tensor, whose values `order` finds. */
    void read(const Reordering& order, uint64_t begin, uint64_t count, float* out) const {
        each([&](auto&& one) { order.read(begin, count, out, one); });
    }

    /** All values of a reordered tensor. */
    void readAll(const Reordering& order, float* out) const {
        each([&](auto&& one) { order.readAll(out, one); });
    }

    /** True where float32 holds element `index` without loss; `value` is what `read` made of it. */
    bool isExact(uint64_t index, float value) const {
        switch (tensor_.dtype) {
            case CheckpointDType::F64: {
                const auto stored = load<double>(tensor_.data, index);
                return std::isnan(stored) || stored == static_cast<double>(value);
            }
            case CheckpointDType::I32:
                return static_cast<double>(load<int32_t>(tensor_.data, index)) == static_cast<double>(value);
            case CheckpointDType::I64:
                // 2^63 itself is what the largest values round to, and no int64.
                return value < 0x1p63F && static_cast<int64_t>(value) == load<int64_t>(tensor_.data, index);
            default:
                return true;
        }
    }

    [[noreturn]] void fail(ErrorCode code, const std::string& why, Error::Details details = {}) const {
        details.insert(details.begin(), detailOf("tensor", tensor_.name));
        failFile(code, file_, "cannot give tensor " + quoted(tensor_.name) + " as asked: it " + why,
                 std::move(details));
    }

  private:
    static bool fitsChunks(const ggml_type_traits& traits) {
        return chunkElements % static_cast<uint64_t>(traits.blck_size) == 0 &&
               traits.type_size <= chunkBytesPerElement * static_cast<uint64_t>(traits.blck_size);
    }

    /** Calls `use` with a function from an element's index to its value. */
    template <typename Use>
    void each(Use&& use) const {
        const uint8_t* data = tensor_.data;
        switch (tensor_.dtype) {
            case CheckpointDType::F32:
                return use([data](uint64_t i) { return load<float>(data, i); });
            case CheckpointDType::F16:
                return use([data](uint64_t i) { return floatFromF16(load<uint16_t>(data, i)); });
            case CheckpointDType::BF16:
                return use([data](uint64_t i) { return floatFromBF16(load<uint16_t>(data, i)); });
            default:
                return use([this](uint64_t i) {
                    float value = 0;
                    read(i, 1, &value);
                    return value;
                });
        }
    }

    template <typename T>
    void convertInteger(uint64_t begin, uint64_t count, float* out) const {
        convert<T>(tensor_.data, begin, count, out, [](T v) { return static_cast<float>(v); });
    }

    void readF64(uint64_t begin, uint64_t count, float* out) const {
        // From here on the nearest float32 would be infinity.
        constexpr double limit = 0x1.FFFFFFp127;
        for (uint64_t i = 0; i < count; i++) {
            const auto value = load<double>(tensor_.data, begin + i);
            if (std::isfinite(value) && std::abs(value) >= limit) {
                fail("UnsupportedDType",
                     "holds " + numberText(value) + " at element " + grouped(begin + i) +
                         ", beyond the range of float32.",
                     {detailOf("element", begin + i), detailOf("value", value)});
            }
            out[i] = std::isnan(value) ? std::copysign(std::numeric_limits<float>::quiet_NaN(),
                                                       std::signbit(value) ? -1.0F : 1.0F)
                                       : static_cast<float>(value);
        }
    }

    void dequantise(uint64_t begin, uint64_t count, float* out) const {
        const auto block = static_cast<uint64_t>(traits_->blck_size);
        const uint8_t* data = tensor_.data + begin / block * traits_->type_size;
        const uint64_t bytes = count / block * traits_->type_size;
        // ggml's blocks want the alignment of their widest member.
        alignas(16) std::array<uint8_t, chunkElements * chunkBytesPerElement> aligned;
        if (reinterpret_cast<uintptr_t>(data) % 8 != 0) {
            std::memcpy(aligned.data(), data, bytes);
            data = aligned.data();
        }
        traits_->to_float(data, out, static_cast<int64_t>(count));
    }

    const CheckpointTensor& tensor_;
    const std::string& file_;
    const ggml_type_traits* traits_ = nullptr;
    bool quantised_ = false;
};

/** Calls `each(begin, values, count)` for chunks of the tensor as float32. */
template <typename Each>
void forEachChunk(const Reader& reader, uint64_t elements, Each&& each) {
    std::array<float, chunkElements> values;
    for (uint64_t begin = 0; begin < elements; begin += chunkElements) {
        const uint64_t count = std::min(chunkElements, elements - begin);
        reader.read(begin, count, values.data());
        if (!each(begin, values.data(), count)) return;
    }
}

template <typename Narrow>
void readExact(const Reader& reader, const CheckpointTensor& tensor, uint16_t* out, const char* type,
               Narrow&& narrow) {
    forEachChunk(reader, tensor.elements, [&](uint64_t begin, const float* values, uint64_t count) {
        for (uint64_t i = 0; i < count; i++) {
            if (narrow(values[i], out[begin + i]) && reader.isExact(begin + i, values[i])) continue;
            reader.fail("UnsupportedDType",
                        "holds " + numberText(values[i]) + " at element " + grouped(begin + i) + ", which " +
                            type + " cannot hold exactly; use f32.",
                        {detailOf("element", begin + i), detailOf("value", values[i])});
        }
        return true;
    });
}

/** First element whose exponent bits (`mask`) are all set, or `elements`. */
template <typename T>
uint64_t findSpecial(const uint8_t* data, uint64_t elements, T mask) {
    for (uint64_t begin = 0; begin < elements; begin += chunkElements) {
        const uint64_t end = std::min(begin + chunkElements, elements);
        T found = 0;
        for (uint64_t i = begin; i < end; i++) found |= static_cast<T>((load<T>(data, i) & mask) == mask);
        if (found == 0) continue;
        for (uint64_t i = begin; i < end; i++) {
            if ((load<T>(data, i) & mask) == mask) return i;
        }
    }
    return elements;
}

}  // namespace

void Checkpoint::readFloat32(const CheckpointTensor& tensor, float* out) const {
    checkUnchanged(tensor);
    const Reader reader(tensor, files_[tensor.file]);
    willNeed(tensor);
    if (!tensor.order.empty()) return reader.readAll(Reordering(tensor), out);
    for (uint64_t begin = 0; begin < tensor.elements; begin += chunkElements) {
        reader.read(begin, std::min(chunkElements, tensor.elements - begin), out + begin);
    }
}

void Checkpoint::forEachFloat32(
    const CheckpointTensor& tensor,
    const std::function<void(uint64_t begin, const float* values, uint64_t count)>& each) const {
    checkUnchanged(tensor);
    const Reader reader(tensor, files_[tensor.file]);
    willNeed(tensor);
    if (!tensor.order.empty()) {
        const Reordering order(tensor);
        std::array<float, chunkElements> values;
        for (uint64_t begin = 0; begin < tensor.elements; begin += chunkElements) {
            const uint64_t count = std::min(chunkElements, tensor.elements - begin);
            reader.read(order, begin, count, values.data());
            each(begin, values.data(), count);
        }
        return;
    }
    forEachChunk(reader, tensor.elements, [&](uint64_t begin, const float* values, uint64_t count) {
        each(begin, values, count);
        return true;
    });
}

void Checkpoint::readFloat16Exact(const CheckpointTensor& tensor, uint16_t* out) const {
    checkUnchanged(tensor);
    const Reader reader(tensor, files_[tensor.file]);
    willNeed(tensor);
    if (tensor.dtype == CheckpointDType::F16) {
        if (tensor.bytes > 0) std::memcpy(out, tensor.data, tensor.bytes);
        return;
    }
    readExact(reader, tensor, out, "f16", f16FromFloat);
}

void Checkpoint::readBFloat16Exact(const CheckpointTensor& tensor, uint16_t* out) const {
    checkUnchanged(tensor);
    const Reader reader(tensor, files_[tensor.file]);
    willNeed(tensor);
    if (tensor.dtype == CheckpointDType::BF16) {
        if (tensor.bytes > 0) std::memcpy(out, tensor.data, tensor.bytes);
        return;
    }
    readExact(reader, tensor, out, "bf16", bf16FromFloat);
}

std::optional<uint64_t> Checkpoint::firstNonFinite(const CheckpointTensor& tensor) const {
    checkUnchanged(tensor);
    const Reader reader(tensor, files_[tensor.file]);
    willNeed(tensor);
    const uint64_t elements = tensor.elements;
    uint64_t found = elements;
    switch (tensor.dtype) {
        case CheckpointDType::F32:
            found = findSpecial<uint32_t>(tensor.data, elements, 0x7F800000);
            break;
        case CheckpointDType::F16:
            found = findSpecial<uint16_t>(tensor.data, elements, 0x7C00);
            break;
        case CheckpointDType::BF16:
            found = findSpecial<uint16_t>(tensor.data, elements, 0x7F80);
            break;
        case CheckpointDType::F64:
            found = findSpecial<uint64_t>(tensor.data, elements, 0x7FF0000000000000);
            break;
        case CheckpointDType::F8_E4M3:
            found = findSpecial<uint8_t>(tensor.data, elements, 0x7F);
            break;
        case CheckpointDType::F8_E5M2:
            found = findSpecial<uint8_t>(tensor.data, elements, 0x7C);
            break;
        case CheckpointDType::I8:
        case CheckpointDType::I16:
        case CheckpointDType::I32:
        case CheckpointDType::I64:
        case CheckpointDType::U8:
        case CheckpointDType::Bool:
            break;
        default:
            // A quantised block is broken where its scale is.
            forEachChunk(reader, elements, [&](uint64_t begin, const float* values, uint64_t count) {
                const float* bad =
                    std::find_if(values, values + count, [](float v) { return !std::isfinite(v); });
                if (bad == values + count) return true;
                found = begin + static_cast<uint64_t>(bad - values);
                return false;
            });
    }
    if (found == elements) return std::nullopt;
    return found;
}

}  // namespace mizuoto
