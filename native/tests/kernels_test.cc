// The kernels of every instruction set that this machine runs, against the C library in double precision.
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "check.h"

using mizuoto::Kernels;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
    const char* name;
    Kernels::Unary Kernels::*kernel;
    double (*exact)(double x);
    /** Of the result's size, or absolute below 1. */
    double tolerance;
    float first;
    float last;
};

const Case kCases[] = {
    {"gelu_erf", &Kernels::geluErf, [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); },
     6e-7, -30, 30},
    {"gelu_tanh", &Kernels::geluTanh,
     [](double x) {
         return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
     },
     6e-7, -30, 30},
    {"sigmoid", &Kernels::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 2e-7, -120, 120},
    {"tanh", &Kernels::tanh, [](double x) { return std::tanh(x); }, 2e-7, -60, 60},
    {"elu", &Kernels::elu, [](double x) { return x > 0 ? x : std::expm1(x); }, 2e-7, -120, 20},
    {"exp", &Kernels::exp, [](double x) { return std::exp(x); }, 4e-7, -110, 88.7f},
};

/** Sizes around the block of values that kernels work on. */
constexpr size_t kSizes[] = {1, 3, 63, 64, 65, 4099};

void checkUnary(const Kernels& kernels, const Case& test) {
    for (size_t count : kSizes) {
        std::vector<float> x(count);
        std::vector<float> y(count + 1, 7.0f);
        const float step = (test.last - test.first) / static_cast<float>(count);
        for (size_t i = 0; i < count; ++i) x[i] = test.first + step * (static_cast<float>(i) + 0.37f);
        (kernels.*test.kernel)(x.data(), y.data(), count);
        for (size_t i = 0; i < count; ++i) {
            const double exact = test.exact(x[i]);
            const double error = std::abs(y[i] - exact) / std::max(1.0, std::abs(exact));
            if (!(error <= test.tolerance)) {
                std::printf("%s (%s) of %g: %g instead of %g\n", test.name, kernels.instructions, x[i], y[i],
                            exact);
            }
            CHECK(error <= test.tolerance);
        }
        CHECK(y[count] == 7.0f);
        // A value's result does not depend on where it lies.
        float alone = 0;
        (kernels.*test.kernel)(&x[count / 2], &alone, 1);
        CHECK(alone == y[count / 2]);
    }
}

/** Products of float32 against double precision, around every size at which the work is cut. */
void checkF32(const Kernels& kernels) {
    if (kernels.f32Product == nullptr) return;
    std::vector<float> panel(kernels.panelValues, kNan);
    const auto value = [](size_t i) { return static_cast<float>(std::sin(0.7 * static_cast<double>(i))); };
    for (size_t width : {1, 7, 16, 33, 100, 1023, 1024, 2050}) {
        for (size_t outputs : {1, 5, 8, 9}) {
            const size_t rowStride = width + 3;
            std::vector<float> weights(outputs * rowStride, kNan);
            for (size_t o = 0; o < outputs; ++o) {
                for (size_t i = 0; i < width; ++i) weights[o * rowStride + i] = value(o * width + i) * 100;
            }
            for (size_t rows : {1, 15, 16, 17, 33, 48, 50}) {
                const size_t stride = width + 1;
                std::vector<float> x(rows * stride, kNan);
                for (size_t r = 0; r < rows; ++r) {
                    for (size_t i = 0; i < width; ++i) x[r * stride + i] = value(3 * r * width + i + 1);
                }
                std::vector<float> y(rows * outputs + 1, 7.0f);
                kernels.f32Product(weights.data(), outputs, rowStride, x.data(), stride, rows, width,
                                   y.data(), outputs, panel.data());
                CHECK(y.back() == 7.0f);
                for (size_t r = 0; r < rows; ++r) {
                    for (size_t o = 0; o < outputs; ++o) {
                        double exact = 0;
                        double size = 0;
                        for (size_t i = 0; i < width; ++i) {
                            const double product =
                                static_cast<double>(weights[o * rowStride + i]) * x[r * stride + i];
                            exact += product;
                            size += std::abs(product);
                        }
                        CHECK(std::abs(y[r * outputs + o] - exact) <= 3e-6 * size);
                    }
                }
                // A value depends on neither its neighbours nor where it lies.
                const size_t last = rows - 1;
                float alone = 0;
                kernels.f32Product(&weights[(outputs - 1) * rowStride], 1, rowStride, &x[last * stride],
                                   stride, 1, width, &alone, 1, panel.data());
                CHECK(alone == y[last * outputs + outputs - 1]);
            }
        }
    }
}

/** Products with bfloat16 against double precision, around every size at which the work is cut. */
void checkBf16(const Kernels& kernels) {
    constexpr size_t rows = 3;
    for (size_t width : {1, 2, 15, 31, 32, 33, 64, 100, 160, 1024}) {
        std::vector<unsigned short> weights(rows * width);
        // Odd multiples of 2^-7 below 1 in size: every one is exact in bfloat16.
        const auto weight = [&](size_t i) {
            return static_cast<float>(static_cast<int>(i * 37 % 127) * 2 - 127) / 128;
        };
        for (size_t i = 0; i < weights.size(); ++i) {
            const float value = weight(i);
            unsigned bits = 0;
            std::memcpy(&bits, &value, sizeof(bits));
            weights[i] = static_cast<unsigned short>(bits >> 16);
        }
        const size_t stride = (width + 31) / 32 * 32;
        for (size_t columns : {1, 2, 3, 4, 5, 9}) {
            std::vector<float> x(columns * width);
            std::vector<float> prepared(columns * stride, kNan);
            for (size_t i = 0; i < x.size(); ++i)
                x[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)) * 90000);
            for (size_t c = 0; c < columns; ++c)
                kernels.bf16Prepare(&x[c * width], &prepared[c * stride], width);
            std::vector<float> y(columns * rows + 1, 7.0f);
            kernels.bf16Product(weights.data(), rows, width, prepared.data(), stride, columns, width,
                                y.data(), rows);
            CHECK(y.back() == 7.0f);
            for (size_t c = 0; c < columns; ++c) {
                for (size_t r = 0; r < rows; ++r) {
                    double exact = 0;
                    double size = 0;
                    for (size_t i = 0; i < width; ++i) {
                        const double product = static_cast<double>(weight(r * width + i)) * x[c * width + i];
                        exact += product;
                        size += std::abs(product);
                    }
                    CHECK(std::abs(y[c * rows + r] - exact) <= 1e-6 * size);
                    // A column's result depends neither on its neighbours nor on the rows beside it.
                    float alone = 0;
                    kernels.bf16Product(&weights[r * width], 1, width, &prepared[c * stride], stride, 1,
                                        width, &alone, 1);
                    CHECK(alone == y[c * rows + r]);
                }
            }
        }
    }
}

void checkEnds(const Kernels& kernels) {
    const auto at = [](Kernels::Unary kernel, float x) {
        float y = 0;
        kernel(&x, &y, 1);
        return y;
    };
    for (const Case& test : kCases) CHECK(std::isnan(at(kernels.*test.kernel, kNan)));
    CHECK(at(kernels.sigmoid, kInfinity) == 1 && at(kernels.sigmoid, -kInfinity) == 0);
    CHECK(at(kernels.tanh, kInfinity) == 1 && at(kernels.tanh, -kInfinity) == -1);
    CHECK(at(kernels.exp, kInfinity) == kInfinity && at(kernels.exp, -kInfinity) == 0);
    CHECK(at(kernels.exp, 0) == 1 && at(kernels.exp, 100) == kInfinity);
    CHECK(at(kernels.elu, kInfinity) == kInfinity && at(kernels.elu, -kInfinity) == -1);
    CHECK(at(kernels.geluErf, kInfinity) == kInfinity && at(kernels.geluErf, 1e30f) == 1e30f);
    CHECK(at(kernels.geluTanh, kInfinity) == kInfinity && at(kernels.geluTanh, 1e30f) == 1e30f);
    CHECK(at(kernels.geluErf, -1e30f) == 0 && at(kernels.geluTanh, -1e30f) == 0);
}

void checkSnake(const Kernels& kernels) {
    for (size_t count : kSizes) {
        std::vector<float> x(count), alpha(count), beta(count), scale(count), y(count + 1, 7.0f);
        for (size_t i = 0; i < count; ++i) {
            x[i] = 9.0f * std::sin(static_cast<float>(i) * 1.7f);
            // Some arguments lie beyond what the kernel reduces itself.
            alpha[i] = i % 50 == 7 ? 5000.0f : 0.02f + 0.5f * static_cast<float>(i % 40);
            beta[i] = 0.1f + 0.03f * static_cast<float>(i % 90);
        }
        kernels.reciprocals(beta.data(), 1e-9f, scale.data(), count);
        const auto exact = [&](size_t i, float a, float s) {
            const double sine = std::sin(static_cast<double>(a * x[i]));
            return x[i] + sine * sine * s;
        };
        const auto close = [](float found, double wanted) {
            return std::abs(found - wanted) <= 2e-6 * std::max(1.0, std::abs(wanted));
        };
        kernels.snakeChannels(x.data(), alpha.data(), scale.data(), y.data(), count);
        for (size_t i = 0; i < count; ++i) CHECK(close(y[i], exact(i, alpha[i], scale[i])));
        kernels.snakeFrames(x.data(), 3.7f, 0.8f, y.data(), count);
        for (size_t i = 0; i < count; ++i) CHECK(close(y[i], exact(i, 3.7f, 0.8f)));
        CHECK(y[count] == 7.0f);
    }
    const float bad[] = {kNan, kInfinity};
    for (float value : bad) {
        float y = 0;
        kernels.snakeFrames(&value, 1.0f, 1.0f, &y, 1);
        CHECK(std::isnan(y));
    }
}

template <void (*body)(const Kernels&)>
void onEveryVariant() {
    const Kernels* variants[8];
    const size_t count = mizuoto::kernelVariants(variants, 8);
    CHECK(count >= 1);
    for (size_t i = 0; i < count; ++i) body(*variants[i]);
}

void checkAllUnary(const Kernels& kernels) {
    for (const Case& test : kCases) checkUnary(kernels, test);
}

}  // namespace

TEST_CASE(unary_kernels_agree_with_the_c_library) {
    onEveryVariant<checkAllUnary>();
}

TEST_CASE(kernels_keep_infinities_and_nan) {
    onEveryVariant<checkEnds>();
}

TEST_CASE(snake_agrees_with_the_c_library) {
    onEveryVariant<checkSnake>();
}

TEST_CASE(products_with_bfloat16_agree_with_double_precision) {
    onEveryVariant<checkBf16>();
}

TEST_CASE(products_of_float32_agree_with_double_precision) {
    onEveryVariant<checkF32>();
}

TEST_CASE(the_last_variant_is_used) {
    const Kernels* variants[8];
    const size_t count = mizuoto::kernelVariants(variants, 8);
    CHECK(&mizuoto::kernels() == variants[count - 1]);
}
