#include "host_import.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "copy_engines.h"
#include "error.h"

namespace mizuoto {
size_t pageBytes() {
#ifdef _WIN32
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
#else
    return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
#endif
}

HostImport::HostImport(std::shared_ptr<const Checkpoint> file, const uint8_t* data, size_t bytes,
                       ggml_backend_buffer_t buffer)
    : file_(std::move(file)),
      data_(data),
      bytes_(bytes),
      buffer_(buffer),
      base_(static_cast<uint8_t*>(ggml_backend_buffer_get_base(buffer))) {
    ggml_backend_buffer_set_usage(buffer_, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
}

HostImport::~HostImport() {
    ggml_backend_buffer_free(buffer_);
}

std::shared_ptr<HostImport> HostImports::take(const std::shared_ptr<const Checkpoint>& file,
                                              const uint8_t* data, size_t bytes) {
    std::erase_if(live_, [](const auto& import) { return import.expired(); });
    for (const auto& known : live_) {
        if (auto import = known.lock(); import && import->covers(file.get(), data, bytes)) return import;
    }
    std::shared_ptr<HostImport> import;
    try {
        callBackend(device_.name(), [&] {
            ggml_backend_buffer_t buffer = ggml_backend_dev_buffer_from_host_ptr(
                device_.handle(), const_cast<uint8_t*>(data), bytes, bytes);
            if (buffer == nullptr) return;
            import.reset(new HostImport(file, data, bytes, buffer));
            if (!showsWhatIsThere(*import)) import.reset();
        });
    } catch (const Error& error) {
        // Only a device that is gone is worse off than one that copies.
        if (error.code == "DeviceLost") throw;
        import.reset();
    }
    if (import) live_.push_back(import);
    return import;
}

/** A driver may accept pages that its device then cannot read. */
bool HostImports::showsWhatIsThere(const HostImport& import) const {
    if (device_.computesOnCpu()) return true;
    uint8_t seen[64];
    const size_t bytes = std::min(sizeof seen, import.bytes_);
    for (const uint8_t* data : {import.data_, import.data_ + import.bytes_ - bytes}) {
        const ggml_tensor tensor = bytesAt(import.buffer(), import.addressOf(data), bytes);
        ggml_backend_tensor_get(&tensor, seen, 0, bytes);
        if (std::memcmp(seen, data, bytes) != 0) return false;
    }
    return true;
}

MappedBytes::MappedBytes(std::shared_ptr<Device> device, size_t bytes,
                         const std::function<void(std::vector<std::shared_ptr<HostImport>>&)>& import)
    : device_(std::move(device)), bytes_(bytes) {
    device_->accountedAllocation(Purpose::Weights, bytes, [&] {
        import(imports_);
        return true;
    });
    device_->enroll(this);
}

MappedBytes::~MappedBytes() {
    device_->retire(this);
}

void MappedBytes::give(size_t bytes) {
    if (held_) device_->ledger().release(Purpose::Weights, bytes);
    bytes_ -= bytes;
}

void MappedBytes::releaseDeviceMemory() {
    if (!held_) return;
    held_ = false;
    imports_.clear();
    device_->ledger().release(Purpose::Weights, bytes_);
}

}  // namespace mizuoto
