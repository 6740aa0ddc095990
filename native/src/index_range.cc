// Backends abort on row numbers beyond a table. So where numbers come from decides how they are made safe:
// computed ones are bounded by what computes them, constants are checked when recorded, inputs before each
// run.
#include <algorithm>
#include <cstring>
#include <optional>

#include "error.h"
#include "recorder.h"

namespace mizuoto {
namespace {

bool isCopyOrView(const ggml_tensor* tensor) {
    switch (tensor->op) {
        case GGML_OP_VIEW:
        case GGML_OP_RESHAPE:
        case GGML_OP_PERMUTE:
        case GGML_OP_TRANSPOSE:
        case GGML_OP_CONT:
        case GGML_OP_REPEAT:
        case GGML_OP_GET_ROWS:
            return true;
        default:
            return false;
    }
}

std::pair<int64_t, int64_t> rangeOf(const ConstantLeaf& constant) {
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    const bool wide = constant.tensor->type == GGML_TYPE_I64;
    const size_t size = wide ? 8 : 4;
    for (size_t offset = 0; offset < constant.data.size(); offset += size) {
        int64_t value = 0;
        int32_t narrow = 0;
        if (wide) {
            std::memcpy(&value, constant.data.data() + offset, size);
        } else {
            std::memcpy(&narrow, constant.data.data() + offset, size);
            value = narrow;
        }
        least = std::min(least, value);
        most = std::max(most, value);
    }
    return {least, most};
}

float parameter(const ggml_tensor* tensor, size_t position) {
    float value = 0;
    std::memcpy(&value, tensor->op_params + position, sizeof value);
    return value;
}

/** Rounded towards zero when cast, values between these bounds stay within. NaN becomes a bound (clamp). */
bool clampedWithin(const ggml_tensor* tensor, int64_t rows) {
    while (isCopyOrView(tensor) && tensor->op != GGML_OP_GET_ROWS) tensor = tensor->src[0];
    if (tensor->op == GGML_OP_CLAMP) {
        return parameter(tensor, 0) > -1 && parameter(tensor, 1) < static_cast<float>(rows);
    }
    if (tensor->op == GGML_OP_ARANGE) {
        return parameter(tensor, 0) > -1 && parameter(tensor, 1) <= static_cast<float>(rows);
    }
    return false;
}

}  // namespace

void Recorder::requireIndices(const ggml_tensor* ids, int64_t rows, std::string_view op) {
    const std::string name(op);
    const auto fail = [&](const std::string& why) {
        throw Error("InvalidArgument", name + " looks into " + std::to_string(rows) + " rows: " + why,
                    {detailOf("op", name), detailOf("rows", rows)});
    };
    std::vector<const ggml_tensor*> pending = {ids};
    while (!pending.empty()) {
        const ggml_tensor* tensor = pending.back();
        pending.pop_back();
        if (isCopyOrView(tensor)) {
            pending.push_back(tensor->src[0]);
            continue;
        }
        switch (tensor->op) {
            case GGML_OP_CONCAT:
                pending.push_back(tensor->src[0]);
                pending.push_back(tensor->src[1]);
                continue;
            case GGML_OP_ARGMAX:
            case GGML_OP_TOP_K:
            case GGML_OP_ARGSORT:
                if (tensor->src[0]->ne[0] > rows) {
                    fail("the ids are positions among " + std::to_string(tensor->src[0]->ne[0]) + " values.");
                }
                continue;
            case GGML_OP_CPY:
                if (tensor->src[0]->type == GGML_TYPE_F32 && tensor->view_src == nullptr &&
                    clampedWithin(tensor->src[0], rows)) {
                    continue;
                }
                fail("clamp computed ids to [0, rows - 1] before they are cast.");
                continue;
            case GGML_OP_NONE:
                break;
            default:
                fail(
                    "ids must be an input, a constant, or come from argmax, top_k, argsort or a clamped "
                    "cast.");
        }
        const auto constant = std::find_if(recording_.constants.begin(), recording_.constants.end(),
                                           [&](const ConstantLeaf& leaf) { return leaf.tensor == tensor; });
        if (constant != recording_.constants.end()) {
            const auto [least, most] = rangeOf(*constant);
            if (least < 0 || most >= rows) {
                fail("the ids range from " + std::to_string(least) + " to " + std::to_string(most) + ".");
            }
            continue;
        }
        const auto input = std::find_if(recording_.inputs.begin(), recording_.inputs.end(),
                                        [&](const InputLeaf& leaf) { return leaf.tensor == tensor; });
        if (input == recording_.inputs.end()) fail("ids cannot come from weights or states.");
        recording_.bounds.push_back({static_cast<size_t>(input - recording_.inputs.begin()), rows, name});
    }
}

}  // namespace mizuoto
