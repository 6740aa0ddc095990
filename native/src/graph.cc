#include "graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "error.h"
#include "run_progress.h"

namespace mizuoto {

Graph::Graph(Recording recording, std::unique_ptr<Layout> layout, std::shared_ptr<Device> device,
             std::shared_ptr<Arena> arena)
    : recording_(std::move(recording)),
      layout_(std::move(layout)),
      device_(std::move(device)),
      arena_(std::move(arena)),
      written_(recording_.inputs.size(), false) {
    for (const WeightLeaf& leaf : recording_.weights) {
        if (std::find(stores_.begin(), stores_.end(), leaf.store) == stores_.end())
            stores_.push_back(leaf.store);
        WeightStore::unbind(leaf.tensor);
    }
    for (const auto& [root, views] : layout_->views) {
        for (ggml_tensor* view : views) WeightStore::unbind(view);
    }
}

Graph::~Graph() = default;

size_t Graph::inputOf(int handle) const {
    for (size_t i = 0; i < recording_.inputs.size(); ++i) {
        if (recording_.inputs[i].handle == handle) return i;
    }
    throw Error("InvalidArgument", "The handle " + std::to_string(handle) + " is not an input of this graph.",
                {detailOf("handle", handle)});
}

size_t Graph::outputOf(int handle) const {
    for (size_t i = 0; i < recording_.outputs.size(); ++i) {
        if (recording_.outputs[i].handle == handle) return i;
    }
    throw Error("InvalidArgument",
                "The handle " + std::to_string(handle) + " is not an output of this graph.",
                {detailOf("handle", handle)});
}

void Graph::checkIndices(size_t input, const std::vector<uint8_t>& data) const {
    const bool wide = recording_.inputs[input].tensor->type == GGML_TYPE_I64;
    for (const IndexBound& bound : recording_.bounds) {
        if (bound.input != input) continue;
        for (size_t offset = 0; offset < data.size(); offset += wide ? 8 : 4) {
            int64_t value = 0;
            int32_t narrow = 0;
            if (wide) {
                std::memcpy(&value, data.data() + offset, sizeof value);
            } else {
                std::memcpy(&narrow, data.data() + offset, sizeof narrow);
                value = narrow;
            }
            if (value >= 0 && value < bound.rows) continue;
            throw Error("InvalidArgument",
                        bound.op + " looks into " + std::to_string(bound.rows) +
                            " rows, but the input names row " + std::to_string(value) + ".",
                        {detailOf("op", bound.op), detailOf("rows", bound.rows), detailOf("row", value)});
        }
    }
}

void Graph::run(const RunRequest& request) {
    if (disposed_) throw Error("Disposed", "The graph was disposed of.");
    device_->requireUsable();
    throwIfCancelled(request.cancel);
    for (const auto& store : stores_) {
        if (store->requireDevice() == device_) continue;
        throw Error("InvalidArgument",
                    "The weights of " + store->component() + " are bound to " + store->device()->name() +
                        ", but the graph was compiled for " + device_->name() + ".",
                    {detailOf("component", store->component())});
    }
    try {
        takeIo();
        bindStates();
        bindWeights();
        allocate();
        write(request);
        schedule_->markEscaping(true);
        execute(request);
        schedule_->markEscaping(false);
        read(request);
    } catch (const Error& error) {
        if (schedule_) schedule_->markEscaping(false);
        // Nothing may still run on memory that its owners are about to reuse.
        try {
            callBackend(device_->name(), [&] { ggml_backend_synchronize(device_->backend()); });
        } catch (const Error&) {
            device_->markLost();
        }
        if (error.code == "DeviceLost" || error.code == "Internal") boundEpochs_.clear();
        throw;
    }
}

void Graph::takeIo() {
    if (io_ && io_->get() != nullptr) return;
    if (layout_->plan.ioBytes > device_->maxBufferBytes()) {
        throw Error(
            "OutOfDeviceMemory",
            "Inputs and outputs need " + bytesText(layout_->plan.ioBytes) + "; " + device_->name() +
                " holds at most " + bytesText(device_->maxBufferBytes()) + " in one piece.",
            {detailOf("needed", layout_->plan.ioBytes), detailOf("available", device_->maxBufferBytes())});
    }
    auto io = device_->allocate(Purpose::Io, layout_->plan.ioBytes, GGML_BACKEND_BUFFER_USAGE_ANY);
    callBackend(device_->name(), [&] {
        for (const auto& [tensor, offset] : layout_->io) {
            WeightStore::unbind(tensor);
            ggml_backend_tensor_alloc(io->get(), tensor, io->base() + offset);
            bindViews(tensor);
        }
        for (const ConstantLeaf& constant : recording_.constants) {
            ggml_backend_tensor_set(constant.tensor, constant.data.data(), 0, constant.data.size());
        }
    });
    io_ = std::move(io);
    std::fill(written_.begin(), written_.end(), false);
}

void Graph::bindViews(const ggml_tensor* root) {
    const auto found = layout_->views.find(root);
    if (found == layout_->views.end()) return;
    for (ggml_tensor* view : found->second) {
        WeightStore::unbind(view);
        if (root->buffer != nullptr) ggml_backend_view_init(view);
    }
}

void Graph::bindStates() {
    callBackend(device_->name(), [&] {
        for (const StateLeaf& leaf : recording_.states) {
            if (leaf.state->device() != device_) {
                throw Error("InvalidArgument", "A state of " + leaf.state->device()->name() +
                                                   " cannot be used on " + device_->name() + ".");
            }
            leaf.state->bind(leaf.tensor, leaf.index);
            bindViews(leaf.tensor);
        }
    });
}

void Graph::bindWeights() {
    std::vector<uint64_t> epochs;
    for (const auto& store : stores_) epochs.push_back(store->epoch());
    const uint64_t streamer = device_->streamer().configuration();
    const bool profiling = device_->profiling();
    if (schedule_ && epochs == boundEpochs_ && streamer == boundStreamer_ && profiling == boundProfiling_)
        return;
    boundEpochs_.clear();
    callBackend(device_->name(), [&] {
        for (const WeightLeaf& leaf : recording_.weights) {
            leaf.store->bindResident(leaf.tensor, leaf.weight);
            bindViews(leaf.tensor);
        }
    });
    schedule_.reset();
    schedule_ = std::make_unique<Schedule>(recording_, *layout_, *device_, profiling);
    // Binding on a host device may read weights for the first time, which counts as a change.
    for (const auto& store : stores_) boundEpochs_.push_back(store->epoch());
    boundStreamer_ = streamer;
    boundProfiling_ = profiling;
}

void Graph::allocate() {
    if (arenaGeneration_ == arena_->generation()) return;
    for (ggml_tensor* tensor : layout_->arenaTensors) WeightStore::unbind(tensor);
    // ggml would give memory to leaves that have none; streamed weights get theirs later.
    std::vector<ggml_tensor*> absent;
    for (const WeightLeaf& leaf : recording_.weights) {
        if (leaf.tensor->data != nullptr) continue;
        leaf.tensor->data = placeholder();
        absent.push_back(leaf.tensor);
    }
    const auto restore = [&] {
        for (ggml_tensor* tensor : absent) tensor->data = nullptr;
    };
    try {
        arena_->allocate(layout_->whole, layout_->plan.computeBytes);
    } catch (...) {
        restore();
        throw;
    }
    restore();
    arenaGeneration_ = arena_->generation();
}

void Graph::write(const RunRequest& request) {
    for (const RunRequest::Write& write : request.writes) {
        callBackend(device_->name(), [&] {
            ggml_backend_tensor_set(recording_.inputs[write.input].tensor, write.data.data(), 0,
                                    write.data.size());
        });
        written_[write.input] = true;
    }
    for (size_t i = 0; i < written_.size(); ++i) {
        if (written_[i]) continue;
        const int handle = recording_.inputs[i].handle;
        throw Error("InvalidArgument",
                    "The input with the handle " + std::to_string(handle) + " was never given.",
                    {detailOf("handle", handle)});
    }
}

void Graph::read(const RunRequest& request) const {
    for (const RunRequest::Read& read : request.reads) {
        const ggml_tensor* tensor = recording_.outputs[read.output].tensor;
        callBackend(device_->name(),
                    [&] { ggml_backend_tensor_get(tensor, read.target, 0, ggml_nbytes(tensor)); });
    }
}

void Graph::dispose() {
    disposed_ = true;
    io_.reset();
}

}  // namespace mizuoto
