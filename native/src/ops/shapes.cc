// Views, copies and changes of shape or type.
#include <algorithm>
#include <array>

#include "casts.h"
#include "op_table.h"

namespace mizuoto {
namespace {

using Extent = std::array<int64_t, kMaxRank>;
using Strides = std::array<size_t, kMaxRank>;

/** A view with strides of its own; the caller keeps it inside the source. */
ggml_tensor* viewOf(OpCall& call, ggml_tensor* source, const Extent& ne, const Strides& nb, size_t offset) {
    ggml_tensor* view =
        ggml_view_4d(call.context(), source, ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], offset);
    view->nb[0] = nb[0];
    return call.node(view);
}

struct Window {
    Extent ne;
    Strides nb;
    size_t offset = 0;
};

/** `length` elements of one dimension from `start`, every `step`-th. */
Window windowOf(OpCall& call, int dimension, int64_t start, int64_t length, int64_t step) {
    const Value& source = call.source(0);
    const ggml_tensor* tensor = source.tensor;
    const auto d = static_cast<size_t>(ggmlDimension(dimension, source.rank));
    Window window;
    std::copy_n(tensor->ne, kMaxRank, window.ne.begin());
    std::copy_n(tensor->nb, kMaxRank, window.nb.begin());
    call.requireShape(
        start + (length - 1) * step < tensor->ne[d],
        "the range ends beyond the dimension's " + std::to_string(tensor->ne[d]) + " elements.");
    const int64_t block = d == 0 ? ggml_blck_size(tensor->type) : 1;
    call.require(start % block == 0 && length % block == 0 && (block == 1 || step == 1),
                 "quantised rows can be cut at multiples of " + std::to_string(block) + " only.");
    window.ne[d] = length;
    window.offset = static_cast<size_t>(start / block) * tensor->nb[d];
    window.nb[d] *= static_cast<size_t>(step);
    return window;
}

int64_t startOf(OpCall& call, size_t position, int64_t size) {
    const int64_t start = call.integer(position, -size, size - 1);
    return start < 0 ? start + size : start;
}

int64_t sizeOf(const Value& value, int dimension) {
    return value.tensor->ne[ggmlDimension(dimension, value.rank)];
}

Value narrow(OpCall& call) {
    const Value& source = call.source(0);
    const int dimension = call.dimension(0, source.rank);
    const int64_t size = sizeOf(source, dimension);
    const int64_t start = startOf(call, 1, size);
    const int64_t length = call.integer(2, 1, size);
    const Window window = windowOf(call, dimension, start, length, 1);
    return {viewOf(call, source.tensor, window.ne, window.nb, window.offset), source.rank};
}

Value slice(OpCall& call) {
    const Value& source = call.source(0);
    const int dimension = call.dimension(0, source.rank);
    const int64_t size = sizeOf(source, dimension);
    const int64_t start = startOf(call, 1, size);
    const int64_t length = call.integer(2, 1, size);
    const int64_t step = call.integer(3, 1, size);
    const Window window = windowOf(call, dimension, start, length, step);
    ggml_tensor* view = viewOf(call, source.tensor, window.ne, window.nb, window.offset);
    // Few kernels read rows with gaps.
    return {call.recorder().contiguousRows(view), source.rank};
}

Value select(OpCall& call) {
    const Value& source = call.source(0);
    const int dimension = call.dimension(0, source.rank);
    const auto d = static_cast<size_t>(ggmlDimension(dimension, source.rank));
    call.require(d != 0 || !ggml_is_quantized(source.tensor->type),
                 "one element of a quantised row has no address.");
    const int64_t start = startOf(call, 1, source.tensor->ne[d]);
    Window window = windowOf(call, dimension, start, 1, 1);
    const Extent ne = window.ne;
    const Strides nb = window.nb;
    for (size_t i = d; i + 1 < kMaxRank; ++i) {
        window.ne[i] = ne[i + 1];
        window.nb[i] = nb[i + 1];
    }
    window.ne[kMaxRank - 1] = 1;
    window.nb[kMaxRank - 1] = window.nb[kMaxRank - 2] * static_cast<size_t>(window.ne[kMaxRank - 2]);
    ggml_tensor* view = viewOf(call, source.tensor, window.ne, window.nb, window.offset);
    return {d == 0 ? call.recorder().contiguousRows(view) : view, source.rank - 1};
}

Value reshape(OpCall& call) {
    const Value& source = call.source(0);
    Shape shape;
    int64_t known = 1;
    size_t inferred = SIZE_MAX;
    const int64_t elements = ggml_nelements(source.tensor);
    for (size_t i = 0; i < call.paramCount(); ++i) {
        const int64_t size = call.integer(i, -1, INT32_MAX);
        call.require(size != 0, "no dimension can be 0.");
        if (size == -1) {
            call.require(inferred == SIZE_MAX, "only one dimension can be -1.");
            inferred = i;
        } else {
            known = known > elements ? known : known * size;
        }
        shape.push_back(size);
    }
    if (inferred != SIZE_MAX) {
        call.requireShape(elements % known == 0, "the elements do not divide into this shape.");
        shape[inferred] = elements / known;
    }
    call.requireShape(elementCount(shape) == elements, shapeText(shape) + " does not hold the source's " +
                                                           std::to_string(elements) + " elements.");
    checkShape(source.tensor->type, shape, "The result of reshape");
    const auto ne = toNe(shape);
    const int rank = static_cast<int>(shape.size());
    // Only leading ones come or go: the same tensor.
    if (std::equal(ne.begin(), ne.end(), source.tensor->ne)) return {source.tensor, rank};
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(ggml_reshape_4d(call.context(), a, ne[0], ne[1], ne[2], ne[3])), rank};
}

Value permuted(OpCall& call, const std::array<int, kMaxRank>& order) {
    const Value& source = call.source(0);
    const int rank = source.rank;
    // order[i]: which of the source's dimensions becomes dimension i. ggml wants the inverse, fastest first.
    std::array<int, kMaxRank> axes = {0, 1, 2, 3};
    for (int i = 0; i < rank; ++i) {
        axes[static_cast<size_t>(ggmlDimension(order[static_cast<size_t>(i)], rank))] =
            ggmlDimension(i, rank);
    }
    call.require(!ggml_is_quantized(source.tensor->type) || axes[0] == 0,
                 "rows of quantised values stay rows.");
    return {call.node(ggml_permute(call.context(), source.tensor, axes[0], axes[1], axes[2], axes[3])), rank};
}

Value permute(OpCall& call) {
    const int rank = call.source(0).rank;
    call.require(call.paramCount() == static_cast<size_t>(rank), "one parameter per dimension is needed.");
    std::array<int, kMaxRank> order{};
    std::array<bool, kMaxRank> seen{};
    for (size_t i = 0; i < call.paramCount(); ++i) {
        order[i] = call.dimension(i, rank);
        bool& used = seen[static_cast<size_t>(order[i])];
        call.require(!used, "a dimension is named twice.");
        used = true;
    }
    return permuted(call, order);
}

Value transpose(OpCall& call) {
    const int rank = call.source(0).rank;
    std::array<int, kMaxRank> order = {0, 1, 2, 3};
    std::swap(order[static_cast<size_t>(call.dimension(0, rank))],
              order[static_cast<size_t>(call.dimension(1, rank))]);
    return permuted(call, order);
}

Value cont(OpCall& call) {
    return {call.contiguousAnywhere(0), call.source(0).rank};
}

Value cast(OpCall& call) {
    const Value& source = call.source(0);
    const ggml_type type = dtypeFromCode(call.number(0));
    if (type == source.tensor->type) return source;
    if (!canCast(source.tensor->type, type)) {
        call.fail("UnsupportedDType", std::string("values cannot be cast to ") + ggml_type_name(type) + ".");
    }
    call.requireShape(source.tensor->ne[0] % ggml_blck_size(type) == 0,
                      std::string("rows of ") + ggml_type_name(type) + " come in blocks of " +
                          std::to_string(ggml_blck_size(type)) + ".");
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(ggml_cast(call.context(), a, type)), source.rank};
}

Value repeat(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32, GGML_TYPE_I32, GGML_TYPE_F16, GGML_TYPE_BF16});
    Shape shape;
    for (size_t i = 0; i < call.paramCount(); ++i) shape.push_back(call.integer(i, 1, INT32_MAX));
    const ggml_tensor* tensor = call.source(0).tensor;
    checkShape(tensor->type, shape, "The result of repeat");
    const auto ne = toNe(shape);
    for (size_t i = 0; i < kMaxRank; ++i) {
        call.requireShape(ne[i] % tensor->ne[i] == 0,
                          "each dimension of " + shapeText(shape) + " must be a multiple of the source's.");
    }
    ggml_tensor* a = call.contiguousRowsAnywhere(0);
    ggml_tensor* repeated = call.node(ggml_repeat_4d(call.context(), a, ne[0], ne[1], ne[2], ne[3]));
    return {repeated, static_cast<int>(shape.size())};
}

Value concat(OpCall& call) {
    const int rank = call.source(0).rank;
    const int dimension = ggmlDimension(call.dimension(0, rank), rank);
    Shape total = call.source(0).shape();
    for (size_t i = 0; i < call.sourceCount(); ++i) {
        call.requireType(i, {GGML_TYPE_F32, GGML_TYPE_I32, GGML_TYPE_F16, GGML_TYPE_BF16});
        const ggml_tensor* part = call.source(i).tensor;
        const ggml_tensor* first = call.source(0).tensor;
        call.require(part->type == first->type, "all sources must have one type.");
        call.requireShape(call.source(i).rank == rank, "all sources must have as many dimensions.");
        for (int d = 0; d < kMaxRank; ++d) {
            call.requireShape(d == dimension || part->ne[d] == first->ne[d],
                              "the sources differ in another dimension than the one they are joined along.");
        }
        if (i > 0) total[static_cast<size_t>(rank - 1 - dimension)] += part->ne[dimension];
    }
    checkShape(call.source(0).tensor->type, total, "The result of concat");
    ggml_tensor* joined = call.contiguousRowsAnywhere(0);
    for (size_t i = 1; i < call.sourceCount(); ++i) {
        ggml_tensor* part = call.contiguousRowsAnywhere(i);
        joined = call.node(ggml_concat(call.context(), joined, part, dimension));
    }
    return {joined, rank};
}

/** Left and right amounts per dimension, last dimension first, as torch.nn.functional.pad takes them. */
struct Padding {
    std::array<int, kMaxRank> left{};
    std::array<int, kMaxRank> right{};
};

Padding paddingOf(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    const Value& source = call.source(0);
    call.require(call.paramCount() % 2 == 0 && call.paramCount() <= 2 * static_cast<size_t>(source.rank),
                 "two parameters per padded dimension are needed, last dimension first.");
    Padding padding;
    Shape shape = source.shape();
    for (size_t d = 0; d < call.paramCount() / 2; ++d) {
        padding.left[d] = static_cast<int>(call.integer(2 * d, 0, INT32_MAX));
        padding.right[d] = static_cast<int>(call.integer(2 * d + 1, 0, INT32_MAX));
        shape[shape.size() - 1 - d] += int64_t{padding.left[d]} + padding.right[d];
    }
    checkShape(source.tensor->type, shape, "The result of padding");
    return padding;
}

Value pad(OpCall& call) {
    const auto [l, r] = paddingOf(call);
    ggml_tensor* a = call.contiguousAnywhere(0);
    ggml_tensor* padded = ggml_pad_ext(call.context(), a, l[0], r[0], l[1], r[1], l[2], r[2], l[3], r[3]);
    return {call.node(padded), call.source(0).rank};
}

Value padCircular(OpCall& call) {
    const auto [l, r] = paddingOf(call);
    for (size_t d = 0; d < kMaxRank; ++d) {
        const int64_t size = call.source(0).tensor->ne[d];
        call.requireShape(l[d] <= size && r[d] <= size,
                          "a dimension cannot be wrapped around more than once.");
    }
    ggml_tensor* a = call.contiguousAnywhere(0);
    ggml_tensor* padded =
        ggml_pad_ext_circular(call.context(), a, l[0], r[0], l[1], r[1], l[2], r[2], l[3], r[3]);
    return {call.node(padded), call.source(0).rank};
}

Value padReflect1d(OpCall& call) {
    call.requireRank(0, 1, kMaxRank);
    const auto [l, r] = paddingOf(call);
    const int64_t size = call.source(0).tensor->ne[0];
    call.requireShape(l[0] < size && r[0] < size,
                      "a reflection needs more frames than it pads; there are " + std::to_string(size) + ".");
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_pad_reflect_1d(call.context(), a, l[0], r[0])), call.source(0).rank};
}

Value roll(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    const Value& source = call.source(0);
    const auto d = static_cast<size_t>(ggmlDimension(call.dimension(1, source.rank), source.rank));
    std::array<int, kMaxRank> shift{};
    shift[d] = static_cast<int>(call.integer(0, -INT32_MAX, INT32_MAX) % source.tensor->ne[d]);
    ggml_tensor* a = call.contiguous(0);
    return {call.node(ggml_roll(call.context(), a, shift[0], shift[1], shift[2], shift[3])), source.rank};
}

Value interpolate(OpCall& call) {
    call.requireType(0, {GGML_TYPE_F32});
    const Value& source = call.source(0);
    const int64_t mode = call.integer(0, 0, GGML_SCALE_MODE_COUNT - 1);
    const bool align = call.integer(1, 0, 1) == 1;
    call.require(!align || mode != GGML_SCALE_MODE_NEAREST,
                 "corners cannot be aligned with nearest neighbours.");
    const size_t sizes = call.paramCount() - 2;
    call.requireRank(0, static_cast<int>(sizes), kMaxRank);
    Shape shape = source.shape();
    for (size_t i = 0; i < sizes; ++i) shape[shape.size() - sizes + i] = call.integer(2 + i, 1, INT32_MAX);
    checkShape(source.tensor->type, shape, "The result of interpolate");
    const auto ne = toNe(shape);
    auto flags = static_cast<uint32_t>(mode);
    if (align) flags |= GGML_SCALE_FLAG_ALIGN_CORNERS;
    ggml_tensor* a = call.contiguousAnywhere(0);
    return {call.node(ggml_interpolate(call.context(), a, ne[0], ne[1], ne[2], ne[3], flags)), source.rank};
}

constexpr OpSpec kOps[] = {
    {"narrow", 1, 1, 3, 3, narrow},
    {"slice", 1, 1, 4, 4, slice},
    {"select", 1, 1, 2, 2, select},
    {"reshape", 1, 1, 0, 4, reshape},
    {"permute", 1, 1, 0, 4, permute},
    {"transpose", 1, 1, 2, 2, transpose},
    {"cont", 1, 1, 0, 0, cont},
    {"cast", 1, 1, 1, 1, cast},
    {"repeat", 1, 1, 0, 4, repeat},
    {"concat", 1, kAnyNumber, 1, 1, concat},
    {"pad", 1, 1, 2, 8, pad},
    {"pad_circular", 1, 1, 2, 8, padCircular},
    {"pad_reflect_1d", 1, 1, 2, 2, padReflect1d},
    {"roll", 1, 1, 2, 2, roll},
    {"interpolate", 1, 1, 3, 4, interpolate},
};

}  // namespace

std::span<const OpSpec> shapeOps() {
    return kOps;
}

}  // namespace mizuoto
