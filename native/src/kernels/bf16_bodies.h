// Products with matrices of bfloat16, included by kernel_bodies.h once per instruction set.
//
// ggml rounds the other operand to bfloat16 and widens both for every product; here it stays float32 and is
// laid out once so that a 32-bit word of weights becomes two of its values by a shift and a mask. Twice as
// fast for one column, where reading the weights is all there is to do, and exact up to the order of sums.

/** Weights taken at once: half of them are the low halves of words. */
constexpr size_t kBf16Block = 2 * kLanes;

/** Rows and columns at once: as many as leave their sums in registers. */
constexpr size_t kRows = 2;
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

/**
 * `rows` rows of weights with `columns` prepared columns, `stride` apart; sums go to `y`, `yStride` apart. A
 * sum is made in the same order however many there are at once, so that a column's result does not depend on
 * its neighbours.
 */
template <size_t rows, size_t columns>
inline void bf16Tile(const unsigned short* weights, size_t rowStride, const float* MIZUOTO_RESTRICT x,
                     size_t stride, size_t width, float* y, size_t yStride) {
    Floats even[rows][columns] = {};
    Floats odd[rows][columns] = {};
    const auto add = [&](const unsigned short* block, size_t blockStride, const float* values) {
        Floats low[rows];
        Floats high[rows];
        for (size_t r = 0; r < rows; ++r) {
            const Words words = loadWords(block + r * blockStride);
            low[r] = asFloats(words << 16);
            high[r] = asFloats(words & 0xffff0000u);
        }
        for (size_t c = 0; c < columns; ++c) {
            const Floats first = loadFloats(values + c * stride);
            const Floats second = loadFloats(values + c * stride + kLanes);
            for (size_t r = 0; r < rows; ++r) {
                even[r][c] += low[r] * first;
                odd[r][c] += high[r] * second;
            }
        }
    };
    size_t at = 0;
    for (; at + kBf16Block <= width; at += kBf16Block) {
        // The rows to come, while these are summed up.
        for (size_t r = 0; r < rows; ++r) MIZUOTO_PREFETCH(weights + at + (rows + r) * rowStride);
        add(weights + at, rowStride, x + at);
    }
    if (at < width) {
        unsigned short last[rows][kBf16Block] = {};
        for (size_t r = 0; r < rows; ++r)
            std::memcpy(last[r], weights + r * rowStride + at, (width - at) * sizeof(unsigned short));
        add(last[0], kBf16Block, x + at);
    }
    for (size_t c = 0; c < columns; ++c) {
        for (size_t r = 0; r < rows; ++r) {
            even[r][c] += odd[r][c];
            y[c * yStride + r] = sumOf(even[r][c]);
        }
    }
}

template <size_t columns>
inline void bf16Columns(const unsigned short* weights, size_t rows, size_t rowStride, const float* x,
                        size_t stride, size_t width, float* y, size_t yStride) {
    // Rows are read once for one column: there is nothing to share.
    constexpr size_t together = columns == 1 ? 1 : kRows;
    size_t r = 0;
    for (; r + together <= rows; r += together)
        bf16Tile<together, columns>(weights + r * rowStride, rowStride, x, stride, width, y + r, yStride);
    for (; r < rows; ++r)
        bf16Tile<1, columns>(weights + r * rowStride, rowStride, x, stride, width, y + r, yStride);
}

/** Rows that stay in a near cache while all columns pass. */
constexpr size_t kNearRows = 32;

void bf16Product(const unsigned short* weights, size_t rows, size_t rowStride, const float* x, size_t stride,
                 size_t columns, size_t width, float* y, size_t yStride) {
    for (size_t r = 0; r < rows; r += kNearRows) {
        const size_t count = rows - r < kNearRows ? rows - r : kNearRows;
        const unsigned short* block = weights + r * rowStride;
        const auto pass = [&]<size_t together>(size_t c) {
            bf16Columns<together>(block, count, rowStride, x + c * stride, stride, width, y + c * yStride + r,
                                  yStride);
        };
        size_t c = 0;
        for (; c + kColumns <= columns; c += kColumns) pass.template operator()<kColumns>(c);
        for (; c + 2 <= columns; c += 2) pass.template operator()<2>(c);
        if (c < columns) pass.template operator()<1>(c);
    }
}
