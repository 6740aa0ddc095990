#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "checkpoint.h"

namespace mizuoto {

/**
 * The tensor with its dimensions in another order: dimension `i` is the file's `order[i]`. `readFloat32` and
 * `forEachFloat32` of the checkpoint give its values so; there are no bytes that could be used in place. The
 * tensor lives as long as the pointer, which is one to `checkpoint`. Throws InvalidArgument where `order`
 * does not name each dimension once, UnsupportedDType for quantised types.
 */
std::pair<std::shared_ptr<const Checkpoint>, const CheckpointTensor*> reordered(
    std::shared_ptr<const Checkpoint> checkpoint, const CheckpointTensor& tensor, std::vector<int64_t> order);

/** Where the values of a reordered tensor lie in the file. */
class Reordering {
  public:
    explicit Reordering(const CheckpointTensor& tensor);

    /** Values `begin .. begin + count`; `one` answers with the file's element of an index. */
    template <typename One>
    void read(uint64_t begin, uint64_t count, float* out, One&& one) const {
        const Axis& inner = axes_.back();
        while (count > 0) {
            const uint64_t at = begin % inner.size;
            const uint64_t run = std::min(inner.size - at, count);
            uint64_t from = sourceOf(begin - at) + at * inner.source;
            for (uint64_t i = 0; i < run; ++i, from += inner.source) out[i] = one(from);
            out += run;
            begin += run;
            count -= run;
        }
    }

    /** All values: square by square, so that each line of memory is read and written once, on several
     * threads. */
    template <typename One>
    void readAll(float* out, One&& one) const {
        const Axis& column = axes_.back();
        const Axis& row = axes_[fastest_];
        const uint64_t pieces = std::max<uint64_t>(1, (column.size + kSide - 1) / kSide);
        inParallel(outerCount_ * pieces, column.size * row.size / pieces, [&](uint64_t first, uint64_t last) {
            for (uint64_t part = first; part < last; ++part) {
                const auto [source, target] = outer(part / pieces);
                const uint64_t begin = part % pieces * kSide;
                const uint64_t end = std::min(begin + kSide, column.size);
                if (&row == &column) {
                    for (uint64_t c = begin; c < end; ++c) out[target + c] = one(source + c * column.source);
                    continue;
                }
                for (uint64_t top = 0; top < row.size; top += kSide) {
                    const uint64_t bottom = std::min(top + kSide, row.size);
                    for (uint64_t r = top; r < bottom; ++r) {
                        float* line = out + target + r * row.target;
                        const uint64_t from = source + r * row.source;
                        for (uint64_t c = begin; c < end; ++c) line[c] = one(from + c * column.source);
                    }
                }
            }
        });
    }

  private:
    static constexpr uint64_t kSide = 64;

    struct Axis {
        uint64_t size = 1;
        /** Steps between neighbours, in the file and in the result. */
        uint64_t source = 1;
        uint64_t target = 1;
    };

    /** The file's element of the result's element `index`. */
    uint64_t sourceOf(uint64_t index) const;
    /** First elements of a slice over the innermost axis and the file's innermost one. */
    std::pair<uint64_t, uint64_t> outer(uint64_t index) const;
    static void inParallel(uint64_t parts, uint64_t elementsEach,
                           const std::function<void(uint64_t first, uint64_t last)>& work);

    /** In the result's order. */
    std::vector<Axis> axes_;
    /** The file's innermost one. */
    size_t fastest_ = 0;
    uint64_t outerCount_ = 1;
};

}  // namespace mizuoto
