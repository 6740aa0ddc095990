#include "reorder.h"

#include <ggml.h>

#include <exception>
#include <string>
#include <thread>

#include "text.h"

namespace mizuoto {
namespace {

/** A reordered tensor, and what its values are read from. */
struct Reordered {
    std::shared_ptr<const Checkpoint> checkpoint;
    CheckpointTensor tensor;
};

bool isPermutation(const std::vector<int64_t>& order, size_t rank) {
    if (order.size() != rank) return false;
    std::vector<bool> seen(rank, false);
    for (const int64_t axis : order) {
        if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) return false;
        seen[static_cast<size_t>(axis)] = true;
    }
    return true;
}

/** Fewer elements than this are not worth a thread. */
constexpr uint64_t kElementsPerThread = uint64_t{1} << 18;
/** Memory is the limit beyond a few. */
constexpr uint64_t kMostThreads = 4;

}  // namespace

std::pair<std::shared_ptr<const Checkpoint>, const CheckpointTensor*> reordered(
    std::shared_ptr<const Checkpoint> checkpoint, const CheckpointTensor& tensor,
    std::vector<int64_t> order) {
    if (!isPermutation(order, tensor.shape.size())) {
        throw Error("InvalidArgument",
                    "The order of dimensions for tensor " + quoted(tensor.name) +
                        " has to name each of its " + std::to_string(tensor.shape.size()) +
                        " dimensions once.",
                    {detailOf("tensor", tensor.name)});
    }
    if (tensor.ggmlType >= 0 && ggml_is_quantized(static_cast<ggml_type>(tensor.ggmlType))) {
        throw Error("UnsupportedDType",
                    "Tensor " + quoted(tensor.name) + " is " + tensor.storedDType +
                        ": blocks of several values cannot be put into another order.",
                    {detailOf("tensor", tensor.name)});
    }
    auto held = std::make_shared<Reordered>(Reordered{std::move(checkpoint), tensor});
    held->tensor.order = std::move(order);
    // No type of ggml: its bytes are never used in place.
    held->tensor.ggmlType = -1;
    const CheckpointTensor* result = &held->tensor;
    const Checkpoint* base = held->checkpoint.get();
    return {std::shared_ptr<const Checkpoint>(std::move(held), base), result};
}

Reordering::Reordering(const CheckpointTensor& tensor) {
    const size_t rank = tensor.shape.size();
    std::vector<uint64_t> strides(rank, 1);
    for (size_t axis = rank; axis-- > 1;) {
        strides[axis - 1] = strides[axis] * static_cast<uint64_t>(tensor.shape[axis]);
    }
    for (const int64_t axis : tensor.order) {
        const auto place = static_cast<size_t>(axis);
        axes_.push_back({static_cast<uint64_t>(tensor.shape[place]), strides[place], 1});
    }
    if (axes_.empty()) axes_.push_back({});
    for (size_t axis = axes_.size(); axis-- > 1;) {
        axes_[axis - 1].target = axes_[axis].target * axes_[axis].size;
    }
    fastest_ = axes_.size() - 1;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
        if (axes_[axis].size > 1 &&
            (axes_[fastest_].size == 1 || axes_[axis].source < axes_[fastest_].source)) {
            fastest_ = axis;
        }
    }
    for (size_t axis = 0; axis + 1 < axes_.size(); ++axis) {
        if (axis != fastest_) outerCount_ *= axes_[axis].size;
    }
}

uint64_t Reordering::sourceOf(uint64_t index) const {
    uint64_t source = 0;
    for (const Axis& axis : axes_) source += index / axis.target % axis.size * axis.source;
    return source;
}

std::pair<uint64_t, uint64_t> Reordering::outer(uint64_t index) const {
    uint64_t source = 0;
    uint64_t target = 0;
    for (size_t axis = axes_.size() - 1; axis-- > 0;) {
        if (axis == fastest_) continue;
        const uint64_t at = index % axes_[axis].size;
        index /= axes_[axis].size;
        source += at * axes_[axis].source;
        target += at * axes_[axis].target;
    }
    return {source, target};
}

void Reordering::inParallel(uint64_t parts, uint64_t elementsEach,
                            const std::function<void(uint64_t first, uint64_t last)>& work) {
    const uint64_t wanted = parts * elementsEach / kElementsPerThread;
    const uint64_t processors = std::max<uint64_t>(1, std::thread::hardware_concurrency());
    const uint64_t count = std::clamp<uint64_t>(wanted, 1, std::min(processors, kMostThreads));
    std::vector<std::thread> threads;
    uint64_t first = 0;
    for (uint64_t i = 0; i + 1 < count; ++i) {
        const uint64_t last = parts * (i + 1) / count;
        try {
            threads.emplace_back(work, first, last);
        } catch (const std::exception&) {
            // No thread to be had: this one does the rest.
            break;
        }
        first = last;
    }
    work(first, parts);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace mizuoto
