#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

namespace mizuoto {

/**
 * Brings results from device threads to the JavaScript thread of one environment. Keeps the event loop alive
 * while work is pending, and drops everything once the environment ends.
 */
class Dispatcher {
  public:
    explicit Dispatcher(Napi::Env env);

    /** From any thread. The task is dropped, on the caller's thread, when the environment has ended. */
    void post(std::function<void(Napi::Env)> task);
    /** From the JavaScript thread: pending work begins, ends. */
    void began();
    void ended();
    /** From the JavaScript thread, when the environment ends. */
    void close();

  private:
    static void call(napi_env env, napi_value, void*, void* data);

    napi_env env_;
    std::mutex mutex_;
    napi_threadsafe_function function_ = nullptr;
    size_t pending_ = 0;
};

}  // namespace mizuoto
