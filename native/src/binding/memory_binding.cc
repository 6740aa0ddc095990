// Arena and State.
#include <utility>

#include "async.h"
#include "classes.h"

namespace mizuoto {

const napi_type_tag ArenaBinding::kTag = {0x6d697a756f746f03, 0x9b1f0a6c53e24d03};
const napi_type_tag StateBinding::kTag = {0x6d697a756f746f04, 0x9b1f0a6c53e24d04};

ArenaBinding::~ArenaBinding() {
    if (!core_) return;
    const auto device = core_->device();
    releaseOn(device, std::move(core_));
}

void ArenaBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceAccessor<&ArenaBinding::bytes>("bytes"),
                                    InstanceMethod<&ArenaBinding::trim>("trim"),
                                    InstanceMethod<&ArenaBinding::dispose>("dispose")}));
}

Napi::Value ArenaBinding::bytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->bytes()));
}

Napi::Value ArenaBinding::trim(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return runAsyncVoid(info.Env(), core_->device(), [arena = core_] { arena->trim(); });
    });
}

Napi::Value ArenaBinding::dispose(const Napi::CallbackInfo& info) {
    core_->device()->post([arena = core_] { arena->trim(); });
    return info.Env().Undefined();
}

StateBinding::~StateBinding() {
    if (!core_) return;
    const auto device = core_->device();
    releaseOn(device, std::move(core_));
}

void StateBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceAccessor<&StateBinding::bytes>("bytes"),
                                    InstanceMethod<&StateBinding::read>("read"),
                                    InstanceMethod<&StateBinding::write>("write"),
                                    InstanceMethod<&StateBinding::clear>("clear"),
                                    InstanceMethod<&StateBinding::dispose>("dispose")}));
}

Napi::Value StateBinding::bytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->bytes()));
}

Napi::Value StateBinding::read(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const int index = static_cast<int>(readInteger(info[0], "index", 0, INT32_MAX));
        const ggml_type type = core_->spec(index).type;
        Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(info.Env(), core_->tensorBytes(index));
        auto* target = static_cast<uint8_t*>(buffer.Data());
        return runAsyncVoid(
            info.Env(), core_->device(), [state = core_, index, target] { state->read(index, target); },
            [&](PendingJob& job) {
                job.kept.push_back(Napi::Persistent(buffer.As<Napi::Object>()));
                job.result = [type](Napi::Env env, PendingJob& done) {
                    return typedArray(env, type, done.kept.front().Value().As<Napi::ArrayBuffer>());
                };
            });
    });
}

Napi::Value StateBinding::write(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const int index = static_cast<int>(readInteger(info[0], "index", 0, INT32_MAX));
        auto data = copyTensorData(info[1], core_->spec(index).type, "data");
        const size_t offset =
            isAbsent(info[2]) ? 0
                              : static_cast<size_t>(readInteger(info[2], "byteOffset", 0, kMaxSafeInteger));
        return runAsyncVoid(info.Env(), core_->device(),
                            [state = core_, index, data = std::move(data), offset] {
                                state->write(index, data.data(), data.size(), offset);
                            });
    });
}

Napi::Value StateBinding::clear(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return runAsyncVoid(info.Env(), core_->device(), [state = core_] { state->clear(); });
    });
}

Napi::Value StateBinding::dispose(const Napi::CallbackInfo& info) {
    core_->device()->post([state = core_] { state->dispose(); });
    return info.Env().Undefined();
}

}  // namespace mizuoto
