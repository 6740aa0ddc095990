#include "dtype.h"

#include <ggml.h>

#include <array>
#include <utility>

namespace mizuoto {

namespace {

struct Row {
    CheckpointDType dtype;
    const char* name;
    int ggml;
};

/** In the order of the enum: `rows[dtype]` is its row. */
constexpr Row rows[] = {
    {CheckpointDType::F32, "f32", GGML_TYPE_F32},
    {CheckpointDType::F16, "f16", GGML_TYPE_F16},
    {CheckpointDType::BF16, "bf16", GGML_TYPE_BF16},
    {CheckpointDType::F64, "f64", GGML_TYPE_F64},
    {CheckpointDType::I8, "i8", GGML_TYPE_I8},
    {CheckpointDType::I16, "i16", GGML_TYPE_I16},
    {CheckpointDType::I32, "i32", GGML_TYPE_I32},
    {CheckpointDType::I64, "i64", GGML_TYPE_I64},
    {CheckpointDType::Q4_0, "q4_0", GGML_TYPE_Q4_0},
    {CheckpointDType::Q4_1, "q4_1", GGML_TYPE_Q4_1},
    {CheckpointDType::Q5_0, "q5_0", GGML_TYPE_Q5_0},
    {CheckpointDType::Q5_1, "q5_1", GGML_TYPE_Q5_1},
    {CheckpointDType::Q8_0, "q8_0", GGML_TYPE_Q8_0},
    {CheckpointDType::Q2_K, "q2_K", GGML_TYPE_Q2_K},
    {CheckpointDType::Q3_K, "q3_K", GGML_TYPE_Q3_K},
    {CheckpointDType::Q4_K, "q4_K", GGML_TYPE_Q4_K},
    {CheckpointDType::Q5_K, "q5_K", GGML_TYPE_Q5_K},
    {CheckpointDType::Q6_K, "q6_K", GGML_TYPE_Q6_K},
    {CheckpointDType::IQ4_NL, "iq4_nl", GGML_TYPE_IQ4_NL},
    {CheckpointDType::IQ4_XS, "iq4_xs", GGML_TYPE_IQ4_XS},
    {CheckpointDType::F8_E4M3, "f8_e4m3", -1},
    {CheckpointDType::F8_E5M2, "f8_e5m2", -1},
    {CheckpointDType::U8, "u8", -1},
    {CheckpointDType::Bool, "bool", -1},
    {CheckpointDType::Other, "other", -1},
};

constexpr bool inOrder() {
    for (size_t i = 0; i < std::size(rows); i++) {
        if (static_cast<size_t>(rows[i].dtype) != i) return false;
    }
    return std::size(rows) == static_cast<size_t>(CheckpointDType::Other) + 1;
}
static_assert(inOrder());

using D = CheckpointDType;

/** All types of the safetensors specification with the bits of one element. */
constexpr std::pair<std::string_view, SafetensorsDType> safetensorsTypes[] = {
    {"F64", {D::F64, 64}},      {"F32", {D::F32, 32}},        {"F16", {D::F16, 16}},
    {"BF16", {D::BF16, 16}},    {"I64", {D::I64, 64}},        {"I32", {D::I32, 32}},
    {"I16", {D::I16, 16}},      {"I8", {D::I8, 8}},           {"U8", {D::U8, 8}},
    {"BOOL", {D::Bool, 8}},     {"F8_E4M3", {D::F8_E4M3, 8}}, {"F8_E5M2", {D::F8_E5M2, 8}},
    {"U16", {D::Other, 16}},    {"U32", {D::Other, 32}},      {"U64", {D::Other, 64}},
    {"C64", {D::Other, 64}},    {"F8_E8M0", {D::Other, 8}},   {"F6_E2M3", {D::Other, 6}},
    {"F6_E3M2", {D::Other, 6}}, {"F4", {D::Other, 4}},
};

}  // namespace

const char* dtypeName(CheckpointDType dtype) {
    return rows[static_cast<size_t>(dtype)].name;
}

int ggmlTypeOf(CheckpointDType dtype) {
    return rows[static_cast<size_t>(dtype)].ggml;
}

SafetensorsDType safetensorsDType(std::string_view name) {
    for (const auto& [known, type] : safetensorsTypes) {
        if (known == name) return type;
    }
    return {};
}

GgufType ggufType(uint32_t number) {
    GgufType type;
    if (number >= GGML_TYPE_COUNT) return type;
    const ggml_type_traits* traits = ggml_get_type_traits(static_cast<ggml_type>(number));
    // Removed types keep their number with a block of 0; a number without a row is all zero.
    if (traits->blck_size <= 0 || traits->type_size == 0 || traits->type_name == nullptr) return type;
    type.name = traits->type_name;
    type.blockElements = static_cast<uint64_t>(traits->blck_size);
    type.blockBytes = traits->type_size;
    for (const Row& row : rows) {
        if (row.ggml == static_cast<int>(number)) type.dtype = row.dtype;
    }
    return type;
}

}  // namespace mizuoto
