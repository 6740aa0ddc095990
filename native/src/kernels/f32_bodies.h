// Products of float32 matrices, included by kernel_bodies.h once per instruction set.
//
// ggml sums along vectors, and adds each vector up at the end; its tiles are small. Here rows of x stand side
// by side in the lanes: a panel of rows is laid out once, every weight is multiplied with a whole vector of
// it. Each value is summed up in the order of the width, in blocks of `kDepth`, whatever rows are computed
// beside it.

#if defined(__AVX512F__) || defined(__AVX2__)
#define MIZUOTO_F32_PRODUCT f32Product

/** Vectors of rows and rows of weights at once: as many sums as leave registers for a vector and a weight. */
constexpr size_t kPanelVectors = kLanes == 16 ? 3 : 2;
constexpr size_t kPanelRows = kPanelVectors * kLanes;
constexpr size_t kWeightRows = kLanes == 16 ? 8 : 6;
/** A panel of this depth stays in the second cache; sums in one row are short enough to stay exact. */
constexpr size_t kDepth = 1024;

/** `[kLanes rows, kLanes]` at `x`, rows `stride` apart, to `[kLanes, kLanes]`, `kPanelRows` apart; other rows
 * are 0. */
inline void layBlock(const float* x, size_t stride, size_t rows, float* panel) {
    float zeros[kLanes] = {};
    const auto row = [&](size_t r) { return r < rows ? x + r * stride : zeros; };
    for (size_t r = 0; r < kLanes; r += 4) {
        const float* from[4] = {row(r), row(r + 1), row(r + 2), row(r + 3)};
        for (size_t k = 0; k < kLanes; k += 4) {
            __m128 a = _mm_loadu_ps(from[0] + k);
            __m128 b = _mm_loadu_ps(from[1] + k);
            __m128 c = _mm_loadu_ps(from[2] + k);
            __m128 d = _mm_loadu_ps(from[3] + k);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            float* to = panel + k * kPanelRows + r;
            _mm_storeu_ps(to, a);
            _mm_storeu_ps(to + kPanelRows, b);
            _mm_storeu_ps(to + 2 * kPanelRows, c);
            _mm_storeu_ps(to + 3 * kPanelRows, d);
        }
    }
}

/** `[rows, depth]` at `x` to `[depth, kPanelRows]`. */
inline void layPanel(const float* x, size_t stride, size_t rows, size_t depth, float* panel) {
    for (size_t first = 0; first < kPanelRows && first < rows; first += kLanes) {
        const float* group = x + first * stride;
        const size_t count = rows - first < kLanes ? rows - first : kLanes;
        size_t k = 0;
        for (; k + kLanes <= depth; k += kLanes)
            layBlock(group + k, stride, count, panel + k * kPanelRows + first);
        for (; k < depth; ++k) {
            for (size_t r = 0; r < kLanes; ++r)
                panel[k * kPanelRows + first + r] = r < count ? group[r * stride + k] : 0.0f;
        }
    }
}

/** One tile: `rows` of the panel (in `vectors` vectors) times `count` rows of weights. */
template <size_t vectors>
inline void f32Tile(const float* MIZUOTO_RESTRICT panel, const float* weights, size_t rowStride, size_t count,
                    size_t depth, bool continues, float* y, size_t yStride, size_t rows) {
    const float* w[kWeightRows];
    for (size_t j = 0; j < kWeightRows; ++j) w[j] = weights + (j < count ? j : 0) * rowStride;
    Floats sums[kWeightRows][vectors] = {};
    for (size_t k = 0; k < depth; ++k) {
        Floats x[vectors];
        for (size_t v = 0; v < vectors; ++v) x[v] = loadFloats(panel + k * kPanelRows + v * kLanes);
        for (size_t j = 0; j < kWeightRows; ++j) {
            for (size_t v = 0; v < vectors; ++v) sums[j][v] += x[v] * w[j][k];
        }
    }
    float tile[kWeightRows][vectors * kLanes];
    std::memcpy(tile, sums, sizeof(tile));
    for (size_t r = 0; r < rows; ++r) {
        float* out = y + r * yStride;
        if (continues) {
            for (size_t j = 0; j < count; ++j) out[j] += tile[j][r];
        } else {
            for (size_t j = 0; j < count; ++j) out[j] = tile[j][r];
        }
    }
}

void f32Product(const float* weights, size_t outputs, size_t rowStride, const float* x, size_t stride,
                size_t rows, size_t width, float* y, size_t yStride, float* panel) {
    for (size_t r = 0; r < rows; r += kPanelRows) {
        const size_t here = rows - r < kPanelRows ? rows - r : kPanelRows;
        for (size_t k = 0; k < width; k += kDepth) {
            const size_t depth = width - k < kDepth ? width - k : kDepth;
            layPanel(x + r * stride + k, stride, here, depth, panel);
            for (size_t n = 0; n < outputs; n += kWeightRows) {
                const size_t count = outputs - n < kWeightRows ? outputs - n : kWeightRows;
                const float* w = weights + n * rowStride + k;
                float* out = y + r * yStride + n;
                if (here > 2 * kLanes) {
                    f32Tile<kPanelVectors>(panel, w, rowStride, count, depth, k > 0, out, yStride, here);
                } else if (here > kLanes) {
                    f32Tile<2>(panel, w, rowStride, count, depth, k > 0, out, yStride, here);
                } else {
                    f32Tile<1>(panel, w, rowStride, count, depth, k > 0, out, yStride, here);
                }
            }
        }
    }
}

constexpr size_t kPanelValues = kPanelRows * kDepth;
#else
#define MIZUOTO_F32_PRODUCT nullptr
constexpr size_t kPanelValues = 0;
constexpr size_t kPanelRows = 0;
#endif
