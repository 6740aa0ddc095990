#include "addon_data.h"

#include <utility>

namespace mizuoto {

AddonData::AddonData(Napi::Env env) : dispatcher_(std::make_shared<Dispatcher>(env)) {
    // Hooks run in reverse: this one before Node ends the dispatcher's function and runs finalizers.
    env.AddCleanupHook([this] { end(); });
}

AddonData::~AddonData() = default;

void AddonData::end() {
    dispatcher_->close();
    // Threads write into JavaScript's buffers until they have stopped.
    for (const auto& weak : devices_) {
        if (const auto device = weak.lock()) device->shutdown();
    }
    devices_.clear();
    background_.reset();
}

JobQueue& AddonData::background() {
    if (!background_) background_ = std::make_unique<JobQueue>();
    return *background_;
}

PendingJob& AddonData::addJob(Napi::Promise::Deferred deferred) {
    const uint64_t id = nextJob_++;
    PendingJob& job = jobs_.emplace(id, PendingJob(deferred)).first->second;
    job.id = id;
    return job;
}

PendingJob* AddonData::job(uint64_t id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
}

}  // namespace mizuoto
