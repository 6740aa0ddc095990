#include "mapped_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "text.h"

namespace mizuoto {

namespace fs = std::filesystem;

namespace {

#ifdef _WIN32
constexpr const char* separators = "/\\";
constexpr char separator = '\\';
#else
constexpr const char* separators = "/";
constexpr char separator = '/';
#endif

fs::path fromUtf8(const std::string& path) {
    return fs::path(std::u8string(reinterpret_cast<const char8_t*>(path.data()), path.size()));
}

/** The folder's true path, or empty. */
fs::path truePath(const fs::path& path) {
    std::error_code error;
    fs::path result = fs::canonical(path, error);
    return error ? fs::path() : result;
}

}  // namespace

void MappedFile::checkUnchanged() const {
    const Stamp now = stamp();
    if (now.size < opened_.size) {
        failFile("FileTruncated", path_,
                 "was shortened from " + grouped(opened_.size) + " to " + byteCount(now.size) +
                     " while it was open; unload the model, restore the file and load it again.",
                 {detailOf("expected", opened_.size), detailOf("found", now.size)});
    }
    if (now.size != opened_.size || now.seconds != opened_.seconds || now.fraction != opened_.fraction) {
        failFile("FileUnreadable", path_,
                 "was written to while it was open; unload the model and load it again.",
                 {detailOf("expected", opened_.size), detailOf("found", now.size)});
    }
}

bool fileExists(const std::string& path) {
    std::error_code error;
    return fs::exists(fromUtf8(path), error);
}

bool staysInside(const std::string& folder, const std::string& name) {
    const fs::path home = truePath(folder.empty() ? fs::path(".") : fromUtf8(folder));
    const fs::path file = truePath(fromUtf8(joinPath(folder, name)));
    if (home.empty() || file.empty()) return false;
    if (std::mismatch(home.begin(), home.end(), file.begin(), file.end()).first == home.end()) return true;
    const fs::path snapshots = home.parent_path();
    return snapshots.filename() == "snapshots" && file.parent_path() == snapshots.parent_path() / "blobs";
}

std::string joinPath(const std::string& folder, const std::string& name) {
    if (folder.empty()) return name;
    if (folder.find_last_of(separators) == folder.size() - 1) return folder + name;
    return folder + separator + name;
}

std::string folderOf(const std::string& path) {
    const size_t slash = path.find_last_of(separators);
    if (slash == std::string::npos) return {};
    return path.substr(0, slash + 1);
}

}  // namespace mizuoto
