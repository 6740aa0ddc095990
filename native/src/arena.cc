#include "arena.h"

#include <utility>

#include "kept_objects.h"

namespace mizuoto {
namespace {

KeptObjects<ggml_gallocr_t> keptAllocators;

}  // namespace

Arena::Arena(std::shared_ptr<Device> device) : device_(std::move(device)) {
    device_->enroll(this);
}

Arena::~Arena() {
    device_->retire(this);
}

void Arena::allocate(ggml_cgraph* graph, size_t plannedBytes) {
    if (allocator_ == nullptr) allocator_ = ggml_gallocr_new(device_->bufferType());
    if (plannedBytes > bytes()) {
        // The allocator frees what it has before it takes more.
        trim();
        if (device_->keepsMemory()) {
            allocator_ = keptAllocators.take(device_->bufferType(), plannedBytes).value_or(nullptr);
        }
        if (allocator_ == nullptr) allocator_ = ggml_gallocr_new(device_->bufferType());
        device_->accountedAllocation(Purpose::Compute, plannedBytes,
                                     [&] { return ggml_gallocr_reserve(allocator_, graph); });
        bytes_ = plannedBytes;
    } else {
        device_->requireUsable();
        bool reserved = false;
        callBackend(device_->name(), [&] { reserved = ggml_gallocr_reserve(allocator_, graph); });
        if (!reserved) {
            trim();
            throw Error("OutOfDeviceMemory",
                        device_->name() + " cannot give " + bytesText(plannedBytes) + " of scratch memory.",
                        {detailOf("device", device_->name()), detailOf("needed", plannedBytes)});
        }
        // Several chunks (a device with a small largest buffer) may have been taken anew.
        if (plannedBytes > device_->maxBufferBytes()) ++generation_;
    }
    if (!device_->keepsMemory()) account(ggml_gallocr_get_buffer_size(allocator_, 0));
    if (!ggml_gallocr_alloc_graph(allocator_, graph)) {
        throw Error("Internal", "ggml cannot place a graph that it has planned.");
    }
}

void Arena::account(size_t now) {
    const uint64_t before = bytes();
    if (now == before) return;
    device_->ledger().release(Purpose::Compute, before);
    device_->ledger().reserve(Purpose::Compute, now, device_->name());
    bytes_ = now;
}

void Arena::trim() {
    if (allocator_ == nullptr) return;
    if (device_->keepsMemory()) {
        keptAllocators.keep(device_->bufferType(), ggml_gallocr_get_buffer_size(allocator_, 0), allocator_);
    } else {
        ggml_gallocr_free(allocator_);
    }
    allocator_ = nullptr;
    ++generation_;
    device_->ledger().release(Purpose::Compute, bytes());
    bytes_ = 0;
}

size_t Arena::plan(ggml_backend_buffer_type_t type, ggml_cgraph* graph) {
    ggml_gallocr_t allocator = ggml_gallocr_new(type);
    size_t bytes = 0;
    ggml_gallocr_reserve_n_size(allocator, graph, nullptr, nullptr, &bytes);
    ggml_gallocr_free(allocator);
    return bytes;
}

}  // namespace mizuoto
