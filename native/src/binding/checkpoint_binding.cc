#include <algorithm>
#include <cstring>
#include <utility>

#include "../job_queue.h"
#include "../processors.h"
#include "async.h"
#include "classes.h"

namespace mizuoto {
namespace {

Napi::Value toJsMetadata(Napi::Env env, const MetadataValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return Napi::String::New(env, *text);
    if (const auto* number = std::get_if<double>(&value)) return Napi::Number::New(env, *number);
    if (const auto* flag = std::get_if<bool>(&value)) return Napi::Boolean::New(env, *flag);
    const auto& items = std::get<std::vector<MetadataItem>>(value);
    Napi::Array array = Napi::Array::New(env, items.size());
    for (size_t i = 0; i < items.size(); ++i) {
        const Napi::HandleScope scope(env);
        const auto position = static_cast<uint32_t>(i);
        if (const auto* text = std::get_if<std::string>(&items[i])) {
            array.Set(position, Napi::String::New(env, *text));
        } else {
            array.Set(position, Napi::Number::New(env, std::get<double>(items[i])));
        }
    }
    return array;
}

/** JavaScript ends the process when it cannot have an array: what is too large is refused before it is asked.
 */
void requireRoom(const CheckpointTensor& tensor, uint64_t bytes) {
    constexpr uint64_t kLargestArray = 0xFFFFFFFF;
    const uint64_t available = hostMemory().availableBytes;
    if (bytes <= kLargestArray && bytes <= available) return;
    throw Error("OutOfHostMemory",
                "The tensor " + tensor.name + " takes " + std::to_string(bytes) +
                    " bytes as an array; at most " + std::to_string(std::min(kLargestArray, available)) +
                    " can be had. Use it in a weight store instead, which reads it where it lies.",
                {detailOf("tensor", tensor.name), detailOf("needed", static_cast<double>(bytes)),
                 detailOf("available", static_cast<double>(std::min(kLargestArray, available)))});
}

/** As an own property whatever the key: `__proto__` and keys with NUL come from files. */
void defineProperty(Napi::Object object, const std::string& key, Napi::Value value) {
    const Napi::Env env = object.Env();
    const napi_property_descriptor property = {
        nullptr, Napi::String::New(env, key), nullptr, nullptr, nullptr,
        value,   napi_default_jsproperty,     nullptr};
    const napi_status status = napi_define_properties(env, object, 1, &property);
    if (status != napi_ok) throw Napi::Error::New(env);
}

}  // namespace

const napi_type_tag CheckpointBinding::kTag = {0x6d697a756f746f06, 0x9b1f0a6c53e24d06};

void CheckpointBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceAccessor<&CheckpointBinding::format>("format"),
                                    InstanceAccessor<&CheckpointBinding::files>("files"),
                                    InstanceAccessor<&CheckpointBinding::tensors>("tensors"),
                                    InstanceAccessor<&CheckpointBinding::metadata>("metadata"),
                                    InstanceMethod<&CheckpointBinding::readBytes>("readBytes"),
                                    InstanceMethod<&CheckpointBinding::readFloat32>("readFloat32"),
                                    InstanceMethod<&CheckpointBinding::firstNonFinite>("firstNonFinite"),
                                    InstanceMethod<&CheckpointBinding::close>("close")}));
}

Napi::Value CheckpointBinding::open(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const Napi::Array array = readArray(info[0], "paths");
        std::vector<std::string> paths;
        for (uint32_t i = 0; i < array.Length(); ++i) paths.push_back(readString(array.Get(i), "paths"));
        return runInBackground(info.Env(), [paths = std::move(paths)]() -> Finish {
            const auto checkpoint = Checkpoint::open(paths);
            return [checkpoint](Napi::Env env) { return wrap(env, checkpoint); };
        });
    });
}

const std::shared_ptr<const Checkpoint>& CheckpointBinding::requireOpen() const {
    if (!core_) throw Error("Disposed", "The checkpoint is closed.");
    return core_;
}

Napi::Value CheckpointBinding::format(const Napi::CallbackInfo& info) {
    return guarded(info.Env(),
                   [&] { return Napi::String::New(info.Env(), formatName(requireOpen()->format())); });
}

Napi::Value CheckpointBinding::files(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& files = requireOpen()->files();
        Napi::Array array = Napi::Array::New(info.Env(), files.size());
        for (size_t i = 0; i < files.size(); ++i) {
            array.Set(static_cast<uint32_t>(i), Napi::String::New(info.Env(), files[i]));
        }
        return array;
    });
}

Napi::Value CheckpointBinding::tensors(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const Napi::Env env = info.Env();
        const auto& tensors = requireOpen()->tensors();
        Napi::Array array = Napi::Array::New(env, tensors.size());
        for (size_t i = 0; i < tensors.size(); ++i) {
            const Napi::HandleScope scope(env);
            Napi::Object object = Napi::Object::New(env);
            object.Set("name", Napi::String::New(env, tensors[i].name));
            object.Set("dtype", Napi::String::New(env, dtypeName(tensors[i].dtype)));
            object.Set("shape", toJs(env, tensors[i].shape));
            object.Set("bytes", Napi::Number::New(env, static_cast<double>(tensors[i].bytes)));
            object.Set("file", Napi::Number::New(env, tensors[i].file));
            array.Set(static_cast<uint32_t>(i), object);
        }
        return array;
    });
}

Napi::Value CheckpointBinding::metadata(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        Napi::Object object = Napi::Object::New(info.Env());
        for (const auto& [key, value] : requireOpen()->metadata()) {
            const Napi::HandleScope scope(info.Env());
            defineProperty(object, key, toJsMetadata(info.Env(), value));
        }
        return object;
    });
}

Napi::Value CheckpointBinding::readBytes(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const CheckpointTensor& tensor = requireOpen()->at(readString(info[0], "name"));
        requireRoom(tensor, tensor.bytes);
        core_->checkUnchanged();
        Napi::Uint8Array array = Napi::Uint8Array::New(info.Env(), tensor.bytes);
        std::memcpy(array.Data(), tensor.data, tensor.bytes);
        return array;
    });
}

Napi::Value CheckpointBinding::readFloat32(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const CheckpointTensor& tensor = requireOpen()->at(readString(info[0], "name"));
        requireRoom(tensor, tensor.elements * sizeof(float));
        Napi::Float32Array array = Napi::Float32Array::New(info.Env(), tensor.elements);
        core_->readFloat32(tensor, array.Data());
        return array;
    });
}

Napi::Value CheckpointBinding::firstNonFinite(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& checkpoint = requireOpen();
        const CheckpointTensor& tensor = checkpoint->at(readString(info[0], "name"));
        return runInBackground(info.Env(), [checkpoint, &tensor]() -> Finish {
            const std::optional<uint64_t> found = checkpoint->firstNonFinite(tensor);
            return [found](Napi::Env env) -> Napi::Value {
                if (!found) return env.Null();
                return Napi::Number::New(env, static_cast<double>(*found));
            };
        });
    });
}

Napi::Value CheckpointBinding::close(const Napi::CallbackInfo& info) {
    core_.reset();
    return info.Env().Undefined();
}

}  // namespace mizuoto
