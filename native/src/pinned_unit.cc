#include "pinned_unit.h"

#include <utility>

#include "error.h"
#include "host_import.h"
#include "kept_objects.h"

namespace mizuoto {
namespace {

/** Locking smaller ranges costs more than it saves. */
constexpr size_t kSmallestLocked = 1 << 20;

KeptObjects<ggml_backend_buffer_t> keptBuffers;

}  // namespace

std::unique_ptr<PinnedUnit> PinnedUnit::inPlace(const Device& device, size_t unitBytes,
                                                const std::vector<Source>& weights) {
    const auto& locks = device.hostLocks();
    if (!locks) return nullptr;
    std::unique_ptr<PinnedUnit> unit(new PinnedUnit(unitBytes));
    size_t wanted = 0;
    size_t locked = 0;
    const auto lockAll = [&](const std::vector<HostRange>& ranges, const std::shared_ptr<const void>& owner) {
        for (const HostRange& pages : wholePages(ranges, pageBytes(), kSmallestLocked)) {
            auto taken = locks->take(pages, owner);
            if (!taken) continue;
            locked += pages.bytes;
            unit->locks_.push_back(std::move(taken));
        }
    };
    std::vector<bool> done(weights.size(), false);
    for (size_t i = 0; i < weights.size(); ++i) {
        wanted += weights[i].range.bytes;
        if (done[i]) continue;
        // Memory of one owner is locked in runs; what a weight owns alone, by itself.
        std::vector<HostRange> ranges;
        for (size_t j = i; j < weights.size(); ++j) {
            if (done[j] || (j > i && (!weights[i].owner || weights[j].owner != weights[i].owner))) continue;
            ranges.push_back(weights[j].range);
            done[j] = true;
        }
        lockAll(ranges, weights[i].owner);
    }
    // A unit that is pageable for its larger part is better off in a buffer.
    if (locked * 2 < wanted) return nullptr;
    return unit;
}

std::unique_ptr<PinnedUnit> PinnedUnit::buffer(const std::shared_ptr<Device>& device, size_t unitBytes) {
    std::unique_ptr<PinnedUnit> unit(new PinnedUnit(unitBytes));
    if (device->simulated()) {
        try {
            unit->plain_ = AlignedBytes(unitBytes);
        } catch (const Error&) {
            return nullptr;
        }
        unit->memory_ = unit->plain_.data();
        return unit;
    }
    ggml_backend_buffer_type_t type = ggml_backend_dev_host_buffer_type(device->handle());
    if (type == nullptr) return nullptr;
    unit->device_ = device;
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
    unit->memory_ = static_cast<uint8_t*>(ggml_backend_buffer_get_base(unit->buffer_));
    return unit;
}

PinnedUnit::~PinnedUnit() {
    if (buffer_ == nullptr) return;
    if (device_->keepsMemory()) {
        keptBuffers.keep(ggml_backend_buffer_get_type(buffer_), ggml_backend_buffer_get_size(buffer_),
                         buffer_);
    } else {
        ggml_backend_buffer_free(buffer_);
    }
}

}  // namespace mizuoto
