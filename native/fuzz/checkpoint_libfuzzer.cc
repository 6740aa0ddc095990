#include "exercise.h"

/** Entry of libFuzzer: one safetensors, GGUF or index file per input. */
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::vector<mizuoto::CheckpointBuffer> buffers;
    buffers.push_back({"input", {data, data + size}});
    fuzz::exerciseBuffers(std::move(buffers));
    return 0;
}
