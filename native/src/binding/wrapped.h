#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "../error.h"
#include "addon_data.h"
#include "convert.h"

namespace mizuoto {

/**
 * Base of the classes that JavaScript sees: holds a core object, tagged so that no other object passes for
 * it. `Derived` has `static constexpr const char* kName`, `static const napi_type_tag kTag`.
 */
template <typename Derived, typename Core>
class Wrapped : public Napi::ObjectWrap<Derived> {
  public:
    explicit Wrapped(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Derived>(info) {
        if (info.Length() != 1 || !info[0].IsExternal()) {
            throw Napi::TypeError::New(info.Env(),
                                       std::string(Derived::kName) + " cannot be constructed directly.");
        }
        core_ = *info[0].As<Napi::External<std::shared_ptr<Core>>>().Data();
        info.This().As<Napi::Object>().TypeTag(&Derived::kTag);
    }

    static Napi::Object wrap(Napi::Env env, std::shared_ptr<Core> core) {
        const auto& constructor = AddonData::of(env).constructors.at(&Derived::kTag);
        return constructor.New({Napi::External<std::shared_ptr<Core>>::New(env, &core)});
    }

    /** Throws InvalidArgument for anything but an object of this class. */
    static Derived& from(const Napi::Value& value) {
        if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&Derived::kTag)) {
            throw Error("InvalidArgument", std::string("A ") + Derived::kName + " was expected.",
                        {detailOf("expected", Derived::kName)});
        }
        return *Napi::ObjectWrap<Derived>::Unwrap(value.As<Napi::Object>());
    }

    const std::shared_ptr<Core>& core() const { return core_; }

  protected:
    static void registerClass(Napi::Env env, const Napi::Function& constructor) {
        AddonData::of(env).constructors.emplace(&Derived::kTag, Napi::Persistent(constructor));
    }

    std::shared_ptr<Core> core_;
};

}  // namespace mizuoto
