#include "checkpoint.h"

#include <algorithm>
#include <set>

#include "gguf.h"
#include "mapped_file.h"
#include "safetensors.h"
#include "shard_index.h"
#include "sniff.h"
#include "text.h"

namespace mizuoto {

const char* formatName(CheckpointFormat format) {
    return format == CheckpointFormat::Gguf ? "gguf" : "safetensors";
}

/** Where the bytes of one weight file are: a map, or a buffer of a test. */
class Checkpoint::Source {
  public:
    explicit Source(std::unique_ptr<MappedFile> map) : map_(std::move(map)), bytes_(map_->bytes()) {}
    explicit Source(std::vector<uint8_t> buffer) : buffer_(std::move(buffer)), bytes_(buffer_) {}

    std::span<const uint8_t> bytes() const { return bytes_; }
    const MappedFile* map() const { return map_.get(); }

  private:
    std::unique_ptr<MappedFile> map_;
    std::vector<uint8_t> buffer_;
    std::span<const uint8_t> bytes_;
};

Checkpoint::Checkpoint() = default;
Checkpoint::~Checkpoint() = default;

/** Collects the files of a checkpoint, wherever they come from, and checks them against each other. */
class CheckpointBuilder {
  public:
    using Source = Checkpoint::Source;

    CheckpointBuilder() : result_(new Checkpoint()) {}

    void addWeights(const std::string& path, std::unique_ptr<Source> source, FileKind kind) {
        ParsedFile parsed = kind == FileKind::Gguf ? parseGguf(source->bytes(), path)
                                                   : parseSafetensors(source->bytes(), path);
        Checkpoint& to = *result_;
        if (to.files_.empty()) {
            to.format_ = parsed.format;
        } else if (to.format_ != parsed.format) {
            failFile("InvalidArgument", path,
                     std::string("is a ") + formatName(parsed.format) + " file and " +
                         quoted(to.files_.front(), 300) + " is a " + formatName(to.format_) +
                         " file; open them one by one.");
        }
        if (to.tensors_.size() + parsed.tensors.size() > maxTensors) {
            failFile("TensorCountAbsurd", path,
                     "brings the checkpoint to more than " + grouped(maxTensors) +
                         " tensors, more than any model has.",
                     {detailOf("limit", maxTensors)});
        }
        const auto file = static_cast<uint32_t>(to.files_.size());
        for (CheckpointTensor& tensor : parsed.tensors) {
            tensor.file = file;
            to.tensors_.push_back(std::move(tensor));
        }
        // What the first file says stands: shards repeat it.
        to.metadata_.merge(parsed.metadata);
        splitCount_ = std::max(splitCount_, parsed.splitCount);
        to.files_.push_back(path);
        to.sources_.push_back(std::move(source));
    }

    std::shared_ptr<const Checkpoint> finish() {
        Checkpoint& to = *result_;
        to.byName_.resize(to.tensors_.size());
        for (uint32_t i = 0; i < to.byName_.size(); i++) to.byName_[i] = i;
        auto name = [&](uint32_t i) -> const std::string& { return to.tensors_[i].name; };
        std::sort(to.byName_.begin(), to.byName_.end(),
                  [&](uint32_t a, uint32_t b) { return name(a) != name(b) ? name(a) < name(b) : a < b; });
        const auto twice = std::adjacent_find(to.byName_.begin(), to.byName_.end(),
                                              [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
        if (twice != to.byName_.end()) {
            const std::string& first = to.files_[to.tensors_[twice[0]].file];
            const std::string& second = to.files_[to.tensors_[twice[1]].file];
            failFile("HeaderInvalid", second,
                     "holds tensor " + quoted(name(*twice)) + ", which " + quoted(first, 300) +
                         " holds too; give the parts of one model only.",
                     {detailOf("tensor", name(*twice))});
        }
        if (splitCount_ > 1 && splitCount_ != to.files_.size()) {
            failFile("ShardMissing", to.files_.front(),
                     "is one of " + std::to_string(splitCount_) + " parts and " +
                         (to.files_.size() == 1 ? "only this one was" : grouped(to.files_.size()) + " were") +
                         " given; give all parts.",
                     {detailOf("expected", splitCount_), detailOf("found", to.files_.size())});
        }
        return std::move(result_);
    }

    /** Each tensor of the index must be in the shard that it names. Call before `finish`. */
    void requireListed(const ShardIndex& index, const std::string& indexFile) const {
        std::vector<const CheckpointTensor*> held;
        held.reserve(result_->tensors_.size());
        for (const CheckpointTensor& tensor : result_->tensors_) held.push_back(&tensor);
        auto before = [](const CheckpointTensor* tensor, const std::pair<std::string, uint32_t>& key) {
            return tensor->name != key.first ? tensor->name < key.first : tensor->file < key.second;
        };
        std::sort(held.begin(), held.end(), [&](auto* a, auto* b) { return before(a, {b->name, b->file}); });
        for (const auto& listed : index.tensors) {
            const auto found = std::lower_bound(held.begin(), held.end(), listed, before);
            if (found != held.end() && (*found)->name == listed.first && (*found)->file == listed.second)
                continue;
            failFile("HeaderInvalid", result_->files_[listed.second],
                     "does not hold tensor " + quoted(listed.first) + ", which " + quoted(indexFile, 300) +
                         " says it does; download both again.",
                     {detailOf("tensor", listed.first), detailOf("index", indexFile)});
        }
    }

  private:
    std::shared_ptr<Checkpoint> result_;
    uint64_t splitCount_ = 0;
};

namespace {

void requireCount(size_t count) {
    if (count == 0) throw Error("InvalidArgument", "No checkpoint file was given; give at least one path.");
    if (count > maxShards) {
        throw Error(
            "InvalidArgument",
            grouped(count) + " checkpoint files were given; at most " + grouped(maxShards) + " are opened.",
            {detailOf("found", count), detailOf("limit", maxShards)});
    }
}

[[noreturn]] void failMissingShard(const std::string& index, const std::string& shard) {
    failFile("ShardMissing", index,
             "names the shard " + quoted(shard) +
                 ", which is not beside it; download that file into the same folder.",
             {detailOf("shard", shard)});
}

[[noreturn]] void failIndexAmongMany(const std::string& index) {
    failFile("InvalidArgument", index, "is an index of shards; give it alone, it names its own shards.");
}

void requireSafetensorsShard(FileKind kind, const std::string& path) {
    if (kind == FileKind::Safetensors) return;
    failFile("HeaderInvalid", path,
             "is named as a shard by its index but is no safetensors file; download it again.");
}

std::shared_ptr<const Checkpoint> finishUnchanged(CheckpointBuilder& builder) {
    auto checkpoint = builder.finish();
    // A download that still runs, or a program that cut the file while its header was read.
    checkpoint->checkUnchanged();
    return checkpoint;
}

}  // namespace

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::vector<std::string>& paths) {
    requireCount(paths.size());
    CheckpointBuilder builder;
    for (const std::string& path : paths) {
        auto map = MappedFile::open(path);
        const FileKind kind = sniff(map->bytes(), path);
        if (kind != FileKind::Json) {
            builder.addWeights(path, std::make_unique<Source>(std::move(map)), kind);
            continue;
        }
        const ShardIndex index = parseShardIndex(map->bytes(), path);
        if (paths.size() > 1) failIndexAmongMany(path);
        const std::string folder = folderOf(path);
        for (const std::string& shard : index.shards) {
            const std::string shardPath = joinPath(folder, shard);
            if (!fileExists(shardPath)) failMissingShard(path, shard);
            if (!staysInside(folder, shard)) {
                failFile("HeaderInvalid", shardPath,
                         "is a link to a file outside its folder; put the shard itself beside its index.",
                         {detailOf("shard", shard)});
            }
            auto shardMap = MappedFile::open(shardPath);
            const FileKind shardKind = sniff(shardMap->bytes(), shardPath);
            requireSafetensorsShard(shardKind, shardPath);
            builder.addWeights(shardPath, std::make_unique<Source>(std::move(shardMap)), shardKind);
        }
        builder.requireListed(index, path);
        return finishUnchanged(builder);
    }
    if (std::set<std::string>(paths.begin(), paths.end()).size() != paths.size()) {
        throw Error("InvalidArgument", "A checkpoint file was given twice; give each file once.");
    }
    requireWholeSets(paths);
    return finishUnchanged(builder);
}

std::shared_ptr<const Checkpoint> Checkpoint::openBuffers(std::vector<CheckpointBuffer> buffers) {
    requireCount(buffers.size());
    CheckpointBuilder builder;
    const FileKind first = sniff(buffers[0].bytes, buffers[0].name);
    if (first == FileKind::Json) {
        const ShardIndex index = parseShardIndex(buffers[0].bytes, buffers[0].name);
        for (const std::string& shard : index.shards) {
            const auto found = std::find_if(buffers.begin(), buffers.end(),
                                            [&](const CheckpointBuffer& b) { return b.name == shard; });
            if (found == buffers.end()) failMissingShard(buffers[0].name, shard);
            const FileKind kind = sniff(found->bytes, shard);
            requireSafetensorsShard(kind, shard);
            builder.addWeights(shard, std::make_unique<Source>(std::move(found->bytes)), kind);
        }
        builder.requireListed(index, buffers[0].name);
        return builder.finish();
    }
    std::vector<std::string> names;
    for (CheckpointBuffer& buffer : buffers) {
        const FileKind kind = sniff(buffer.bytes, buffer.name);
        if (kind == FileKind::Json) failIndexAmongMany(buffer.name);
        names.push_back(buffer.name);
        builder.addWeights(buffer.name, std::make_unique<Source>(std::move(buffer.bytes)), kind);
    }
    requireWholeSets(names);
    return builder.finish();
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
    const auto at =
        std::lower_bound(byName_.begin(), byName_.end(), name,
                         [&](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
    if (at == byName_.end() || tensors_[*at].name != name) return nullptr;
    return &tensors_[*at];
}

const CheckpointTensor& Checkpoint::at(std::string_view name) const {
    if (const CheckpointTensor* tensor = find(name)) return *tensor;
    std::string holds = "holds no tensor";
    if (!tensors_.empty()) {
        holds = "holds " + grouped(tensors_.size()) + " tensors, such as " + quoted(tensors_.front().name);
    }
    failFile("InvalidArgument", files_.front(), "has no tensor " + quoted(name) + "; it " + holds + ".",
             {detailOf("tensor", repairedUtf8(name))});
}

void Checkpoint::checkUnchanged() const {
    for (const auto& source : sources_) {
        if (source->map() != nullptr) source->map()->checkUnchanged();
    }
}

void Checkpoint::checkUnchanged(const CheckpointTensor& tensor) const {
    if (const MappedFile* map = sources_[tensor.file]->map()) map->checkUnchanged();
}

void Checkpoint::willNeed(const CheckpointTensor& tensor) const {
    const MappedFile* map = sources_[tensor.file]->map();
    if (map != nullptr && tensor.bytes > 0) map->willNeed(tensor.data, tensor.bytes);
}

}  // namespace mizuoto
