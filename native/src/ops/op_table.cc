#include "op_table.h"

#include <cmath>
#include <limits>
#include <unordered_map>

namespace mizuoto {
namespace {

const std::unordered_map<std::string_view, const OpSpec*>& table() {
    static const auto built = [] {
        std::unordered_map<std::string_view, const OpSpec*> map;
        for (const auto list : {elementwiseOps(), reductionOps(), shapeOps(), matrixOps(), normOps(),
                                attentionOps(), convolutionOps(), stateOps(), generatorOps()}) {
            for (const OpSpec& spec : list) map.emplace(spec.name, &spec);
        }
        return map;
    }();
    return built;
}

std::string countText(size_t least, size_t most) {
    if (least == most) return std::to_string(least);
    return std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

const OpSpec& findOp(std::string_view name) {
    const auto found = table().find(name);
    if (found == table().end()) {
        throw Error("UnsupportedOp", "There is no operation named '" + std::string(name) + "'.",
                    {detailOf("op", std::string(name))});
    }
    return *found->second;
}

OpCall::OpCall(Recorder& recorder, const OpSpec& spec, std::span<const int> sources,
               std::span<const double> params)
    : recorder_(recorder), spec_(spec), sources_(sources), params_(params) {
    const std::string name = spec.name;
    if (sources.size() < spec.minSources || sources.size() > spec.maxSources) {
        throw Error("InvalidArgument",
                    name + " takes " + countText(spec.minSources, spec.maxSources) + " sources, not " +
                        std::to_string(sources.size()) + ".",
                    {detailOf("op", name)});
    }
    if (params.size() < spec.minParams || params.size() > spec.maxParams) {
        throw Error("InvalidArgument",
                    name + " takes " + countText(spec.minParams, spec.maxParams) + " parameters, not " +
                        std::to_string(params.size()) + ".",
                    {detailOf("op", name)});
    }
    for (int source : sources) recorder.value(source);
}

std::string OpCall::describe() const {
    std::string text = std::string(spec_.name) + "(";
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (i > 0) text += ", ";
        text += shapeText(source(i).shape()) + " " + ggml_type_name(source(i).tensor->type);
    }
    for (size_t i = 0; i < params_.size(); ++i) {
        char number[32];
        std::snprintf(number, sizeof number, "%g", params_[i]);
        text += (i == 0 ? "; " : ", ") + std::string(number);
    }
    return text + ")";
}

void OpCall::fail(const char* code, const std::string& what) const {
    throw Error(code, describe() + ": " + what, {detailOf("op", spec_.name)});
}

void OpCall::require(bool condition, const std::string& what) const {
    if (!condition) fail("InvalidArgument", what);
}

void OpCall::requireShape(bool condition, const std::string& what) const {
    if (!condition) fail("ShapeMismatch", what);
}

float OpCall::number(size_t position) const {
    const double value = params_[position];
    require(std::isfinite(value) && std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()),
            "parameter " + std::to_string(position) + " must be a finite float32.");
    return static_cast<float>(value);
}

float OpCall::number(size_t position, float fallback) const {
    return has(position) ? number(position) : fallback;
}

int64_t OpCall::integer(size_t position, int64_t least, int64_t most) const {
    const double value = params_[position];
    const bool fits = std::isfinite(value) && std::floor(value) == value &&
                      value >= static_cast<double>(least) && value <= static_cast<double>(most);
    require(fits, "parameter " + std::to_string(position) + " must be a whole number from " +
                      std::to_string(least) + " to " + std::to_string(most) + ".");
    return static_cast<int64_t>(value);
}

int64_t OpCall::integerOr(size_t position, int64_t fallback, int64_t least, int64_t most) const {
    return has(position) ? integer(position, least, most) : fallback;
}

int OpCall::dimension(size_t position, int rank) const {
    require(rank > 0, "a tensor without dimensions has none to name.");
    const int64_t dimension = integer(position, -rank, rank - 1);
    return static_cast<int>(dimension < 0 ? dimension + rank : dimension);
}

void OpCall::requireType(size_t position, std::initializer_list<ggml_type> types) const {
    std::string wanted;
    for (ggml_type type : types) {
        if (source(position).tensor->type == type) return;
        wanted += (wanted.empty() ? "" : ", ") + std::string(ggml_type_name(type));
    }
    fail("UnsupportedDType", "source " + std::to_string(position) + " must be one of: " + wanted + ".");
}

void OpCall::requireRank(size_t position, int least, int most) const {
    const int rank = source(position).rank;
    if (rank >= least && rank <= most) return;
    fail("ShapeMismatch", "source " + std::to_string(position) + " must have " +
                              countText(static_cast<size_t>(least), static_cast<size_t>(most)) +
                              " dimensions.");
}

}  // namespace mizuoto
