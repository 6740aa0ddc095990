#include "async.h"

#include <optional>
#include <utility>

namespace mizuoto {
namespace {

void settle(Napi::Env env, uint64_t id, const std::optional<Error>& failure, const Finish& finish) {
    AddonData& data = AddonData::of(env);
    PendingJob* job = data.job(id);
    if (job == nullptr) return;
    data.dispatcher()->ended();
    if (job->settled) job->settled();
    const Napi::Promise::Deferred deferred = job->deferred;
    try {
        if (failure) {
            deferred.Reject(toJs(env, *failure).Value());
        } else {
            deferred.Resolve(job->result ? job->result(env, *job) : finish(env));
        }
    } catch (const Napi::Error& error) {
        deferred.Reject(error.Value());
    } catch (...) {
        deferred.Reject(toJs(env, currentError()).Value());
    }
    data.removeJob(id);
}

Napi::Value start(Napi::Env env, std::function<Finish()> work,
                  const std::function<void(PendingJob&)>& prepare,
                  const std::function<void(std::function<void()>)>& post) {
    AddonData& data = AddonData::of(env);
    PendingJob& job = data.addJob(Napi::Promise::Deferred::New(env));
    if (prepare) prepare(job);
    data.dispatcher()->began();
    const Napi::Value promise = job.deferred.Promise();
    post([dispatcher = data.dispatcher(), id = job.id, work = std::move(work)] {
        std::optional<Error> failure;
        Finish finish;
        try {
            finish = work();
        } catch (...) {
            failure = currentError();
        }
        dispatcher->post([id, failure = std::move(failure), finish = std::move(finish)](Napi::Env inner) {
            settle(inner, id, failure, finish);
        });
    });
    return promise;
}

}  // namespace

Napi::Value runAsync(Napi::Env env, const std::shared_ptr<Device>& device, std::function<Finish()> work,
                     std::function<void(PendingJob&)> prepare) {
    return start(env, std::move(work), prepare,
                 [device](std::function<void()> job) { device->post(std::move(job)); });
}

Napi::Value runInBackground(Napi::Env env, std::function<Finish()> work) {
    return start(env, std::move(work), {},
                 [env](std::function<void()> job) { AddonData::of(env).background().post(std::move(job)); });
}

Napi::Value resolved(Napi::Env env, const Napi::Value& value) {
    const Napi::Promise::Deferred deferred = Napi::Promise::Deferred::New(env);
    deferred.Resolve(value);
    return deferred.Promise();
}

}  // namespace mizuoto
