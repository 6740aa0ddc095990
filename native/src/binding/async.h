#pragma once

#include <functional>
#include <memory>

#include "addon_data.h"
#include "convert.h"

namespace mizuoto {

/**
 * Runs `work` on the device's thread and settles a promise with what the returned function makes of it.
 * `work` may own C++ objects only; JavaScript's are kept in `job`.
 */
Napi::Value runAsync(Napi::Env env, const std::shared_ptr<Device>& device, std::function<Finish()> work,
                     std::function<void(PendingJob&)> prepare = {});

/** The same on the environment's background thread, for work that belongs to no device. */
Napi::Value runInBackground(Napi::Env env, std::function<Finish()> work);

/** `runAsync` for work without a result. */
inline Napi::Value runAsyncVoid(Napi::Env env, const std::shared_ptr<Device>& device,
                                std::function<void()> work, std::function<void(PendingJob&)> prepare = {}) {
    return runAsync(
        env, device,
        [work = std::move(work)]() -> Finish {
            work();
            return [](Napi::Env inner) { return inner.Undefined(); };
        },
        std::move(prepare));
}

/** A promise that is settled already. */
Napi::Value resolved(Napi::Env env, const Napi::Value& value);

}  // namespace mizuoto
