#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mizuoto {

/** Most shards of one checkpoint; the largest public ones have a few hundred. */
constexpr size_t maxShards = 1000;

/** `weight_map` of a `*.safetensors.index.json`. */
struct ShardIndex {
    /** Plain file names, sorted, each once. */
    std::vector<std::string> shards;
    /** Tensor name and index into `shards`, sorted by name. */
    std::vector<std::pair<std::string, uint32_t>> tensors;
};

/** Throws HeaderInvalid, HeaderTooLarge, TensorCountAbsurd, FileNotACheckpoint or FileIsPickle. */
ShardIndex parseShardIndex(std::span<const uint8_t> bytes, std::string_view file);

/** The `-00002-of-00003` before a file's extension. */
struct ShardNumber {
    /** The name up to the number, and the extension. */
    std::string stem;
    std::string extension;
    uint32_t number = 0;
    /** 0 where the name has no such number. */
    uint32_t total = 0;

    std::string fileName(uint32_t n) const;
};
ShardNumber shardNumber(std::string_view file);

/** Throws ShardMissing unless numbered files come as whole sets. */
void requireWholeSets(const std::vector<std::string>& files);

}  // namespace mizuoto
