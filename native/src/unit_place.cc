#include "unit_place.h"

#include <algorithm>
#include <utility>

namespace mizuoto {

UnitPlace::UnitPlace(std::shared_ptr<Device> device, const std::vector<ToPlace>& weights)
    : device_(std::move(device)), places_(weights.size()) {
    for (size_t i = 0; i < weights.size(); ++i) places_[i].bytes = weights[i].bytes;
    map(weights);
    allocateRest();
}

void UnitPlace::map(const std::vector<ToPlace>& weights) {
    size_t wanted = 0;
    for (const ToPlace& weight : weights) {
        if (weight.window == nullptr) continue;
        (weight.window->refused ? refusedBytes_ : wanted) += weight.bytes;
    }
    if (wanted == 0) return;
    const auto import = [&](std::vector<std::shared_ptr<HostImport>>& imports) {
        for (size_t i = 0; i < weights.size(); ++i) {
            const ToPlace& weight = weights[i];
            if (weight.window == nullptr || weight.window->refused) continue;
            Mapping::Window& window = *weight.window;
            const auto taken = device_->imports().take(window.file, window.data, window.bytes);
            window.refused = taken == nullptr;
            if (window.refused) continue;
            const uint8_t* data = weight.host->inFile()->data;
            places_[i] = {taken->buffer(), taken->addressOf(data), weight.bytes, true};
            if (std::find(imports.begin(), imports.end(), taken) == imports.end()) imports.push_back(taken);
        }
    };
    mapped_ = std::make_unique<MappedBytes>(device_, wanted, import);
    size_t refused = wanted;
    for (const Place& place : places_) refused -= place.mapped ? place.bytes : 0;
    mapped_->give(refused);
    refusedBytes_ += refused;
}

void UnitPlace::allocateRest() {
    // Few buffers, none larger than the device allows.
    std::vector<std::pair<size_t, size_t>> where(places_.size());
    std::vector<size_t> sizes;
    for (size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].mapped) continue;
        const size_t bytes = places_[i].bytes;
        if (sizes.empty() || (sizes.back() > 0 && sizes.back() + bytes > device_->maxBufferBytes())) {
            sizes.push_back(0);
        }
        where[i] = {sizes.size() - 1, sizes.back()};
        sizes.back() += bytes;
    }
    for (size_t bytes : sizes) {
        buffers_.push_back(device_->allocate(Purpose::Weights, bytes, GGML_BACKEND_BUFFER_USAGE_WEIGHTS));
    }
    for (size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].mapped) continue;
        const DeviceBuffer& buffer = *buffers_[where[i].first];
        places_[i].buffer = buffer.get();
        places_[i].address = buffer.base() + where[i].second;
    }
}

void UnitPlace::unmap(size_t weight) {
    Place& place = places_[weight];
    if (!place.mapped) return;
    buffers_.push_back(device_->allocate(Purpose::Weights, place.bytes, GGML_BACKEND_BUFFER_USAGE_WEIGHTS));
    mapped_->give(place.bytes);
    place = {buffers_.back()->get(), buffers_.back()->base(), place.bytes, false};
}

}  // namespace mizuoto
