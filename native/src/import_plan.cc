#include "import_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace mizuoto {
namespace {

struct Span {
    const void* file;
    uintptr_t begin;
    uintptr_t end;
    /** Of the pieces themselves. */
    size_t bytes;
    std::vector<size_t> pieces;
};

}  // namespace

ImportPlan planImports(const std::vector<Importable>& pieces, const ImportLimits& limits) {
    const auto address = [&](size_t piece) { return reinterpret_cast<uintptr_t>(pieces[piece].data); };
    const auto pageOf = [&](uintptr_t at) { return at / limits.pageBytes * limits.pageBytes; };
    const auto pageEnd = [&](uintptr_t at) { return pageOf(at + limits.pageBytes - 1); };

    std::vector<size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        if (pieces[a].file != pieces[b].file) return std::less<>{}(pieces[a].file, pieces[b].file);
        return address(a) != address(b) ? address(a) < address(b) : a < b;
    });

    std::vector<Span> spans;
    for (size_t piece : order) {
        const uintptr_t begin = pageOf(address(piece));
        const uintptr_t end = pageEnd(address(piece) + pieces[piece].bytes);
        if (pieces[piece].bytes == 0 || end - begin > limits.maxBytes) continue;
        if (!spans.empty()) {
            Span& last = spans.back();
            const uintptr_t joined = std::max(last.end, end);
            const bool near = begin <= last.end || begin - last.end <= limits.largestGap;
            if (last.file == pieces[piece].file && near && joined - last.begin <= limits.maxBytes) {
                last.end = joined;
                last.bytes += pieces[piece].bytes;
                last.pieces.push_back(piece);
                continue;
            }
        }
        spans.push_back({pieces[piece].file, begin, end, pieces[piece].bytes, {piece}});
    }
    if (spans.size() > limits.maxWindows) {
        std::stable_sort(spans.begin(), spans.end(),
                         [](const Span& a, const Span& b) { return a.bytes > b.bytes; });
        spans.resize(limits.maxWindows);
    }

    ImportPlan plan;
    plan.windowOf.assign(pieces.size(), -1);
    for (const Span& span : spans) {
        for (size_t piece : span.pieces) plan.windowOf[piece] = static_cast<int>(plan.windows.size());
        plan.windows.push_back(
            {span.file, reinterpret_cast<const uint8_t*>(span.begin), span.end - span.begin});
    }
    return plan;
}

}  // namespace mizuoto
