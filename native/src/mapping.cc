#include "mapping.h"

#include "import_plan.h"

namespace mizuoto {

Mapping::Mapping(const Device& device, const std::vector<Candidate>& weights) {
    if (!device.mapsHostMemory()) return;
    std::vector<Importable> pieces(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
        const auto& [host, deviceBytes] = weights[i];
        const CheckpointTensor* tensor = host->inFile();
        // Backends that pad tensors read what lies behind them.
        if (tensor == nullptr || deviceBytes != host->bytes()) continue;
        if (reinterpret_cast<uintptr_t>(tensor->data) % device.importAlignment() != 0) continue;
        pieces[i] = {&host->checkpoint()->files()[tensor->file], tensor->data, host->bytes()};
    }
    ImportLimits limits;
    limits.pageBytes = pageBytes();
    limits.maxBytes = device.maxBufferBytes();
    const ImportPlan plan = planImports(pieces, limits);
    windowOf_ = plan.windowOf;
    for (const ImportWindow& window : plan.windows) windows_.push_back({nullptr, window.data, window.bytes});
    for (size_t i = 0; i < weights.size(); ++i) {
        if (windowOf_[i] >= 0)
            windows_[static_cast<size_t>(windowOf_[i])].file = weights[i].host->checkpoint();
    }
}

Mapping::Window* Mapping::windowOf(size_t weight) {
    if (weight >= windowOf_.size() || windowOf_[weight] < 0) return nullptr;
    return &windows_[static_cast<size_t>(windowOf_[weight])];
}

}  // namespace mizuoto
