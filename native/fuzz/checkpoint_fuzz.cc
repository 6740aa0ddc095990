/**
 * Fuzzes the checkpoint readers with files made from their grammars and then damaged. Needs no libFuzzer.
 *
 *     checkpoint_fuzz [--seconds N] [--seed S] [--start I] [--count N]
 *
 * Input i depends on seed and i alone; a failure prints both: repeat it with `--seed S --start i --count 1`.
 */
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "exercise.h"
#include "mutate.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

using fuzz::Bytes;
using fuzz::Random;
using mizuoto::CheckpointBuffer;
namespace fs = std::filesystem;

std::atomic<uint64_t> current{0};
uint64_t seed = 1;

void sayWhere() {
    std::fprintf(stderr, "repeat with: --seed %llu --start %llu --count 1\n",
                 static_cast<unsigned long long>(seed), static_cast<unsigned long long>(current.load()));
}

void onSignal(int signal) {
    sayWhere();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/** Ends the process where one input takes longer than any may. */
void watch(std::chrono::seconds limit) {
    std::thread([limit] {
        for (;;) {
            const uint64_t before = current.load();
            std::this_thread::sleep_for(limit);
            if (current.load() == before)
                fuzz::broken("one input took more than " + std::to_string(limit.count()) + " s");
        }
    }).detach();
}

Bytes anyFile(Random& random) {
    switch (random.below(6)) {
        case 0:
            return samples::everySafetensorsType();
        case 1:
            return samples::richGguf();
        case 2:
        case 3:
            return fuzz::randomGguf(random);
        default:
            return fuzz::randomSafetensors(random);
    }
}

Bytes damagedFile(Random& random) {
    Bytes bytes = anyFile(random);
    if (random.oneIn(4)) return bytes;
    const bool isGguf = bytes.size() > 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
    if (!isGguf && random.oneIn(2)) {
        fuzz::mutateSafetensorsHeader(random, bytes);
    } else {
        fuzz::mutateBytes(random, bytes, anyFile(random));
    }
    return bytes;
}

const std::vector<std::string> shardNames = {"model-00001-of-00002.safetensors",
                                             "model-00002-of-00002.safetensors"};

/** One file mostly; an index with two shards, or two shards, sometimes. */
std::vector<CheckpointBuffer> makeInput(Random& random) {
    std::vector<CheckpointBuffer> buffers;
    if (random.oneIn(8)) {
        if (random.oneIn(2))
            buffers.push_back({"model.safetensors.index.json", fuzz::randomIndex(random, shardNames)});
        for (const std::string& name : shardNames) buffers.push_back({name, damagedFile(random)});
    } else {
        constexpr const char* names[] = {"model.safetensors", "model.gguf", "model.bin", "model"};
        buffers.push_back({random.pick(names), damagedFile(random)});
    }
    return buffers;
}

bool throughFiles(const fs::path& folder, const std::vector<CheckpointBuffer>& buffers) {
    std::vector<std::string> paths;
    for (const CheckpointBuffer& buffer : buffers) {
        const fs::path path = folder / buffer.name;
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(buffer.bytes.data()),
                   static_cast<std::streamsize>(buffer.bytes.size()));
        paths.push_back(path.string());
    }
    if (buffers.size() == 3) paths.resize(1);
    return fuzz::exerciseFiles(paths);
}

uint64_t argument(int argc, char** argv, const char* name, uint64_t otherwise) {
    for (int i = 1; i + 1 < argc; i++) {
        if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
    }
    return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
    const std::chrono::seconds limit(argument(argc, argv, "--seconds", 10));
    seed = argument(argc, argv, "--seed", 1);
    const uint64_t start = argument(argc, argv, "--start", 0);
    const uint64_t count = argument(argc, argv, "--count", UINT64_MAX - start);

#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(sayWhere);
#endif
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, onSignal);
#ifdef SIGBUS
    std::signal(SIGBUS, onSignal);
#endif
    watch(std::chrono::seconds(30));

    const fs::path folder =
        fs::temp_directory_path() /
        ("mizuoto-fuzz-" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()));
    fs::create_directories(folder);
    const auto end = std::chrono::steady_clock::now() + limit;
    uint64_t sound = 0;
    uint64_t files = 0;
    uint64_t i = start;
    for (; i - start < count && std::chrono::steady_clock::now() < end; i++) {
        current.store(i);
        Random random(seed * 0x9E3779B97F4A7C15ULL + i);
        std::vector<CheckpointBuffer> buffers = makeInput(random);
        if (i % 16 == 0) {
            files++;
            throughFiles(folder, buffers);
        }
        sound += fuzz::exerciseBuffers(std::move(buffers)) ? 1 : 0;
    }
    fs::remove_all(folder);
    const uint64_t done = i - start;
    std::printf("%llu executions, %llu of them sound checkpoints, %llu also through files, seed %llu\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(sound),
                static_cast<unsigned long long>(files), static_cast<unsigned long long>(seed));
    // A fuzzer that never or always gets through tests nothing.
    if (done > 1000 && (sound == 0 || sound == done)) fuzz::broken("the inputs are all alike");
    return done > 0 ? 0 : 1;
}
