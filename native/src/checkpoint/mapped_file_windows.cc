#ifdef _WIN32

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#include <windows.h>

#include "mapped_file.h"
#include "text.h"

namespace mizuoto {

namespace {

/** The system's own words for an error code, in UTF-8. */
std::string reason(DWORD error) {
    wchar_t wide[512];
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, error,
                                  0, wide, 512, nullptr);
    while (length > 0 && (wide[length - 1] <= L' ' || wide[length - 1] == L'.')) length--;
    char narrow[1536];
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, static_cast<int>(length), narrow, sizeof narrow,
                                          nullptr, nullptr);
    return bytes > 0 ? std::string(narrow, static_cast<size_t>(bytes)) : "error " + std::to_string(error);
}

std::wstring widen(const std::string& path) {
    if (path.size() > 65535) failFile("FileNotFound", path, "does not exist: the path is too long.");
    const int length = static_cast<int>(path.size());
    const int units = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.data(), length, nullptr, 0);
    if (units <= 0) failFile("FileNotFound", path, "does not exist: the path is not valid UTF-8.");
    std::wstring wide(static_cast<size_t>(units), L'\0');
    MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.data(), length, wide.data(), units);
    return wide;
}

/** Absolute, with the prefix that lifts the limit of 260 characters where the path comes near it. */
std::wstring systemPath(const std::string& path) {
    std::wstring wide = widen(path);
    if (wide.rfind(L"\\\\?\\", 0) == 0 || wide.rfind(L"\\\\.\\", 0) == 0) return wide;
    const DWORD needed = GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr);
    if (needed == 0) return wide;
    std::wstring full(needed, L'\0');
    const DWORD length = GetFullPathNameW(wide.c_str(), needed, full.data(), nullptr);
    if (length == 0 || length >= needed) return wide;
    full.resize(length);
    if (full.size() < 240) return full;
    return full.rfind(L"\\\\", 0) == 0 ? L"\\\\?\\UNC" + full.substr(1) : L"\\\\?\\" + full;
}

[[noreturn]] void failOpen(const std::string& path, DWORD error) {
    switch (error) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
        case ERROR_INVALID_NAME:
        case ERROR_BAD_PATHNAME:
        case ERROR_BAD_NETPATH:
            failFile("FileNotFound", path, "does not exist; check the path or download the file.");
        case ERROR_ACCESS_DENIED:
            failFile("FileUnreadable", path, "may not be read by this user; change its permissions.");
        case ERROR_SHARING_VIOLATION:
        case ERROR_LOCK_VIOLATION:
            failFile("FileUnreadable", path,
                     "is locked by another program; close that program and try again.");
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
    const std::wstring wide = systemPath(path);
    const DWORD attributes = GetFileAttributesW(wide.c_str());
    if (attributes == INVALID_FILE_ATTRIBUTES) failOpen(path, GetLastError());
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        failFile("FileNotACheckpoint", path,
                 "is a folder; give the .safetensors, .gguf or .safetensors.index.json file in it.");
    }
    std::unique_ptr<MappedFile> file(new MappedFile(path));
    HANDLE handle = CreateFileW(wide.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (handle == INVALID_HANDLE_VALUE) failOpen(path, GetLastError());
    file->handle_ = handle;
    if (GetFileType(handle) != FILE_TYPE_DISK) {
        failFile("FileNotACheckpoint", path, "is not a regular file (a pipe or a device); give a file.");
    }
    file->opened_ = file->stamp();
    file->size_ = file->opened_.size;
    if (file->size_ == 0) failFile("FileTruncated", path, "is empty (0 bytes); download it again.");
    if (file->size_ > SIZE_MAX / 2) {
        failFile("FileUnreadable", path, "has " + byteCount(file->size_) + ", more than can be mapped.");
    }
    file->mapping_ = CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr);
    const void* view =
        file->mapping_ == nullptr ? nullptr : MapViewOfFile(file->mapping_, FILE_MAP_READ, 0, 0, 0);
    if (view == nullptr) {
        const DWORD error = GetLastError();
        failFile("FileUnreadable", path,
                 "(" + byteCount(file->size_) + ") cannot be memory-mapped (" + reason(error) +
                     "); copy it to a local disk or free address space.");
    }
    file->data_ = static_cast<const uint8_t*>(view);
    return file;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) UnmapViewOfFile(data_);
    if (mapping_ != nullptr) CloseHandle(mapping_);
    if (handle_ != nullptr) CloseHandle(handle_);
}

MappedFile::Stamp MappedFile::stamp() const {
    BY_HANDLE_FILE_INFORMATION info{};
    if (GetFileInformationByHandle(handle_, &info) == 0) {
        failFile("FileUnreadable", path_,
                 "can no longer be read (" + reason(GetLastError()) + "); is its disk still there?");
    }
    Stamp stamp;
    stamp.size = (static_cast<uint64_t>(info.nFileSizeHigh) << 32) | info.nFileSizeLow;
    stamp.seconds = info.ftLastWriteTime.dwHighDateTime;
    stamp.fraction = info.ftLastWriteTime.dwLowDateTime;
    return stamp;
}

void MappedFile::willNeed(const uint8_t* data, uint64_t bytes) const {
    WIN32_MEMORY_RANGE_ENTRY range{const_cast<uint8_t*>(data), static_cast<SIZE_T>(bytes)};
    // A hint: whatever it answers, reading works.
    PrefetchVirtualMemory(GetCurrentProcess(), 1, &range, 0);
}

}  // namespace mizuoto

#endif
