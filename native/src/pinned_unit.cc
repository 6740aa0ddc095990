#include "pinned_unit.h"

#include <cstdlib>
#include <cstring>

#include "error.h"
#include "kept_objects.h"

namespace mizuoto {
namespace {

/** Locking smaller ranges costs more than it saves. */
constexpr size_t kSmallestRegistered = 1 << 20;

KeptObjects<ggml_backend_buffer_t> keptBuffers;

}  // namespace

std::shared_ptr<PinnedUnit> PinnedUnit::make(const std::shared_ptr<Device>& device, size_t unitBytes) {
    if (device->isHost()) return nullptr;
    auto unit = std::shared_ptr<PinnedUnit>(new PinnedUnit());
    unit->device_ = device;
    unit->bytes_ = unitBytes;
    if (device->simulated()) return unit;

    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(device->handle());
    const auto address = [&](const char* symbol) {
        return ggml_backend_reg_get_proc_address(registry, symbol);
    };
    const auto registerBuffer =
        reinterpret_cast<RegisterBuffer>(address("ggml_backend_register_host_buffer"));
    const auto unregister =
        reinterpret_cast<UnregisterBuffer>(address("ggml_backend_unregister_host_buffer"));
    // ggml-cuda answers "no" to every registration unless the environment asks for it.
    if (registerBuffer != nullptr && unregister != nullptr &&
        std::getenv("GGML_CUDA_REGISTER_HOST") != nullptr) {
        unit->registerBuffer_ = registerBuffer;
        unit->unregisterBuffer_ = unregister;
        return unit;
    }

    ggml_backend_buffer_type_t type = ggml_backend_dev_host_buffer_type(device->handle());
    if (type == nullptr) return nullptr;
    if (device->keepsMemory()) unit->buffer_ = keptBuffers.take(type, unitBytes).value_or(nullptr);
    try {
        callBackend(device->name(), [&] {
            if (unit->buffer_ == nullptr) unit->buffer_ = ggml_backend_buft_alloc_buffer(type, unitBytes);
        });
    } catch (const Error&) {
        return nullptr;
    }
    // Out of page-locked memory, backends hand out plain memory under another type.
    if (unit->buffer_ == nullptr || ggml_backend_buffer_get_type(unit->buffer_) != type) return nullptr;
    unit->copy_ = static_cast<uint8_t*>(ggml_backend_buffer_get_base(unit->buffer_));
    return unit;
}

void PinnedUnit::lock(const uint8_t* data, size_t bytes) {
    if (registerBuffer_ == nullptr || bytes < kSmallestRegistered) return;
    void* address = const_cast<uint8_t*>(data);
    if (registerBuffer_(address, bytes)) registered_.push_back(address);
}

PinnedUnit::~PinnedUnit() {
    for (void* data : registered_) unregisterBuffer_(data);
    if (buffer_ == nullptr) return;
    if (device_->keepsMemory()) {
        keptBuffers.keep(ggml_backend_buffer_get_type(buffer_), ggml_backend_buffer_get_size(buffer_),
                         buffer_);
    } else {
        ggml_backend_buffer_free(buffer_);
    }
}

}  // namespace mizuoto
