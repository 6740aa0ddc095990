#include "tensor_types.h"

#include <algorithm>
#include <cstdio>

#include "error.h"

namespace mizuoto {
namespace {

// `DType` of native/addon.ts. ggml's own names are the names.
constexpr std::array kDeviceTypes = {
    GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_F64,    GGML_TYPE_I8,
    GGML_TYPE_I16,  GGML_TYPE_I32,  GGML_TYPE_I64,  GGML_TYPE_Q4_0,   GGML_TYPE_Q4_1,
    GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_Q2_K,   GGML_TYPE_Q3_K,
    GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS,
};

// Backends count elements of a dimension in 32 bits, and sums of byte strides must not overflow.
constexpr int64_t kMaxDimension = INT32_MAX;
constexpr int64_t kMaxElements = int64_t{1} << 42;

}  // namespace

ggml_type dtypeFromName(std::string_view name) {
    for (ggml_type type : kDeviceTypes) {
        if (name == ggml_type_name(type)) return type;
    }
    throw Error("UnsupportedDType", "A tensor cannot have the type '" + std::string(name) + "'.",
                {detailOf("dtype", std::string(name))});
}

ggml_type dtypeFromCode(double code) {
    for (ggml_type type : kDeviceTypes) {
        if (code == static_cast<double>(type)) return type;
    }
    throw Error("UnsupportedDType", "A tensor cannot have the type number " + std::to_string(code) + ".",
                {detailOf("dtype", code)});
}

void checkShape(ggml_type type, const Shape& shape, std::string_view what) {
    const std::string subject(what);
    if (shape.size() > kMaxRank) {
        throw Error("InvalidArgument",
                    subject + " has " + std::to_string(shape.size()) + " dimensions; at most 4 are possible.",
                    {detailOf("dimensions", shape.size())});
    }
    int64_t elements = 1;
    for (int64_t dimension : shape) {
        if (dimension < 1 || dimension > kMaxDimension) {
            throw Error("InvalidArgument",
                        subject + " has the shape " + shapeText(shape) +
                            "; each dimension must be between 1 and " + std::to_string(kMaxDimension) + ".",
                        {detailOf("dimension", dimension)});
        }
        if (elements > kMaxElements / dimension) {
            throw Error("InvalidArgument",
                        subject + " has the shape " + shapeText(shape) + ", which is too large.");
        }
        elements *= dimension;
    }
    const int64_t last = shape.empty() ? 1 : shape.back();
    const int64_t block = ggml_blck_size(type);
    if (last % block != 0) {
        throw Error("ShapeMismatch",
                    subject + " has the shape " + shapeText(shape) + "; the last dimension of a " +
                        ggml_type_name(type) + " tensor must be a multiple of " + std::to_string(block) + ".",
                    {detailOf("dimension", last), detailOf("block", block)});
    }
}

std::array<int64_t, kMaxRank> toNe(const Shape& shape) {
    std::array<int64_t, kMaxRank> ne = {1, 1, 1, 1};
    std::reverse_copy(shape.begin(), shape.end(), ne.begin());
    return ne;
}

int64_t elementCount(const Shape& shape) {
    int64_t elements = 1;
    for (int64_t dimension : shape) elements *= dimension;
    return elements;
}

size_t tensorBytes(ggml_type type, const Shape& shape) {
    const int64_t last = shape.empty() ? 1 : shape.back();
    const int64_t rows = elementCount(shape) / last;
    return ggml_row_size(type, last) * static_cast<size_t>(rows);
}

Shape shapeOf(const ggml_tensor* tensor, int rank) {
    Shape shape(static_cast<size_t>(rank));
    for (int i = 0; i < rank; ++i) shape[static_cast<size_t>(i)] = tensor->ne[rank - 1 - i];
    return shape;
}

std::string shapeText(const Shape& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    return text + "]";
}

std::string bytesText(uint64_t bytes) {
    static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(kUnits)) {
        value /= 1024;
        ++unit;
    }
    char text[48];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
    return text;
}

}  // namespace mizuoto
