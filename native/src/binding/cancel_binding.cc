#include "classes.h"

namespace mizuoto {

const napi_type_tag CancelBinding::kTag = {0x6d697a756f746f01, 0x9b1f0a6c53e24d01};

void CancelBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceMethod<&CancelBinding::cancel>("cancel"),
                                    InstanceAccessor<&CancelBinding::cancelled>("cancelled")}));
}

CancelPointer CancelBinding::optional(const Napi::Value& value) {
    return isAbsent(value) ? nullptr : CancelPointer(from(value).core());
}

Napi::Value CancelBinding::cancel(const Napi::CallbackInfo& info) {
    core_->cancel();
    return info.Env().Undefined();
}

Napi::Value CancelBinding::cancelled(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), core_->cancelled());
}

}  // namespace mizuoto
