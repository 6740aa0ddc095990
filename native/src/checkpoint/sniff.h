#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mizuoto {

enum class FileKind : uint8_t { Safetensors, Gguf, Json };

/**
 * What the bytes are, whatever the name says; the name only decides between readings that the bytes allow.
 * Throws FileIsLfsPointer, FileIsHtml, FileIsPickle, FileTruncated or FileNotACheckpoint, each with what to
 * do.
 */
FileKind sniff(std::span<const uint8_t> bytes, std::string_view file);

/** A name that PyTorch's pickled files have: .pt, .pth, .bin, .ckpt... */
bool hasPickleName(std::string_view file);
[[noreturn]] void failPickle(std::string_view file);

}  // namespace mizuoto
