// Products with matrices of bfloat16, included by kernel_bodies.h once per instruction set.
//
// ggml rounds the other operand to bfloat16 and widens both for every product; here it stays float32 and is
// laid out once so that a 32-bit word of weights becomes two of its values by a shift and a mask. Twice as
// fast for one column, where reading the weights is all there is to do, and exact up to the order of sums.

/** Weights taken at once: half of them are the low halves of words. */
constexpr size_t kBf16Block = 2 * kLanes;

/**
 * Sums at once, so that none waits for its own last addition: as many for one column as for several, so that
 * a column's result does not depend on its neighbours.
 */
constexpr size_t kSums = 2;
/** Columns at once: as many as leave their sums in registers. */
constexpr size_t kColumns = kLanes == 16 ? 4 : 2;

/** Of each block the values at even places, then those at odd ones; the last block ends with zeros. */
void bf16Prepare(const float* MIZUOTO_RESTRICT x, float* MIZUOTO_RESTRICT prepared, size_t width) {
    size_t at = 0;
    for (; at + kBf16Block <= width; at += kBf16Block) {
        for (size_t i = 0; i < kLanes; ++i) {
            prepared[at + i] = x[at + 2 * i];
            prepared[at + kLanes + i] = x[at + 2 * i + 1];
        }
    }
    if (at == width) return;
    for (size_t i = 0; i < kBf16Block; ++i) {
        const size_t place = at + (i < kLanes ? 2 * i : 2 * (i - kLanes) + 1);
        prepared[at + i] = place < width ? x[place] : 0.0f;
    }
}

/** One row of weights with `columns` prepared columns, `stride` apart; sums go to `y`, `yStride` apart. */
template <size_t columns>
inline void bf16Row(const unsigned short* weights, const float* MIZUOTO_RESTRICT x, size_t stride,
                    size_t width, float* y, size_t yStride) {
    Floats even[kSums][columns] = {};
    Floats odd[kSums][columns] = {};
    const auto add = [&](size_t sum, const Words& words, const float* values) {
        const Floats low = asFloats(words << 16);
        const Floats high = asFloats(words & 0xffff0000u);
        for (size_t c = 0; c < columns; ++c) {
            even[sum][c] += low * loadFloats(values + c * stride);
            odd[sum][c] += high * loadFloats(values + c * stride + kLanes);
        }
    };
    size_t at = 0;
    for (; at + kSums * kBf16Block <= width; at += kSums * kBf16Block) {
        for (size_t sum = 0; sum < kSums; ++sum) {
            const unsigned short* block = weights + at + sum * kBf16Block;
            // The next row, while this one is summed up.
            MIZUOTO_PREFETCH(block + width);
            add(sum, loadWords(block), x + at + sum * kBf16Block);
        }
    }
    for (; at + kBf16Block <= width; at += kBf16Block) add(0, loadWords(weights + at), x + at);
    if (at < width) {
        unsigned short last[kBf16Block] = {};
        std::memcpy(last, weights + at, (width - at) * sizeof(unsigned short));
        add(0, loadWords(last), x + at);
    }
    for (size_t c = 0; c < columns; ++c) {
        for (size_t sum = 0; sum < kSums; ++sum) even[sum][c] += odd[sum][c];
        for (size_t sum = 1; sum < kSums; ++sum) even[0][c] += even[sum][c];
        y[c * yStride] = sumOf(even[0][c]);
    }
}

template <size_t columns>
inline void bf16Columns(const unsigned short* weights, size_t rows, size_t rowStride, const float* x,
                        size_t stride, size_t width, float* y, size_t yStride) {
    for (size_t r = 0; r < rows; ++r)
        bf16Row<columns>(weights + r * rowStride, x, stride, width, y + r, yStride);
}

/** Rows that stay in a near cache while all columns pass. */
constexpr size_t kRows = 32;

void bf16Product(const unsigned short* weights, size_t rows, size_t rowStride, const float* x, size_t stride,
                 size_t columns, size_t width, float* y, size_t yStride) {
    for (size_t r = 0; r < rows; r += kRows) {
        const size_t count = rows - r < kRows ? rows - r : kRows;
        const unsigned short* block = weights + r * rowStride;
        size_t c = 0;
        for (; c + kColumns <= columns; c += kColumns)
            bf16Columns<kColumns>(block, count, rowStride, x + c * stride, stride, width, y + c * yStride + r,
                                  yStride);
        if (c + 2 <= columns) {
            bf16Columns<2>(block, count, rowStride, x + c * stride, stride, width, y + c * yStride + r,
                           yStride);
            c += 2;
        }
        if (c < columns)
            bf16Columns<1>(block, count, rowStride, x + c * stride, stride, width, y + c * yStride + r,
                           yStride);
    }
}
