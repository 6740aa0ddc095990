#pragma once

#include <cstdint>
#include <string_view>

namespace mizuoto {

/** Element types of checkpoints: `CheckpointDType` of native/addon.ts, in its order. */
enum class CheckpointDType : uint8_t {
    F32,
    F16,
    BF16,
    F64,
    I8,
    I16,
    I32,
    I64,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ4_NL,
    IQ4_XS,
    F8_E4M3,
    F8_E5M2,
    U8,
    Bool,
    /** Anything else: listed, and readable as bytes. */
    Other,
};

/** Spelling of native/addon.ts: "f32", "q4_K", "f8_e4m3", "other"... */
const char* dtypeName(CheckpointDType dtype);

/** Value of `enum ggml_type` for the same bytes, or -1 where ggml has none (fp8, u8, bool, other). */
int ggmlTypeOf(CheckpointDType dtype);

/** What a dtype of a safetensors header stands for. */
struct SafetensorsDType {
    CheckpointDType dtype = CheckpointDType::Other;
    /** Bits of one element; 0 where the name is unknown. */
    uint32_t bits = 0;
};
SafetensorsDType safetensorsDType(std::string_view name);

/** What a type number of a GGUF file stands for, by ggml's own table. */
struct GgufType {
    CheckpointDType dtype = CheckpointDType::Other;
    const char* name = "";
    /** Elements and bytes of one block; 0 where ggml does not know the number or has removed the type. */
    uint64_t blockElements = 0;
    uint64_t blockBytes = 0;
};
GgufType ggufType(uint32_t number);

}  // namespace mizuoto
