#include "sniff.h"

#include <algorithm>
#include <string>

#include "safetensors.h"
#include "text.h"

namespace mizuoto {

namespace {

using namespace std::string_view_literals;

/** First bytes of formats that people take for checkpoints. */
struct Signature {
    std::string_view bytes;
    const char* name;
};
constexpr Signature foreign[] = {
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file (Keras)"},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"\x1F\x8B"sv, "a gzip archive"},
    {"BZh"sv, "a bzip2 archive"},
    {"\xFD"
     "7zXZ\0"sv,
     "an xz archive"},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive"},
    {"\x28\xB5\x2F\xFD"sv, "a Zstandard archive"},
    {"Rar!"sv, "a RAR archive"},
    {"RIFF"sv, "a RIFF file (WAV audio, say)"},
    {"fLaC"sv, "FLAC audio"},
    {"ID3"sv, "MP3 audio"},
    {"OggS"sv, "Ogg audio"},
    {"%PDF-"sv, "a PDF document"},
    {"\x89PNG"sv, "a PNG picture"},
    {"\xFF\xD8\xFF"sv, "a JPEG picture"},
    {"lmgg"sv, "a model in an old ggml format (before GGUF)"},
    {"fmgg"sv, "a model in an old ggml format (before GGUF)"},
    {"tjgg"sv, "a model in an old ggml format (before GGUF)"},
    {"algg"sv, "a LoRA in an old ggml format (before GGUF)"},
    {"\x7F"
     "ELF"sv,
     "a program or library"},
    {"MZ"sv, "a program or library"},
};

/** Value of a `key value` line of a git-LFS pointer, or empty. */
std::string pointerLine(std::string_view text, std::string_view key) {
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        if (line.size() > key.size() && line.substr(0, key.size()) == key && line[key.size()] == ' ') {
            return std::string(line.substr(key.size() + 1));
        }
        at = end + 1;
    }
    return {};
}

[[noreturn]] void failLfsPointer(std::string_view text, std::string_view file) {
    const std::string size = pointerLine(text.substr(0, 1024), "size");
    const bool known = !size.empty() && size.size() < 16 &&
                       std::all_of(size.begin(), size.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::string real = known ? "of " + byteCount(std::stoull(size)) : "itself";
    failFile("FileIsLfsPointer", file,
             "is a git-LFS pointer of " + byteCount(text.size()) + ", not the file " + real +
                 "; run \"git lfs pull\" in its repository or download the file itself.",
             {detailOf("found", text.size())});
}

bool looksLikeHtml(std::string_view text) {
    if (text.substr(0, 3) == "\xEF\xBB\xBF"sv) text.remove_prefix(3);
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return false;
    const std::string head = lowerAscii(text.substr(start, 16));
    for (const std::string_view tag :
         {"<!doctype"sv, "<html"sv, "<head"sv, "<body"sv, "<?xml"sv, "<!--"sv, "<error"sv}) {
        if (head.starts_with(tag)) return true;
    }
    return false;
}

[[noreturn]] void failForeign(std::string_view file, const std::string& what) {
    failFile(
        "FileNotACheckpoint", file,
        "is " + what + ", not a checkpoint; give a .safetensors, .gguf or .safetensors.index.json file.");
}

}  // namespace

bool hasPickleName(std::string_view file) {
    for (const std::string_view end : {".pt"sv, ".pth"sv, ".bin"sv, ".ckpt"sv, ".pkl"sv, ".pickle"sv}) {
        if (endsWithNoCase(file, end)) return true;
    }
    return false;
}

void failPickle(std::string_view file) {
    failFile("FileIsPickle", file,
             "is a pickled PyTorch file, which can run any program when it is loaded and is never opened "
             "here; get "
             "the model as .safetensors, or convert it with a tool that you trust.");
}

FileKind sniff(std::span<const uint8_t> bytes, std::string_view file) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.empty()) failFile("FileTruncated", file, "is empty (0 bytes); download it again.");
    if (text.starts_with("GGUF"sv)) return FileKind::Gguf;
    if (looksLikeSafetensors(bytes)) return FileKind::Safetensors;

    if (text.starts_with("version https://git-lfs.github.com/spec/"sv)) failLfsPointer(text, file);
    if (looksLikeHtml(text.substr(0, 1024))) {
        failFile(
            "FileIsHtml", file,
            "is a web page (" + byteCount(text.size()) +
                " of HTML or XML) saved under a model's name: the download got an error or a sign-in page; "
                "download the file itself.");
    }
    const bool zip = text.starts_with("PK\x03\x04"sv);
    if (zip && (hasPickleName(file) || text.substr(0, 512).find("data.pkl"sv) != std::string_view::npos)) {
        failPickle(file);
    }
    if (zip) failForeign(file, "a ZIP archive");
    // A pickle begins with the opcode PROTO and its version.
    if (text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5) failPickle(file);
    for (const Signature& signature : foreign) {
        if (text.starts_with(signature.bytes)) failForeign(file, signature.name);
    }
    const size_t start = text.substr(0, 1024).find_first_not_of(" \t\r\n");
    if (start != std::string_view::npos && text[start] == '{') return FileKind::Json;

    const bool named = endsWithNoCase(file, ".safetensors") || endsWithNoCase(file, ".gguf");
    if (text.size() < safetensorsMinBytes) {
        failFile("FileTruncated", file,
                 "has only " + byteCount(text.size()) + ", too few for a checkpoint; download it again.",
                 {detailOf("expected", safetensorsMinBytes), detailOf("found", text.size())});
    }
    if (std::all_of(bytes.begin(), bytes.begin() + safetensorsMinBytes, [](uint8_t b) { return b == 0; })) {
        failFile("FileTruncated", file,
                 "begins with zeros: its download was not finished, although all " + byteCount(text.size()) +
                     " are reserved; download it again.",
                 {detailOf("found", text.size())});
    }
    if (endsWithNoCase(file, ".safetensors")) return FileKind::Safetensors;
    const bool plain = findInvalidUtf8(text.substr(0, std::min<size_t>(text.size(), 512))) >= 509;
    failForeign(file, named   ? "no GGUF file, whatever its name says (it does not begin with \"GGUF\")"
                      : plain ? "a text file"
                              : "of an unknown format");
}

}  // namespace mizuoto
