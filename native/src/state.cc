#include "state.h"

#include <utility>

#include "error.h"

namespace mizuoto {
namespace {

ggml_context* newContext(size_t tensors) {
    ggml_init_params params = {ggml_tensor_overhead() * (tensors + 1), nullptr, true};
    ggml_context* context = ggml_init(params);
    if (context == nullptr) throw Error("OutOfHostMemory", "Host memory is used up.");
    return context;
}

}  // namespace

State::State(std::shared_ptr<Device> device, std::vector<StateSpec> specs)
    : device_(std::move(device)), specs_(std::move(specs)), context_(newContext(specs_.size()), ggml_free) {
    if (specs_.empty()) throw Error("InvalidArgument", "A state needs at least one tensor.");
    device_->requireUsable();
    std::vector<size_t> offsets;
    for (const StateSpec& spec : specs_) {
        checkShape(spec.type, spec.shape, "A state tensor");
        const auto ne = toNe(spec.shape);
        tensors_.push_back(ggml_new_tensor(context_.get(), spec.type, kMaxRank, ne.data()));
        offsets.push_back(bytes_);
        bytes_ += alignUp(ggml_backend_buft_get_alloc_size(device_->bufferType(), tensors_.back()),
                          device_->alignment());
    }
    buffer_ = device_->allocate(Purpose::State, bytes_, GGML_BACKEND_BUFFER_USAGE_ANY);
    callBackend(device_->name(), [&] {
        for (size_t i = 0; i < tensors_.size(); ++i) {
            ggml_backend_tensor_alloc(buffer_->get(), tensors_[i], buffer_->base() + offsets[i]);
        }
        ggml_backend_buffer_clear(buffer_->get(), 0);
    });
}

const StateSpec& State::spec(int index) const {
    if (index < 0 || static_cast<size_t>(index) >= specs_.size()) {
        throw Error("InvalidArgument", "The state has " + std::to_string(specs_.size()) +
                                           " tensors; there is no " + std::to_string(index) + ".");
    }
    return specs_[static_cast<size_t>(index)];
}

size_t State::tensorBytes(int index) const {
    return mizuoto::tensorBytes(spec(index).type, spec(index).shape);
}

void State::requireAlive() const {
    if (!buffer_) throw Error("Disposed", "The state was disposed of.");
    device_->requireUsable();
}

ggml_tensor* State::at(int index) const {
    spec(index);
    requireAlive();
    return tensors_[static_cast<size_t>(index)];
}

void State::read(int index, uint8_t* out) const {
    const ggml_tensor* tensor = at(index);
    callBackend(device_->name(), [&] { ggml_backend_tensor_get(tensor, out, 0, ggml_nbytes(tensor)); });
}

void State::write(int index, const uint8_t* data, size_t bytes, size_t offset) {
    ggml_tensor* tensor = at(index);
    const size_t size = ggml_nbytes(tensor);
    if (offset > size || bytes > size - offset) {
        throw Error("InvalidArgument",
                    "A state tensor of " + std::to_string(size) + " bytes cannot take " +
                        std::to_string(bytes) + " at offset " + std::to_string(offset) + ".",
                    {detailOf("bytes", bytes), detailOf("offset", offset), detailOf("size", size)});
    }
    callBackend(device_->name(), [&] { ggml_backend_tensor_set(tensor, data, offset, bytes); });
}

void State::clear() {
    requireAlive();
    callBackend(device_->name(), [&] { ggml_backend_buffer_clear(buffer_->get(), 0); });
}

void State::bind(ggml_tensor* leaf, size_t index) const {
    requireAlive();
    leaf->buffer = nullptr;
    leaf->data = nullptr;
    leaf->extra = nullptr;
    ggml_backend_tensor_alloc(buffer_->get(), leaf, tensors_[index]->data);
}

}  // namespace mizuoto
