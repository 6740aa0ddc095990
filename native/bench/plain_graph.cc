// The network of bench/overhead.ts in plain ggml, to measure our execution against:
//   plain_graph BACKENDS_FOLDER BLOCKS WIDTH ROWS THREADS RUNS
// prints {"seconds_per_run": s, "checksum": c}, the median over RUNS after three warm-up runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

// The same values on both sides: a small linear congruential sequence in -0.5..0.5, scaled.
class Sequence {
  public:
    explicit Sequence(unsigned seed) : state_(seed) {}
    float next(float scale) {
        state_ = state_ * 1664525U + 1013904223U;
        return (static_cast<float>(state_ >> 8) / 16777216.0F - 0.5F) * scale;
    }

  private:
    unsigned state_;
};

struct Block {
    ggml_tensor* up;
    ggml_tensor* down;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: plain_graph BACKENDS_FOLDER BLOCKS WIDTH ROWS THREADS RUNS\n");
        return 2;
    }
    const int blocks = std::atoi(argv[2]);
    const int width = std::atoi(argv[3]);
    const int rows = std::atoi(argv[4]);
    const int threads = std::atoi(argv[5]);
    const int runs = std::atoi(argv[6]);
    const int hidden = 4 * width;

    ggml_backend_load_all_from_path(argv[1]);
    ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr);
    if (backend == nullptr) {
        std::fprintf(stderr, "no CPU backend in %s\n", argv[1]);
        return 1;
    }
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    auto setThreads = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads"));
    if (setThreads != nullptr) setThreads(backend, threads);

    ggml_init_params params{ggml_tensor_overhead() * static_cast<size_t>(2 * blocks + 1), nullptr, true};
    ggml_context* weights = ggml_init(params);
    std::vector<Block> layers(static_cast<size_t>(blocks));
    for (Block& layer : layers) {
        layer.up = ggml_new_tensor_2d(weights, GGML_TYPE_F32, width, hidden);
        layer.down = ggml_new_tensor_2d(weights, GGML_TYPE_F32, hidden, width);
    }
    ggml_tensor* input = ggml_new_tensor_2d(weights, GGML_TYPE_F32, width, rows);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(weights, backend);

    Sequence sequence(7);
    auto fill = [&](ggml_tensor* tensor, float scale) {
        std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
        for (float& value : values) value = sequence.next(scale);
        ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    };
    for (Block& layer : layers) {
        fill(layer.up, 0.1F);
        fill(layer.down, 0.1F);
    }
    fill(input, 2.0F);

    const size_t nodes = static_cast<size_t>(16 * blocks + 16);
    ggml_init_params graphParams{ggml_tensor_overhead() * nodes + ggml_graph_overhead_custom(nodes, false),
                                 nullptr, true};
    ggml_context* context = ggml_init(graphParams);
    ggml_cgraph* graph = ggml_new_graph_custom(context, nodes, false);
    ggml_tensor* x = input;
    for (const Block& layer : layers) {
        ggml_tensor* h = ggml_norm(context, x, 1e-5F);
        h = ggml_gelu_erf(context, ggml_mul_mat(context, layer.up, h));
        x = ggml_add(context, x, ggml_mul_mat(context, layer.down, h));
    }
    ggml_build_forward_expand(graph, x);
    ggml_gallocr_t allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    ggml_gallocr_alloc_graph(allocator, graph);

    std::vector<float> output(static_cast<size_t>(ggml_nelements(x)));
    std::vector<double> seconds;
    for (int run = -3; run < runs; run++) {
        const auto start = std::chrono::steady_clock::now();
        ggml_backend_graph_compute(backend, graph);
        ggml_backend_tensor_get(x, output.data(), 0, ggml_nbytes(x));
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (run >= 0) seconds.push_back(spent.count());
    }
    std::sort(seconds.begin(), seconds.end());
    double checksum = 0;
    for (float value : output) checksum += static_cast<double>(value);
    std::printf("{\"seconds_per_run\": %.9f, \"checksum\": %.6f}\n", seconds[seconds.size() / 2], checksum);

    ggml_gallocr_free(allocator);
    ggml_free(context);
    ggml_backend_buffer_free(buffer);
    ggml_free(weights);
    ggml_backend_free(backend);
    return 0;
}
