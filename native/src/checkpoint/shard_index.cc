#include "shard_index.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "json_reader.h"
#include "parsed_file.h"
#include "sniff.h"
#include "text.h"

namespace mizuoto {

namespace {

constexpr uint64_t maxIndexBytes = 100'000'000;
constexpr uint64_t maxFileNameBytes = 255;

/** A shard stands beside its index: whatever could name another place is refused, on any system. */
void requirePlainFileName(const std::string& name, const JsonReader& json) {
    const bool plain = !name.empty() && name.size() <= maxFileNameBytes && name != "." && name != ".." &&
                       std::none_of(name.begin(), name.end(), [](char c) {
                           return c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20;
                       });
    if (!plain) json.fail("the shard " + quoted(name) + " is not the plain name of a file beside the index");
}

uint32_t fiveDigits(std::string_view text) {
    uint32_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return 0;
        value = value * 10 + static_cast<uint32_t>(c - '0');
    }
    return value;
}

}  // namespace

ShardIndex parseShardIndex(std::span<const uint8_t> bytes, std::string_view file) {
    if (bytes.size() > maxIndexBytes) {
        failFile("HeaderTooLarge", file,
                 "has " + byteCount(bytes.size()) + ", more than an index may have (" +
                     grouped(maxIndexBytes) + "); it is damaged, download it again.",
                 {detailOf("found", bytes.size()), detailOf("limit", maxIndexBytes)});
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find("\"weight_map\"") == std::string_view::npos) {
        failFile("FileNotACheckpoint", file,
                 "is JSON without a \"weight_map\", so no index of shards; give a .safetensors, .gguf or "
                 ".safetensors.index.json file. It begins with " +
                     quoted(text.substr(0, std::min<size_t>(text.size(), 60))) + ".");
    }
    JsonReader json(text, file, "index");
    std::map<std::string, uint32_t> shards;
    ShardIndex index;
    bool hasMap = false;
    std::string key;
    std::string shard;
    json.beginObject();
    while (json.nextKey(key)) {
        if (key != "weight_map") {
            json.skipValue();
            continue;
        }
        if (hasMap) json.fail("\"weight_map\" comes twice");
        hasMap = true;
        json.beginObject();
        while (json.nextKey(key)) {
            json.readString(shard);
            if (index.tensors.size() >= maxTensors) {
                failFile("TensorCountAbsurd", file,
                         "lists more than " + grouped(maxTensors) +
                             " tensors, more than any model has; it is damaged, download it again.",
                         {detailOf("limit", maxTensors)});
            }
            if (hasPickleName(shard)) failPickle(shard);
            requirePlainFileName(shard, json);
            const auto number = static_cast<uint32_t>(shards.size());
            const auto [at, isNew] = shards.emplace(shard, number);
            if (isNew && shards.size() > maxShards) {
                json.fail("it names more than " + grouped(maxShards) + " shards");
            }
            index.tensors.emplace_back(key, at->second);
        }
    }
    json.end();
    if (!hasMap || shards.empty()) json.fail("its \"weight_map\" names no shard");

    // From the order of appearance to the order of names.
    std::vector<uint32_t> position(shards.size());
    for (const auto& [name, appearance] : shards) {
        position[appearance] = static_cast<uint32_t>(index.shards.size());
        index.shards.push_back(name);
    }
    for (auto& [name, number] : index.tensors) number = position[number];
    std::sort(index.tensors.begin(), index.tensors.end());
    const auto twice = std::adjacent_find(index.tensors.begin(), index.tensors.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != index.tensors.end()) json.fail("tensor " + quoted(twice->first) + " comes twice");
    return index;
}

std::string ShardNumber::fileName(uint32_t n) const {
    char middle[32];
    std::snprintf(middle, sizeof middle, "-%05u-of-%05u", n, total);
    return stem + middle + extension;
}

ShardNumber shardNumber(std::string_view file) {
    constexpr std::string_view pattern = "-00000-of-00000";
    ShardNumber result;
    const std::string_view name = baseName(file);
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot < pattern.size()) return result;
    const std::string_view middle = name.substr(dot - pattern.size(), pattern.size());
    if (middle[0] != '-' || middle.substr(6, 4) != "-of-") return result;
    const uint32_t number = fiveDigits(middle.substr(1, 5));
    const uint32_t total = fiveDigits(middle.substr(10, 5));
    if (number == 0 || number > total) return result;
    result.stem = name.substr(0, dot - pattern.size());
    result.extension = name.substr(dot);
    result.number = number;
    result.total = total;
    return result;
}

void requireWholeSets(const std::vector<std::string>& files) {
    std::map<std::pair<std::string, uint32_t>, std::set<uint32_t>> sets;
    for (const std::string& file : files) {
        const ShardNumber shard = shardNumber(file);
        if (shard.total > 0) sets[{shard.stem, shard.total}].insert(shard.number);
    }
    for (const std::string& file : files) {
        const ShardNumber shard = shardNumber(file);
        if (shard.total == 0) continue;
        const std::set<uint32_t>& found = sets[{shard.stem, shard.total}];
        for (uint32_t n = 1; n <= shard.total; n++) {
            if (found.contains(n)) continue;
            const std::string missing = shard.fileName(n);
            failFile("ShardMissing", file,
                     "is one of " + std::to_string(shard.total) + " parts and " + quoted(missing) +
                         " was not given; give the .safetensors.index.json file or all parts.",
                     {detailOf("shard", missing), detailOf("expected", shard.total),
                      detailOf("found", found.size())});
        }
    }
}

}  // namespace mizuoto
