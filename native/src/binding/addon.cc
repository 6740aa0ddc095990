// The module: native/addon.ts describes what it exports.
#include <napi.h>

#include "../backends.h"
#include "../processors.h"
#include "async.h"
#include "classes.h"

namespace mizuoto {
namespace {

constexpr const char* kAddonVersion = "1.0.0";

Napi::Value load(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        loadBackends(readString(info[0], "folder"));
        return info.Env().Undefined();
    });
}

Napi::Value devices(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto list = listDevices();
        Napi::Array array = Napi::Array::New(info.Env(), list.size());
        for (size_t i = 0; i < list.size(); ++i)
            array.Set(static_cast<uint32_t>(i), toJs(info.Env(), list[i]));
        return array;
    });
}

Napi::Value createCancelToken(const Napi::CallbackInfo& info) {
    return guarded(info.Env(),
                   [&] { return CancelBinding::wrap(info.Env(), std::make_shared<CancelFlag>()); });
}

Napi::Value bytesOf(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const ggml_type type = dtypeFromName(readString(info[0], "dtype"));
        const Shape shape = readShape(info[1], "shape");
        checkShape(type, shape, "A tensor");
        return Napi::Number::New(info.Env(), static_cast<double>(tensorBytes(type, shape)));
    });
}

Napi::Value memory(const Napi::CallbackInfo& info) {
    const HostMemory now = hostMemory();
    Napi::Object object = Napi::Object::New(info.Env());
    object.Set("totalBytes", Napi::Number::New(info.Env(), static_cast<double>(now.totalBytes)));
    object.Set("availableBytes", Napi::Number::New(info.Env(), static_cast<double>(now.availableBytes)));
    object.Set("processBytes", Napi::Number::New(info.Env(), static_cast<double>(now.processBytes)));
    return object;
}

/** `process.exit` destroys ggml's static objects while threads may be using them, and runs no cleanup hook
 * before. */
void endBeforeExit(Napi::Env env) {
    const Napi::Value global = env.Global().Get("process");
    if (!global.IsObject()) return;
    const Napi::Object process = global.As<Napi::Object>();
    if (!process.Get("once").IsFunction()) return;
    const auto end =
        Napi::Function::New(env, [](const Napi::CallbackInfo& info) { AddonData::of(info.Env()).end(); });
    process.Get("once").As<Napi::Function>().Call(process, {Napi::String::New(env, "exit"), end});
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
    env.SetInstanceData(new AddonData(env));
    endBeforeExit(env);
    CancelBinding::define(env);
    DeviceBinding::define(env);
    ArenaBinding::define(env);
    StateBinding::define(env);
    CheckpointBinding::define(env);
    WeightStoreBinding::define(env);
    RecorderBinding::define(env);
    GraphBinding::define(env);

    Napi::Object versions = Napi::Object::New(env);
    versions.Set("addon", Napi::String::New(env, kAddonVersion));
    versions.Set("ggml", Napi::String::New(env, ggml_version()));
    versions.Set("napi", Napi::Number::New(env, NAPI_VERSION));
    exports.Set("versions", versions);
    exports.Set("loadBackends", Napi::Function::New<load>(env, "loadBackends"));
    exports.Set("devices", Napi::Function::New<devices>(env, "devices"));
    exports.Set("openDevice", Napi::Function::New<DeviceBinding::open>(env, "openDevice"));
    exports.Set("openCheckpoint", Napi::Function::New<CheckpointBinding::open>(env, "openCheckpoint"));
    exports.Set("createWeightStore",
                Napi::Function::New<WeightStoreBinding::create>(env, "createWeightStore"));
    exports.Set("createRecorder", Napi::Function::New<RecorderBinding::create>(env, "createRecorder"));
    exports.Set("createCancelToken", Napi::Function::New<createCancelToken>(env, "createCancelToken"));
    exports.Set("tensorBytes", Napi::Function::New<bytesOf>(env, "tensorBytes"));
    exports.Set("hostMemory", Napi::Function::New<memory>(env, "hostMemory"));
    return exports;
}

}  // namespace
}  // namespace mizuoto

Napi::Object initMizuoto(Napi::Env env, Napi::Object exports) {
    return mizuoto::init(env, exports);
}

NODE_API_MODULE(mizuoto, initMizuoto)
