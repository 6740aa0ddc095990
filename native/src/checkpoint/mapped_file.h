#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mizuoto {

/** A whole file, memory-mapped read only. The path is UTF-8. */
class MappedFile {
  public:
    /** Throws FileNotFound, FileUnreadable, FileNotACheckpoint (a folder, a pipe) or FileTruncated (empty).
     */
    static std::unique_ptr<MappedFile> open(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const uint8_t> bytes() const { return {data_, static_cast<size_t>(size_)}; }
    const std::string& path() const { return path_; }

    /** Throws FileTruncated where the file is shorter now than the map, FileUnreadable where it was written
     * to. */
    void checkUnchanged() const;
    /** Hint: this range is read next, from front to back. */
    void willNeed(const uint8_t* data, uint64_t bytes) const;

  private:
    struct Stamp {
        uint64_t size = 0;
        /** Last write, in the system's own unit. */
        int64_t seconds = 0;
        int64_t fraction = 0;
    };

    explicit MappedFile(std::string path) : path_(std::move(path)) {}
    Stamp stamp() const;

    std::string path_;
    const uint8_t* data_ = nullptr;
    uint64_t size_ = 0;
    Stamp opened_;
#ifdef _WIN32
    void* handle_ = nullptr;
    void* mapping_ = nullptr;
#else
    int descriptor_ = -1;
#endif
};

/** True where something can be opened at this path (UTF-8), whatever it is. */
bool fileExists(const std::string& path);

/**
 * True where `folder/name`, after all symbolic links, lies in `folder`, or in the `blobs` folder of the
 * Hugging Face cache that `folder` is a snapshot of (the cache keeps the bytes there and links to them).
 */
bool staysInside(const std::string& folder, const std::string& name);

/** `folder/name` with the system's separator; an empty folder is the current one. */
std::string joinPath(const std::string& folder, const std::string& name);

/** Everything up to the last separator of the system, with it; empty where there is none. */
std::string folderOf(const std::string& path);

}  // namespace mizuoto
