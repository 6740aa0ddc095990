// Execution of a compiled graph: its calls, the copies between them, and how both stop.
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "error.h"
#include "run_progress.h"

namespace mizuoto {
namespace {

/** Calls that a device may have before it: enough to keep it busy, few enough to stop soon. */
constexpr size_t kInFlight = 2;

/** Lets the host run ahead of an asynchronous device by `kInFlight` calls. */
class Window {
  public:
    Window(const Device& device, size_t calls) : device_(device) {
        if (calls <= kInFlight || !device.caps().async || !device.caps().events || device.mergesSegments())
            return;
        callBackend(device_.name(), [&] {
            for (auto& event : events_) event = ggml_backend_event_new(device_.handle());
        });
    }
    ~Window() {
        for (ggml_backend_event_t event : events_) ggml_backend_event_free(event);
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    void beforeCall() {
        if (events_[0] == nullptr || calls_ < kInFlight) return;
        callBackend(device_.name(), [&] { ggml_backend_event_synchronize(events_[calls_ % kInFlight]); });
    }
    void afterCall() {
        if (events_[0] == nullptr) return;
        callBackend(device_.name(),
                    [&] { ggml_backend_event_record(events_[calls_ % kInFlight], device_.backend()); });
        ++calls_;
    }

  private:
    const Device& device_;
    ggml_backend_event_t events_[kInFlight] = {};
    size_t calls_ = 0;
};

/** Calls whose streamed weights are given up at the end of the run, however it ends. */
struct LeavesInPlace {
    std::function<void(const Call&)> giveUp;
    std::vector<const Call*> calls;

    ~LeavesInPlace() {
        for (const Call* call : calls) giveUp(*call);
    }
};

}  // namespace

void Graph::stopped(const CancelPointer& cancel) const {
    throwIfCancelled(cancel);
    throw Error("Cancelled", "The device " + device_->name() + " is closing.",
                {detailOf("device", device_->name())});
}

/** On a CPU backend, with as many threads as are wise: the number changes before the call and within it. */
ggml_status Graph::computeOnThreads(const Call& call, Progress& progress) {
    ggml_cgraph* graph = call.graph;
    std::optional<RestOfCall> rest;
    while (graph != nullptr) {
        ThreadPolicy* threads = device_->threads();
        if (threads != nullptr) threads->settle(layout_->dependsOnThreads);
        // Several threads compute here, so an assertion of ggml could not be unwound.
        ggml_status status = GGML_STATUS_SUCCESS;
        device_->observeNodes(&progress);
        try {
            status = ggml_backend_graph_compute_async(device_->backend(), graph);
        } catch (const std::bad_alloc&) {
            status = GGML_STATUS_ALLOC_FAILED;
        }
        device_->observeNodes(nullptr);
        if (threads != nullptr) threads->finish();
        const ggml_tensor* last = progress.takePause();
        if (status != GGML_STATUS_ABORTED || last == nullptr) return status;
        rest.emplace(*layout_, call, last);
        graph = rest->graph();
    }
    return GGML_STATUS_SUCCESS;
}

void Graph::compute(const Call& call, Progress& progress, const CancelPointer& cancel) {
    bool exhausted = false;
    for (size_t i = call.firstSegment; i < call.endSegment; ++i) {
        exhausted = device_->faults().segmentExhausts() || exhausted;
        if (!device_->faults().segmentFails()) continue;
        device_->markLost();
        throw Error("DeviceLost", device_->name() + " failed while computing (ordered failure).",
                    {detailOf("device", device_->name())});
    }
    progress.begin(call);
    ggml_status status = GGML_STATUS_SUCCESS;
    if (device_->mergesSegments()) {
        status = exhausted ? GGML_STATUS_ALLOC_FAILED : computeOnThreads(call, progress);
    } else {
        try {
            callBackend(device_->name(), [&] {
                status = ggml_backend_graph_compute_async(device_->backend(), call.graph);
                if (!exhausted) return;
                throw Error("OutOfDeviceMemory", device_->name() + " ran out of memory (ordered failure).",
                            {detailOf("device", device_->name())});
            });
        } catch (const Error& error) {
            // Memory that a backend takes for itself while it builds a call can run out half-way through.
            if (error.code == "DeviceLost") {
                device_->markLost();
            } else {
                device_->renewBackend();
            }
            throw;
        }
    }
    switch (status) {
        case GGML_STATUS_SUCCESS:
            break;
        case GGML_STATUS_ABORTED:
            stopped(cancel);
        case GGML_STATUS_ALLOC_FAILED:
            throw Error("OutOfDeviceMemory",
                        device_->name() + " ran out of memory while computing. " + takeLastLog(),
                        {detailOf("device", device_->name())});
        default:
            device_->markLost();
            throw Error("DeviceLost", device_->name() + " failed while computing. " + takeLastLog(),
                        {detailOf("device", device_->name())});
    }
    progress.finish(call);
}

/** `compute`, waited for and timed where the device profiles. */
void Graph::profile(const Call& call, Progress& progress, const CancelPointer& cancel) {
    if (!boundProfiling_) return compute(call, progress, cancel);
    const auto synchronize = [&] {
        callBackend(device_->name(), [&] { ggml_backend_synchronize(device_->backend()); });
    };
    synchronize();
    const auto begin = std::chrono::steady_clock::now();
    compute(call, progress, cancel);
    synchronize();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const UnitTag& tag = layout_->segments[call.firstSegment].tag;
    if (tag.unit < 0) return;
    for (const auto& store : stores_) {
        if (store.get() == tag.store) store->noteRun(tag.unit, taken.count());
    }
}

void Graph::bindStreamed(const Call& call, const Streamer::Pass::Place* place) {
    callBackend(device_->name(), [&] {
        for (size_t weight : call.leaves) {
            const WeightLeaf& leaf = recording_.weights[weight];
            if (place != nullptr) {
                leaf.store->bindAt(leaf.tensor, leaf.weight, place->buffer, place->base);
            } else {
                WeightStore::unbind(leaf.tensor);
            }
            bindViews(leaf.tensor);
        }
    });
}

void Graph::execute(const RunRequest& request) {
    // Mapped weights are read in this run: a file that was cut meanwhile would end the process.
    const bool all = !schedule_->streamed.empty() || device_->isHost();
    for (const auto& store : stores_) {
        if (all || store->mappedBytes() > 0) store->checkSources();
    }
    Streamer::Pass pass(device_->streamer(), schedule_->streamed, request.cancel);
    Window window(*device_, schedule_->calls.size());
    Progress progress(*layout_, request, device_->threads());
    // Vulkan compares the memory of each node with that of what the calls before it read, until it has
    // synchronized: weights keep their place until then, which is where the next ones come to lie.
    LeavesInPlace inPlace{[this](const Call& call) { bindStreamed(call, nullptr); }};
    for (const Call& call : schedule_->calls) {
        throwIfCancelled(request.cancel);
        if (device_->interrupted()) stopped(request.cancel);
        window.beforeCall();
        if (call.streamed < 0) {
            profile(call, progress, request.cancel);
        } else {
            const auto position = static_cast<size_t>(call.streamed);
            const auto place = pass.acquire(position);
            bindStreamed(call, &place);
            // The CPU computes in this thread: its next copy must be under way before. A GPU is given work
            // first, since copies from pageable memory hold this thread up.
            if (device_->mergesSegments()) pass.prefetch(position);
            profile(call, progress, request.cancel);
            pass.release(position);
            if (device_->mergesSegments()) {
                bindStreamed(call, nullptr);
            } else {
                pass.prefetch(position);
                inPlace.calls.push_back(&call);
            }
        }
        window.afterCall();
    }
    callBackend(device_->name(), [&] { ggml_backend_synchronize(device_->backend()); });
    pass.finish();
}

}  // namespace mizuoto
