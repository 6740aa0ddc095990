#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device.h"

namespace mizuoto {

/** Pages of a mapped file as a buffer of a device, which reads them where they lie. The buffer goes before
 * the map. */
class HostImport {
  public:
    ~HostImport();
    HostImport(const HostImport&) = delete;
    HostImport& operator=(const HostImport&) = delete;

    ggml_backend_buffer_t buffer() const { return buffer_; }
    bool covers(const Checkpoint* file, const uint8_t* data, size_t bytes) const {
        return file == file_.get() && data >= data_ && data + bytes <= data_ + bytes_;
    }
    /** As the backend writes it, of memory that this import covers. */
    uint8_t* addressOf(const uint8_t* data) const { return base_ + (data - data_); }

  private:
    friend class HostImports;
    HostImport(std::shared_ptr<const Checkpoint> file, const uint8_t* data, size_t bytes,
               ggml_backend_buffer_t buffer);

    std::shared_ptr<const Checkpoint> file_;
    const uint8_t* data_;
    size_t bytes_;
    ggml_backend_buffer_t buffer_;
    uint8_t* base_;
};

/** The imports of one device: what two components read of a file is imported once. On the device's thread. */
class HostImports {
  public:
    explicit HostImports(Device& device) : device_(device) {}

    /** Whole pages. Null where the device does not take them: what was to be mapped is copied then. */
    std::shared_ptr<HostImport> take(const std::shared_ptr<const Checkpoint>& file, const uint8_t* data,
                                     size_t bytes);

  private:
    bool showsWhatIsThere(const HostImport& import) const;

    Device& device_;
    std::vector<std::weak_ptr<HostImport>> live_;
};

/** Bytes that a component's unit reads in place, on the ledger as long as they do. */
class MappedBytes final : public DeviceResource {
  public:
    /** `imports` fills the list. Counts as an allocation. Throws OutOfDeviceMemory. */
    MappedBytes(std::shared_ptr<Device> device, size_t bytes,
                const std::function<void(std::vector<std::shared_ptr<HostImport>>&)>& import);
    ~MappedBytes();

    size_t bytes() const { return bytes_; }
    /** So many of them are copied after all. */
    void give(size_t bytes);
    void releaseDeviceMemory() override;

  private:
    std::shared_ptr<Device> device_;
    size_t bytes_;
    bool held_ = true;
    std::vector<std::shared_ptr<HostImport>> imports_;
};

/** Of this machine. */
size_t pageBytes();

}  // namespace mizuoto
