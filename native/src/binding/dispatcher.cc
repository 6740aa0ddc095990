#include "dispatcher.h"

#include <utility>

namespace mizuoto {

Dispatcher::Dispatcher(Napi::Env env) : env_(env) {
    const Napi::String name = Napi::String::New(env, "mizuoto");
    const napi_status status = napi_create_threadsafe_function(
        env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, &Dispatcher::call, &function_);
    if (status != napi_ok) throw Napi::Error::New(env, "Cannot make the addon's dispatcher.");
    napi_unref_threadsafe_function(env, function_);
}

void Dispatcher::post(std::function<void(Napi::Env)> task) {
    auto* data = new std::function<void(Napi::Env)>(std::move(task));
    {
        const std::lock_guard lock(mutex_);
        if (function_ != nullptr) {
            const napi_status status = napi_call_threadsafe_function(function_, data, napi_tsfn_nonblocking);
            if (status == napi_ok) return;
            // Node takes the function back once it answers "closing".
            if (status == napi_closing) function_ = nullptr;
        }
    }
    delete data;
}

void Dispatcher::began() {
    if (pending_++ == 0 && function_ != nullptr) napi_ref_threadsafe_function(env_, function_);
}

void Dispatcher::ended() {
    if (--pending_ == 0 && function_ != nullptr) napi_unref_threadsafe_function(env_, function_);
}

void Dispatcher::close() {
    const std::lock_guard lock(mutex_);
    if (function_ != nullptr) napi_release_threadsafe_function(function_, napi_tsfn_abort);
    function_ = nullptr;
}

void Dispatcher::call(napi_env env, napi_value, void*, void* data) {
    const std::unique_ptr<std::function<void(Napi::Env)>> task(
        static_cast<std::function<void(Napi::Env)>*>(data));
    if (env == nullptr) return;
    try {
        (*task)(Napi::Env(env));
    } catch (const Napi::Error& error) {
        error.ThrowAsJavaScriptException();
    }
}

}  // namespace mizuoto
