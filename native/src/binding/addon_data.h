#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../device.h"
#include "dispatcher.h"

namespace mizuoto {

/** Makes the JavaScript value of a finished job, on the JavaScript thread. Owns no JavaScript object. */
using Finish = std::function<Napi::Value(Napi::Env)>;

/** JavaScript's side of a job that runs elsewhere; it never leaves the JavaScript thread. */
struct PendingJob {
    explicit PendingJob(Napi::Promise::Deferred deferred_) : deferred(deferred_) {}

    uint64_t id = 0;
    Napi::Promise::Deferred deferred;
    /** Objects that the job writes to, or that must outlive it. */
    std::vector<Napi::ObjectReference> kept;
    Napi::FunctionReference onProgress;
    /** Runs before the promise settles. */
    std::function<void()> settled;
    /** The value, where it is made of `kept`. */
    std::function<Napi::Value(Napi::Env, PendingJob&)> result;
};

/** What one environment (main thread or worker) holds. */
class AddonData {
  public:
    explicit AddonData(Napi::Env env);
    ~AddonData();
    static AddonData& of(Napi::Env env) { return *env.GetInstanceData<AddonData>(); }

    const std::shared_ptr<Dispatcher>& dispatcher() const { return dispatcher_; }
    /** For work that belongs to no device: opening files. */
    JobQueue& background();
    void adopt(const std::shared_ptr<Device>& device) { devices_.push_back(device); }

    PendingJob& addJob(Napi::Promise::Deferred deferred);
    PendingJob* job(uint64_t id);
    void removeJob(uint64_t id) { jobs_.erase(id); }

    /** Stop every device, wait for its thread, and free what it holds. Idempotent. */
    void end();

    /** Classes, by the address of their type tag. */
    std::unordered_map<const void*, Napi::FunctionReference> constructors;

  private:
    std::shared_ptr<Dispatcher> dispatcher_;
    std::vector<std::weak_ptr<Device>> devices_;
    std::unordered_map<uint64_t, PendingJob> jobs_;
    uint64_t nextJob_ = 1;
    std::unique_ptr<JobQueue> background_;
};

}  // namespace mizuoto
