#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "check.h"
#include "checkpoint/checkpoint.h"
#include "samples.h"

using namespace mizuoto;
using samples::Bytes;
using samples::bytesOf;
using samples::Safetensors;
namespace fs = std::filesystem;

namespace {

std::string utf8(const fs::path& path) {
    const std::u8string text = path.u8string();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

/** A folder that goes with the test. */
class Folder {
  public:
    Folder() {
        static int number = 0;
        path_ = fs::temp_directory_path() /
                ("mizuoto-checkpoint-" + std::to_string(std::rand()) + "-" +
                 std::to_string(reinterpret_cast<uintptr_t>(&number)) + "-" + std::to_string(number++));
        fs::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string path(const std::u8string& name) const { return utf8(path_ / name); }
    const fs::path& root() const { return path_; }

    std::string write(const std::u8string& name, const Bytes& bytes) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream out(path_ / name, std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path(name);
    }
    std::string write(const std::u8string& name, std::string_view text) const {
        return write(name, samples::textBytes(text));
    }

  private:
    fs::path path_;
};

Bytes weights(const std::string& name, float value) {
    return Safetensors().metadata("from", name).tensor(name, "F32", {1}, bytesOf<float>({value})).build();
}

float value(const Checkpoint& checkpoint, std::string_view name) {
    float out = 0;
    checkpoint.readFloat32(checkpoint.at(name), &out);
    return out;
}

}  // namespace

TEST_CASE(opens_mapped_files_by_utf8_path) {
    const Folder folder;
    const std::string path = folder.write(u8"声音/é.safetensors", weights("w", 7.0F));
    const auto checkpoint = Checkpoint::open({path});
    CHECK_EQUAL(value(*checkpoint, "w"), 7.0F);
    CHECK_EQUAL(checkpoint->files()[0], path);
    std::u8string deep;
    for (int i = 0; i < 12; i++) deep += u8"a-folder-with-a-rather-long-name/";
    CHECK_EQUAL(value(*Checkpoint::open({folder.write(deep + u8"w.safetensors", weights("w", 8.0F))}), "w"),
                8.0F);
    CHECK_EQUAL(Checkpoint::open({folder.write(u8"no-extension", samples::richGguf())})->tensors().size(),
                9u);
    CHECK_EQUAL(value(*Checkpoint::open({folder.write(u8"misnamed.bin", weights("w", 9.0F))}), "w"), 9.0F);
}

TEST_CASE(what_cannot_be_opened) {
    const Folder folder;
    CHECK_THROWS("InvalidArgument", ({"No checkpoint file"}), Checkpoint::open({}));
    CHECK_THROWS("InvalidArgument", ({"path is empty"}), Checkpoint::open({""}));
    CHECK_THROWS("InvalidArgument", ({"1,001 checkpoint files"}),
                 Checkpoint::open(std::vector<std::string>(1001, "x")));
    CHECK_THROWS("FileNotFound", ({"does not exist", "missing.safetensors"}),
                 Checkpoint::open({folder.path(u8"missing.safetensors")}));
    CHECK_THROWS("FileNotFound", ({"NUL byte"}), Checkpoint::open({std::string("a\0b", 3)}));
    CHECK_THROWS("FileNotFound", ({"does not exist"}),
                 Checkpoint::open({folder.path(u8"x") + std::string(5000, 'y')}));
    CHECK_THROWS("FileNotACheckpoint", ({"is a folder"}), Checkpoint::open({utf8(folder.root())}));
    CHECK_THROWS("FileTruncated", ({"is empty (0 bytes)"}),
                 Checkpoint::open({folder.write(u8"empty.gguf", "")}));
    const std::string twice = folder.write(u8"w.safetensors", weights("w", 1.0F));
    CHECK_THROWS("InvalidArgument", ({"given twice"}), Checkpoint::open({twice, twice}));
    CHECK_THROWS("InvalidArgument", ({"is a gguf file", "is a safetensors file"}),
                 Checkpoint::open({twice, folder.write(u8"g.gguf", samples::richGguf())}));
#ifndef _WIN32
    const std::string pipe = folder.path(u8"pipe.safetensors");
    CHECK_EQUAL(::mkfifo(pipe.c_str(), 0600), 0);
    CHECK_THROWS("FileNotACheckpoint", ({"not a regular file"}), Checkpoint::open({pipe}));
    CHECK_THROWS("FileNotACheckpoint", ({"not a regular file"}), Checkpoint::open({"/dev/zero"}));
    CHECK_THROWS("FileNotFound", ({"does not exist"}), Checkpoint::open({twice + "/inside"}));
    fs::create_symlink(folder.root() / "loop", folder.root() / "loop");
    CHECK_THROWS("FileUnreadable", ({"cannot be opened", "symbolic links"}),
                 Checkpoint::open({folder.path(u8"loop")}));
    ::chmod(twice.c_str(), 0);
    // Root reads everything, so root plays somebody else.
    const bool root = ::geteuid() == 0;
    if (root) CHECK_EQUAL(::seteuid(65534), 0);
    CHECK_THROWS("FileUnreadable", ({"may not be read", "permissions"}), Checkpoint::open({twice}));
    if (root) CHECK_EQUAL(::seteuid(0), 0);
#endif
}

TEST_CASE(files_that_are_something_else) {
    const Folder folder;
    auto rejects = [&](const char* code, const std::u8string& name, std::string_view text,
                       std::initializer_list<std::string_view> parts) {
        check::throws(__FILE__, __LINE__, code, parts, [&] { Checkpoint::open({folder.write(name, text)}); });
    };
    rejects("FileIsLfsPointer", u8"a.safetensors",
            "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 5174502\n",
            {"git-LFS pointer of 70 bytes", "of 5,174,502 bytes", "git lfs pull"});
    rejects("FileIsLfsPointer", u8"b.safetensors", "version https://git-lfs.github.com/spec/v1\nsize x\n",
            {"git lfs pull"});
    rejects("FileIsHtml", u8"a.gguf", "<!DOCTYPE html><html>", {"web page (21 bytes"});
    rejects("FileIsHtml", u8"b.gguf", "\xEF\xBB\xBF \r\n<HTML lang=en>", {"web page"});
    rejects("FileIsHtml", u8"c.gguf", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
            {"web page"});
    rejects("FileIsPickle", u8"model.pt", std::string_view("PK\3\4\x14\0\0\0\0\0", 10),
            {"pickled PyTorch file", ".safetensors"});
    rejects("FileIsPickle", u8"renamed.safetensors", std::string_view("PK\3\4\x14\0\0\0archive/data.pkl", 24),
            {"pickled"});
    rejects("FileIsPickle", u8"old.ckpt", std::string_view("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", 9),
            {"pickled"});
    rejects("FileNotACheckpoint", u8"a.safetensors", std::string_view("PK\3\4\x14\0\0\0\0\0", 10),
            {"ZIP archive"});
    rejects("FileNotACheckpoint", u8"b.npy", "\x93NUMPY\1\1\1\1\1\1", {"NumPy"});
    rejects("FileNotACheckpoint", u8"b.h5", "\x89HDF\r\n\x1A\n....", {"HDF5"});
    rejects("FileNotACheckpoint", u8"b.bin", "tjgg\1\1\1\1\1\1\1\1\1\1", {"old ggml format"});
    rejects("FileNotACheckpoint", u8"b.wav", "RIFF....WAVEfmt ", {"RIFF"});
    rejects("FileNotACheckpoint", u8"notes.gguf", "this is only a text", {"does not begin with \"GGUF\""});
    rejects("FileNotACheckpoint", u8"notes.txt", "this is only a text", {"a text file"});
    rejects("FileNotACheckpoint", u8"noise.dat", "\x01\xFF\xFE\x01\xFF\xFE\x01\xFF\xFE\x01\xFF\xFE",
            {"unknown format"});
    rejects("FileNotACheckpoint", u8"e.safetensors", "{\"error\":\"Unauthorized\"}",
            {"no index of shards", "Unauthorized"});
    rejects("FileTruncated", u8"short.safetensors", "abc", {"only 3 bytes"});
    rejects("FileTruncated", u8"short2.gguf", "GGUF\3", {"ends inside its header", "has 5"});
    rejects("FileTruncated", u8"zeros.safetensors", std::string(4096, '\0'),
            {"begins with zeros", "4,096 bytes"});
}

TEST_CASE(a_header_of_640_bytes_is_no_pickle) {
    Safetensors file;
    file.metadata("padding", std::string(500, 'p')).tensor("w", "F32", {1}, bytesOf<float>({4.0F}));
    Bytes bytes = file.build();
    bytes = file.build(640 - (bytes.size() - 8 - 4));
    CHECK_EQUAL(bytes[0], 0x80);
    CHECK_EQUAL(bytes[1], 2);
    const Folder folder;
    CHECK_EQUAL(value(*Checkpoint::open({folder.write(u8"w.safetensors", bytes)}), "w"), 4.0F);
}

namespace {

std::string index(std::initializer_list<std::pair<std::string_view, std::string_view>> map) {
    std::string text = "{\"metadata\":{\"total_size\":8.0,\"x\":[1]},\"weight_map\":{";
    for (const auto& [tensor, shard] : map) {
        if (text.back() != '{') text += ",";
        text += "\"" + std::string(tensor) + "\":\"" + std::string(shard) + "\"";
    }
    return text + "}}";
}
constexpr const char8_t* indexName = u8"model.safetensors.index.json";
constexpr const char8_t* first = u8"model-00001-of-00002.safetensors";
constexpr const char8_t* second = u8"model-00002-of-00002.safetensors";
constexpr std::string_view firstName = "model-00001-of-00002.safetensors";
constexpr std::string_view secondName = "model-00002-of-00002.safetensors";

}  // namespace

TEST_CASE(sharded_index) {
    const Folder folder;
    const std::string path = folder.write(indexName, index({{"b", secondName}, {"a", firstName}}));
    const std::string firstPath = folder.write(first, weights("a", 1.0F));
    CHECK_THROWS("ShardMissing", ({"\"model-00002-of-00002.safetensors\"", "not beside it"}),
                 Checkpoint::open({path}));
    CHECK_THROWS("ShardMissing", ({"one of 2 parts", "\"model-00002-of-00002.safetensors\" was not given"}),
                 Checkpoint::open({firstPath}));
    const std::string secondPath = folder.write(second, weights("b", 2.0F));
    for (const auto& paths :
         {std::vector<std::string>{path}, std::vector<std::string>{firstPath, secondPath}}) {
        const auto checkpoint = Checkpoint::open(paths);
        CHECK_EQUAL(checkpoint->files().size(), 2u);
        CHECK_EQUAL(checkpoint->files()[1], secondPath);
        CHECK_EQUAL(checkpoint->at("b").file, 1u);
        CHECK_EQUAL(value(*checkpoint, "a") + value(*checkpoint, "b"), 3.0F);
        CHECK_EQUAL(std::get<std::string>(checkpoint->metadata().at("from")), "a");
    }
    CHECK_THROWS("InvalidArgument", ({"give it alone"}), Checkpoint::open({path, firstPath, secondPath}));
    folder.write(indexName, index({{"b", firstName}, {"a", firstName}}));
    CHECK_THROWS("HeaderInvalid", ({"does not hold tensor \"b\"", ".index.json"}), Checkpoint::open({path}));
    folder.write(indexName, index({{"b", secondName}, {"a", firstName}}));
    folder.write(second, weights("a", 2.0F));
    CHECK_THROWS("HeaderInvalid", ({"does not hold tensor \"b\""}), Checkpoint::open({path}));
    CHECK_THROWS("HeaderInvalid", ({"tensor \"a\"", "holds too"}), Checkpoint::open({firstPath, secondPath}));
    folder.write(second, samples::richGguf());
    CHECK_THROWS("HeaderInvalid", ({"named as a shard", "no safetensors file"}), Checkpoint::open({path}));
    folder.write(second, "version https://git-lfs.github.com/spec/v1\nsize 9\n");
    CHECK_THROWS("FileIsLfsPointer", ({"model-00002-of-00002.safetensors\" is a git-LFS pointer"}),
                 Checkpoint::open({path}));
}

TEST_CASE(an_index_names_only_its_own_folder) {
    const Folder folder;
    folder.write(u8"outside.safetensors", weights("a", 1.0F));
    auto rejects = [&](const char* code, std::string_view text,
                       std::initializer_list<std::string_view> parts) {
        check::throws(__FILE__, __LINE__, code, parts,
                      [&] { Checkpoint::open({folder.write(std::u8string(u8"in/") + indexName, text)}); });
    };
    for (const std::string_view name :
         {"../outside.safetensors", "/etc/passwd", "..\\\\outside.safetensors", "C:outside.safetensors", "..",
          ".", "", "sub/a.safetensors", "a\\u0000b", "a\\u001fb"}) {
        rejects("HeaderInvalid", index({{"a", name}}), {"not the plain name of a file beside the index"});
    }
    rejects("HeaderInvalid", index({{"a", std::string(300, 'x')}}), {"not the plain name"});
    rejects("FileIsPickle", index({{"a", "pytorch_model-00001-of-00002.bin"}}), {"pickled"});
    rejects("HeaderInvalid", "{\"weight_map\":{}}", {"names no shard"});
    rejects("HeaderInvalid", "{\"weight_map\":{\"a\":\"x\"},\"weight_map\":{}}",
            {"\"weight_map\" comes twice"});
    rejects("HeaderInvalid", "{\"weight_map\":{\"a\":\"x\",\"a\":\"x\"}}", {"tensor \"a\" comes twice"});
    rejects("HeaderInvalid", "{\"weight_map\":{\"a\":1}}", {"a string was expected"});
    rejects("HeaderInvalid", "{\"weight_map\":{\"a\":\"x\"}", {"',' or '}'"});
    rejects("FileNotACheckpoint", "{\"model_type\":\"x\"}", {"no index of shards"});
    std::string huge = "{\"weight_map\":{\"t\":\"s\"";
    for (int i = 0; i < 1000000; i++) huge += ",\"" + std::to_string(i) + "\":\"s\"";
    rejects("TensorCountAbsurd", huge + "}}", {"more than 1,000,000 tensors"});
    std::string many = "{\"weight_map\":{\"t\":\"s\"";
    for (int i = 0; i < 1001; i++) many += ",\"t" + std::to_string(i) + "\":\"s" + std::to_string(i) + "\"";
    rejects("HeaderInvalid", many + "}}", {"more than 1,000 shards"});
#ifndef _WIN32
    fs::create_symlink("../outside.safetensors", folder.root() / "in" / "link.safetensors");
    rejects("HeaderInvalid", index({{"a", "link.safetensors"}}), {"link to a file outside its folder"});
    folder.write(u8"in/real.safetensors", weights("a", 5.0F));
    fs::create_symlink("real.safetensors", folder.root() / "in" / "inner.safetensors");
    const std::string path =
        folder.write(std::u8string(u8"in/") + indexName, index({{"a", "inner.safetensors"}}));
    CHECK_EQUAL(value(*Checkpoint::open({path}), "a"), 5.0F);
    // The cache of the Hugging Face hub: a snapshot links to blobs beside it.
    folder.write(u8"models--x/blobs/0123", weights("a", 6.0F));
    fs::create_directories(folder.root() / "models--x/snapshots/main");
    fs::create_symlink("../../blobs/0123", folder.root() / "models--x/snapshots/main/w.safetensors");
    const std::string cached = folder.write(std::u8string(u8"models--x/snapshots/main/") + indexName,
                                            index({{"a", "w.safetensors"}}));
    CHECK_EQUAL(value(*Checkpoint::open({cached}), "a"), 6.0F);
#endif
}

#ifndef _WIN32
TEST_CASE(an_index_in_the_current_folder) {
    const Folder folder;
    folder.write(indexName, index({{"a", "w.safetensors"}}));
    folder.write(u8"w.safetensors", weights("a", 5.0F));
    const fs::path before = fs::current_path();
    fs::current_path(folder.root());
    const auto checkpoint = Checkpoint::open({"model.safetensors.index.json"});
    fs::current_path(before);
    CHECK_EQUAL(value(*checkpoint, "a"), 5.0F);
}

TEST_CASE(a_file_that_changes_under_the_map_is_noticed) {
    const Folder folder;
    Bytes big = Safetensors().tensor("w", "U8", {100000}, Bytes(100000, 1)).build();
    const std::string path = folder.write(u8"w.safetensors", big);
    std::vector<float> out(100000);
    const auto checkpoint = Checkpoint::open({path});
    checkpoint->readFloat32(checkpoint->at("w"), out.data());
    fs::resize_file(path, 2000);
    CHECK_THROWS("FileTruncated", ({"was shortened from 100,", "to 2,000 bytes"}),
                 checkpoint->readFloat32(checkpoint->at("w"), out.data()));
    CHECK_THROWS("FileTruncated", ({"was shortened"}), checkpoint->firstNonFinite(checkpoint->at("w")));
    fs::resize_file(path, big.size());
    CHECK_THROWS("FileUnreadable", ({"was written to"}), checkpoint->checkUnchanged());
    // A file replaced by another of the same name does not touch the map.
    const auto again = Checkpoint::open({folder.write(u8"v.safetensors", big)});
    fs::rename(folder.root() / "w.safetensors", folder.root() / "v.safetensors");
    again->readFloat32(again->at("w"), out.data());
    CHECK_EQUAL(out[99999], 1.0F);
}
#endif
