#include "device.h"

#include <utility>

#include "error.h"
#include "host_import.h"
#include "host_lock.h"
#include "kept_objects.h"
#include "processors.h"
#include "software_vulkan.h"
#include "streamer.h"

namespace mizuoto {
namespace {

// ggml's registry keeps devices for the life of the process; so do these.
KeptObjects<ggml_backend_buffer_t> keptBuffers;
KeptObjects<ggml_backend_t> keptBackends;

}  // namespace

DeviceBuffer::DeviceBuffer(std::shared_ptr<Device> device, Purpose purpose, ggml_backend_buffer_t buffer,
                           size_t bytes)
    : device_(std::move(device)), purpose_(purpose), buffer_(buffer), bytes_(bytes) {
    device_->enroll(this);
}

DeviceBuffer::~DeviceBuffer() {
    device_->retire(this);
}

void DeviceBuffer::releaseDeviceMemory() {
    if (buffer_ == nullptr) return;
    if (device_->keepsMemory()) {
        keptBuffers.keep(device_->bufferType(), ggml_backend_buffer_get_size(buffer_), buffer_);
    } else {
        ggml_backend_buffer_free(buffer_);
    }
    buffer_ = nullptr;
    device_->ledger().release(purpose_, bytes_);
}

Device::Device(DeviceOptions options)
    : options_(std::move(options)),
      name_(options_.name),
      simulated_(options_.simulateBytes.has_value()),
      streamer_(std::make_unique<Streamer>(*this, options_.linkBytesPerSecond)),
      imports_(std::make_unique<HostImports>(*this)) {}

std::shared_ptr<Device> Device::create(DeviceOptions options) {
    return std::shared_ptr<Device>(new Device(std::move(options)));
}

Device::~Device() {
    // Whoever drops the last reference: no job is left, and no buffer, since both own the device.
    close();
    queue_.stop();
}

void Device::open() {
    handle_ = findDevice(name_);
    const DeviceInfo info = describeDevice(handle_);
    kind_ = info.kind;
    caps_ = info.caps;
    computesOnCpu_ = ggml_backend_dev_type(handle_) == GGML_BACKEND_DEVICE_TYPE_CPU;
    if (simulated_ && !computesOnCpu_) {
        throw Error("InvalidArgument", "Only the CPU can play another device; " + name_ + " is not one.",
                    {detailOf("device", name_)});
    }
    isHost_ = computesOnCpu_ && !simulated_;
    // ggml-vulkan can import, but says that it cannot, because it may be slower: whoever asks knows. Other
    // backends that say no have no function for it.
    mapsHostMemory_ =
        !isHost_ && (caps_.bufferFromHostPtr || (options_.importHostMemory && info.backend == "Vulkan"));
    if (simulated_) {
        kind_ = options_.unified ? "igpu" : "gpu";
        ledger_.limit(*options_.simulateBytes);
        ledger_.setForeign(options_.foreignBytes);
    }
    keepsMemory_ = info.description.find("llvmpipe") != std::string::npos;
    if (keepsMemory_) keepDestroyedBuffers(handle_);
    backend_ = openBackend();
    if (backend_ == nullptr) {
        throw Error("DeviceLost", name_ + " cannot be opened. " + takeLastLog(), {detailOf("device", name_)});
    }
    bufferType_ = ggml_backend_dev_buffer_type(handle_);
    alignment_ = ggml_backend_buft_get_alignment(bufferType_);
    if (!simulated_) {
        hostLocks_ = hostLocksOf(ggml_backend_dev_backend_reg(handle_));
    } else if (options_.locksHostMemory) {
        hostLocks_ = std::make_shared<HostLocks>(HostLocking::simulated());
    }
    maxBufferBytes_ = ggml_backend_buft_get_max_size(bufferType_);
    if (computesOnCpu_) configureCpu();
}

ggml_backend_t Device::openBackend() const {
    if (keepsMemory_) {
        if (const auto kept = keptBackends.take(handle_, 0)) return *kept;
    }
    ggml_backend_t backend = nullptr;
    callBackend(name_, [&] { backend = ggml_backend_dev_init(handle_, nullptr); });
    return backend;
}

void Device::renewBackend() {
    try {
        ggml_backend_t fresh = nullptr;
        callBackend(name_, [&] { fresh = ggml_backend_dev_init(handle_, nullptr); });
        if (fresh == nullptr) return markLost();
        ggml_backend_t spoilt = std::exchange(backend_, fresh);
        try {
            callBackend(name_, [&] { ggml_backend_synchronize(spoilt); });
        } catch (const Error&) {
            // What was submitted before the failure has ended, or the device is lost and says so below.
        }
        // Events still point into the old instance.
        streamer_->restart();
        callBackend(name_, [&] { ggml_backend_free(spoilt); });
    } catch (const Error&) {
        markLost();
    }
}

void Device::closeBackend(ggml_backend_t backend) const {
    // A lost instance is of no use to the next taker.
    if (keepsMemory_ && !lost()) return keptBackends.keep(handle_, 0, backend);
    ggml_backend_free(backend);
}

void Device::configureCpu() {
    const int threads = options_.threads > 0 ? options_.threads : physicalCores();
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(handle_);
    const auto address = [&](const char* symbol) {
        return ggml_backend_reg_get_proc_address(registry, symbol);
    };

    const auto setThreads =
        reinterpret_cast<ggml_backend_set_n_threads_t>(address("ggml_backend_set_n_threads"));
    if (setThreads != nullptr) {
        threads_ = std::make_unique<ThreadPolicy>(
            threads, options_.fixedThreads, [this, setThreads](int count) { setThreads(backend_, count); });
    }

    const auto setAbort =
        reinterpret_cast<ggml_backend_set_abort_callback_t>(address("ggml_backend_set_abort_callback"));
    if (setAbort != nullptr) setAbort(backend_, &Device::onNode, this);

    // Without a pool of its own, the backend starts threads anew for every segment.
    const auto newPool =
        reinterpret_cast<ggml_threadpool_t (*)(ggml_threadpool_params*)>(address("ggml_threadpool_new"));
    const auto setPool = reinterpret_cast<void (*)(ggml_backend_t, ggml_threadpool_t)>(
        address("ggml_backend_cpu_set_threadpool"));
    freeThreadpool_ = reinterpret_cast<void (*)(ggml_threadpool_t)>(address("ggml_threadpool_free"));
    if (newPool == nullptr || setPool == nullptr || freeThreadpool_ == nullptr || threads < 2) return;
    ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    params.poll = 0;
    threadpool_ = newPool(&params);
    if (threadpool_ != nullptr) setPool(backend_, threadpool_);
}

bool Device::onNode(void* device) {
    auto* self = static_cast<Device*>(device);
    if (self->interrupted()) return true;
    return self->observer_ != nullptr && !self->observer_->keepGoing();
}

DeviceInfo Device::info() const {
    DeviceInfo info = describeDevice(handle_);
    info.kind = kind_;
    if (const auto memory = ledger_.simulatedFreeAndTotal()) {
        info.freeBytes = memory->first;
        info.totalBytes = memory->second;
        info.description = "Simulated device on " + info.description;
    }
    return info;
}

void Device::requireUsable() const {
    if (closed() || interrupted()) {
        throw Error("Disposed", "The device " + name_ + " is closed.", {detailOf("device", name_)});
    }
    if (lost()) {
        throw Error("DeviceLost", "The device " + name_ + " was lost. Close it and open it again.",
                    {detailOf("device", name_)});
    }
}

Error Device::outOfMemory(size_t bytes, const std::string& why) const {
    const DeviceInfo now = info();
    std::string message = name_ + " cannot give " + bytesText(bytes) + "; it reports " +
                          bytesText(now.freeBytes) + " free of " + bytesText(now.totalBytes) + ".";
    if (!why.empty()) message += " " + why;
    return Error("OutOfDeviceMemory", message,
                 {detailOf("device", name_), detailOf("needed", bytes), detailOf("available", now.freeBytes),
                  detailOf("total", now.totalBytes)});
}

void Device::accountedAllocation(Purpose purpose, size_t bytes, const std::function<bool()>& body) {
    requireUsable();
    if (faults_.allocationFails()) throw outOfMemory(bytes, "(ordered failure)");
    ledger_.reserve(purpose, bytes, name_);
    try {
        bool allocated = false;
        callBackend(name_, [&] { allocated = body(); });
        if (!allocated) throw outOfMemory(bytes, takeLastLog());
    } catch (...) {
        ledger_.release(purpose, bytes);
        throw;
    }
}

std::unique_ptr<DeviceBuffer> Device::allocate(Purpose purpose, size_t bytes,
                                               ggml_backend_buffer_usage usage) {
    ggml_backend_buffer_t buffer = nullptr;
    accountedAllocation(purpose, bytes, [&] {
        if (keepsMemory_) buffer = keptBuffers.take(bufferType_, bytes).value_or(nullptr);
        if (buffer == nullptr) buffer = ggml_backend_buft_alloc_buffer(bufferType_, bytes);
        return buffer != nullptr;
    });
    ggml_backend_buffer_set_usage(buffer, usage);
    return std::unique_ptr<DeviceBuffer>(new DeviceBuffer(shared_from_this(), purpose, buffer, bytes));
}

void Device::enroll(DeviceResource* resource) {
    const std::lock_guard lock(resourcesMutex_);
    resources_.insert(resource);
}

void Device::retire(DeviceResource* resource) {
    const std::lock_guard lock(resourcesMutex_);
    resources_.erase(resource);
    resource->releaseDeviceMemory();
}

void Device::close() {
    if (closed_.exchange(true)) return;
    if (backend_ != nullptr) {
        try {
            callBackend(name_, [&] { ggml_backend_synchronize(backend_); });
        } catch (const Error&) {
            markLost();
        }
    }
    streamer_->drop();
    {
        const std::lock_guard lock(resourcesMutex_);
        for (DeviceResource* resource : resources_) resource->releaseDeviceMemory();
    }
    if (backend_ != nullptr) closeBackend(backend_);
    if (threadpool_ != nullptr) freeThreadpool_(threadpool_);
    backend_ = nullptr;
    threadpool_ = nullptr;
}

void Device::shutdown() {
    interrupt();
    post([this] { close(); });
    queue_.stop();
}

}  // namespace mizuoto
