#ifndef _WIN32

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "mapped_file.h"
#include "text.h"

namespace mizuoto {

namespace {

std::string reason(int error) {
    return std::generic_category().message(error);
}

[[noreturn]] void failOpen(const std::string& path, int error) {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
            failFile("FileNotFound", path, "does not exist; check the path or download the file.");
        case EACCES:
        case EPERM:
            failFile("FileUnreadable", path, "may not be read by this user; change its permissions.");
        case ENAMETOOLONG:
            failFile("FileNotFound", path, "does not exist: the path is too long.");
        case EMFILE:
        case ENFILE:
            failFile("FileUnreadable", path,
                     "cannot be opened: too many files are open (" + reason(error) + "); close some models.");
        default:
            failFile("FileUnreadable", path, "cannot be opened (" + reason(error) + "); check the disk.");
    }
}

}  // namespace

std::unique_ptr<MappedFile> MappedFile::open(const std::string& path) {
    if (path.empty()) throw Error("InvalidArgument", "A checkpoint's path is empty.");
    if (path.find('\0') != std::string::npos) {
        failFile("FileNotFound", path, "does not exist: a NUL byte stands in the path.");
    }
    std::unique_ptr<MappedFile> file(new MappedFile(path));
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    do {
        file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (file->descriptor_ < 0 && errno == EINTR);
    if (file->descriptor_ < 0) failOpen(path, errno);

    struct stat status {};
    if (::fstat(file->descriptor_, &status) != 0) failOpen(path, errno);
    if (S_ISDIR(status.st_mode)) {
        failFile("FileNotACheckpoint", path,
                 "is a folder; give the .safetensors, .gguf or .safetensors.index.json file in it.");
    }
    if (!S_ISREG(status.st_mode)) {
        failFile("FileNotACheckpoint", path, "is not a regular file (a pipe or a device); give a file.");
    }
    file->opened_ = file->stamp();
    file->size_ = file->opened_.size;
    if (file->size_ == 0) failFile("FileTruncated", path, "is empty (0 bytes); download it again.");
    if (file->size_ > SIZE_MAX / 2) {
        failFile("FileUnreadable", path, "has " + byteCount(file->size_) + ", more than can be mapped.");
    }
    void* map =
        ::mmap(nullptr, static_cast<size_t>(file->size_), PROT_READ, MAP_SHARED, file->descriptor_, 0);
    if (map == MAP_FAILED) {
        const int error = errno;
        failFile("FileUnreadable", path,
                 "(" + byteCount(file->size_) + ") cannot be memory-mapped (" + reason(error) +
                     "); copy it to a local disk or free address space.");
    }
    file->data_ = static_cast<const uint8_t*>(map);
    return file;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
    if (descriptor_ >= 0) ::close(descriptor_);
}

MappedFile::Stamp MappedFile::stamp() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) {
        const int error = errno;
        failFile("FileUnreadable", path_,
                 "can no longer be read (" + reason(error) + "); is its disk still there?");
    }
    Stamp stamp;
    stamp.size = static_cast<uint64_t>(status.st_size);
#ifdef __APPLE__
    stamp.seconds = status.st_mtimespec.tv_sec;
    stamp.fraction = status.st_mtimespec.tv_nsec;
#else
    stamp.seconds = status.st_mtim.tv_sec;
    stamp.fraction = status.st_mtim.tv_nsec;
#endif
    return stamp;
}

void MappedFile::willNeed(const uint8_t* data, uint64_t bytes) const {
    static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<uintptr_t>(data) / page * page;
    const uint64_t length = reinterpret_cast<uintptr_t>(data) + bytes - start;
    // A hint: whatever it answers, reading works.
    ::posix_madvise(reinterpret_cast<void*>(start), static_cast<size_t>(length), POSIX_MADV_WILLNEED);
}

}  // namespace mizuoto

#endif
