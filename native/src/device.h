#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "backends.h"
#include "cancel.h"
#include "faults.h"
#include "ggml-backend.h"
#include "job_queue.h"
#include "ledger.h"
#include "thread_policy.h"

namespace mizuoto {

class Device;
class HostImports;
class HostLocks;
class Streamer;

struct DeviceOptions {
    std::string name;
    int threads = 0;
    std::optional<uint64_t> simulateBytes;
    uint64_t foreignBytes = 0;
    /** The simulated device shares the memory of the processor, as an integrated GPU does. */
    bool unified = false;
    double linkBytesPerSecond = 0;
    /** Read host memory in place where ggml's backend can and does not say so (Vulkan). */
    bool importHostMemory = false;
    /** The simulated device page-locks host memory where it lies, as CUDA does. */
    bool locksHostMemory = false;
    /** On a CPU backend, the number of threads stays. */
    bool fixedThreads = false;
};

/** Something that owns memory of a device, and must let go of it when the device closes. */
class DeviceResource {
  public:
    DeviceResource(const DeviceResource&) = delete;
    DeviceResource& operator=(const DeviceResource&) = delete;

    virtual void releaseDeviceMemory() = 0;

  protected:
    /** `enroll` and `retire` are called by the derived class, which is complete then. */
    DeviceResource() = default;
    ~DeviceResource() = default;
};

/** One buffer, on the ledger as long as it lives. */
class DeviceBuffer final : public DeviceResource {
  public:
    ~DeviceBuffer();

    ggml_backend_buffer_t get() const { return buffer_; }
    uint8_t* base() const { return static_cast<uint8_t*>(ggml_backend_buffer_get_base(buffer_)); }
    size_t bytes() const { return bytes_; }
    void releaseDeviceMemory() override;

  private:
    friend class Device;
    DeviceBuffer(std::shared_ptr<Device> device, Purpose purpose, ggml_backend_buffer_t buffer, size_t bytes);

    std::shared_ptr<Device> device_;
    Purpose purpose_;
    ggml_backend_buffer_t buffer_;
    size_t bytes_;
};

/**
 * One ggml device, opened: its backend, its thread, its ledger. Everything that touches the backend runs on
 * the device's thread; what JavaScript asks without waiting (memory, caps) is safe from any thread.
 */
class Device : public std::enable_shared_from_this<Device> {
  public:
    static std::shared_ptr<Device> create(DeviceOptions options);
    /** On the device's thread, once. Throws DeviceNotFound, BackendMissing, InvalidArgument,
     * OutOfDeviceMemory. */
    void open();
    ~Device();

    const std::string& name() const { return name_; }
    const std::string& kind() const { return kind_; }
    bool simulated() const { return simulated_; }
    /** Weights are used where they lie in host memory. */
    bool isHost() const { return isHost_; }
    /** Weights can be read where they lie in host memory, by imports of whole pages. */
    bool mapsHostMemory() const { return mapsHostMemory_; }
    /** Of an address that is read in place. */
    size_t importAlignment() const { return computesOnCpu_ ? 1 : alignment_; }
    /** Plain or as a simulated device: kernels of ours can run on it. */
    bool computesOnCpu() const { return computesOnCpu_; }
    /** One call may span segments: fusion on this backend does not change rounding. */
    bool mergesSegments() const { return computesOnCpu_; }
    const DeviceCaps& caps() const { return caps_; }
    double linkBytesPerSecond() const { return options_.linkBytesPerSecond; }
    DeviceInfo info() const;

    ggml_backend_dev_t handle() const { return handle_; }
    ggml_backend_t backend() const { return backend_; }
    ggml_backend_buffer_type_t bufferType() const { return bufferType_; }
    size_t alignment() const { return alignment_; }
    size_t maxBufferBytes() const { return maxBufferBytes_; }
    /** The driver survives no destroyed buffers: see KeptObjects. */
    bool keepsMemory() const { return keepsMemory_; }
    /** After a call failed half-way, its instance of the backend cannot be trusted: take a new one. */
    void renewBackend();
    /** A further instance of the backend, and its return. Null when there is none. */
    ggml_backend_t openBackend() const;
    void closeBackend(ggml_backend_t backend) const;

    Ledger& ledger() { return ledger_; }
    Faults& faults() { return faults_; }

    /** On the device's thread. Throws OutOfDeviceMemory, DeviceLost, Disposed. */
    std::unique_ptr<DeviceBuffer> allocate(Purpose purpose, size_t bytes, ggml_backend_buffer_usage usage);
    /** For memory that ggml's graph allocator takes itself: `body` allocates and answers whether it could. */
    void accountedAllocation(Purpose purpose, size_t bytes, const std::function<bool()>& body);

    /** From construction to destruction of the resource. `retire` releases it unless `close` did. */
    void enroll(DeviceResource* resource);
    void retire(DeviceResource* resource);

    /** Throws Disposed or DeviceLost. */
    void requireUsable() const;
    void markLost() { lost_.store(true); }
    bool lost() const { return lost_.load(); }

    /**
     * Runs a job on the device's thread. After `shutdown` it runs on the caller's, so that owners can always
     * release what they hold.
     */
    void post(std::function<void()> job) { queue_.post(std::move(job)); }

    /** Stop what runs, as soon as its next segment, copy or (CPU) node ends. */
    void interrupt() { interrupted_.store(true); }
    bool interrupted() const { return interrupted_.load(); }

    /** On the device's thread: frees every buffer. The device is Disposed from then on. */
    void close();
    bool closed() const { return closed_.load(); }
    /** From the owner's thread: interrupt, run what is queued, close, end the thread. Idempotent. */
    void shutdown();

    /** Threads of a CPU backend are told to stop by this; called after every node of a graph. */
    struct NodeObserver {
        virtual bool keepGoing() = 0;

      protected:
        ~NodeObserver() = default;
    };
    void observeNodes(NodeObserver* observer) { observer_ = observer; }

    /** While on, each segment is a call of its own, waited for and timed. Any thread. */
    void setProfiling(bool on) { profiling_.store(on); }
    bool profiling() const { return profiling_.load(); }

    /** Null where the backend is no CPU's. */
    ThreadPolicy* threads() const { return threads_.get(); }

    Streamer& streamer() { return *streamer_; }
    HostImports& imports() { return *imports_; }
    /** Null where host memory cannot be page-locked in place. */
    const std::shared_ptr<HostLocks>& hostLocks() const { return hostLocks_; }

  private:
    explicit Device(DeviceOptions options);
    static bool onNode(void* device);
    void configureCpu();
    Error outOfMemory(size_t bytes, const std::string& why) const;

    DeviceOptions options_;
    std::string name_;
    std::string kind_;
    bool simulated_ = false;
    bool isHost_ = false;
    bool computesOnCpu_ = false;
    bool mapsHostMemory_ = false;
    std::atomic<bool> profiling_{false};
    bool keepsMemory_ = false;
    DeviceCaps caps_;
    ggml_backend_dev_t handle_ = nullptr;
    ggml_backend_t backend_ = nullptr;
    std::unique_ptr<ThreadPolicy> threads_;
    ggml_threadpool_t threadpool_ = nullptr;
    void (*freeThreadpool_)(ggml_threadpool_t) = nullptr;
    ggml_backend_buffer_type_t bufferType_ = nullptr;
    size_t alignment_ = 1;
    size_t maxBufferBytes_ = SIZE_MAX;

    Ledger ledger_;
    Faults faults_;
    std::atomic<bool> lost_{false};
    std::atomic<bool> closed_{false};
    std::atomic<bool> interrupted_{false};
    NodeObserver* observer_ = nullptr;

    std::unique_ptr<Streamer> streamer_;
    std::unique_ptr<HostImports> imports_;
    std::shared_ptr<HostLocks> hostLocks_;

    std::mutex resourcesMutex_;
    std::unordered_set<DeviceResource*> resources_;

    // Last: its thread uses everything above.
    JobQueue queue_;
};

}  // namespace mizuoto
