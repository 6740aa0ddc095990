#include <tuple>
#include <utility>

#include "../checkpoint/reorder.h"
#include "../streamer.h"
#include "async.h"
#include "classes.h"

namespace mizuoto {
namespace {

std::vector<int64_t> readOrder(const Napi::Value& value) {
    const Napi::Array array = readArray(value, "source.order");
    std::vector<int64_t> order;
    for (uint32_t i = 0; i < array.Length(); ++i) {
        order.push_back(readInteger(array.Get(i), "source.order", 0, kMaxRank - 1));
    }
    return order;
}

WeightSpec readSpec(const Napi::Value& value) {
    const Napi::Object object = readObject(value, "weights");
    WeightSpec spec;
    spec.name = readString(object.Get("name"), "name");
    spec.shape = readShape(object.Get("shape"), "shape");
    spec.type = dtypeFromName(readString(object.Get("dtype"), "dtype"));
    spec.unit = static_cast<int>(readInteger(object.Get("unit"), "unit", -1, INT32_MAX));
    const Napi::Object source = readObject(object.Get("source"), "source");
    if (const Napi::Value checkpoint = source.Get("checkpoint"); !isAbsent(checkpoint)) {
        spec.source.checkpoint = CheckpointBinding::from(checkpoint).requireOpen();
        spec.source.tensor = &spec.source.checkpoint->at(readString(source.Get("tensor"), "source.tensor"));
        if (const Napi::Value order = source.Get("order"); !isAbsent(order)) {
            std::tie(spec.source.checkpoint, spec.source.tensor) =
                reordered(spec.source.checkpoint, *spec.source.tensor, readOrder(order));
        }
    } else {
        spec.source.data = copyTensorData(source.Get("data"), spec.type, "source.data");
    }
    return spec;
}

int readUnit(const Napi::Value& value) {
    return static_cast<int>(readInteger(value, "unit", -1, INT32_MAX));
}

/** Work on a store keeps it bound where it is until it has ended. */
std::function<void(PendingJob&)> announce(const std::shared_ptr<WeightStore>& store) {
    return [store](PendingJob& job) {
        store->announceWork(1);
        job.settled = [store] { store->announceWork(-1); };
    };
}

}  // namespace

const napi_type_tag WeightStoreBinding::kTag = {0x6d697a756f746f05, 0x9b1f0a6c53e24d05};

WeightStoreBinding::~WeightStoreBinding() {
    if (!core_ || !core_->device()) return;
    const auto device = core_->device();
    releaseOn(device, std::move(core_));
}

void WeightStoreBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceAccessor<&WeightStoreBinding::id>("id"),
                                    InstanceAccessor<&WeightStoreBinding::component>("component"),
                                    InstanceAccessor<&WeightStoreBinding::unitCount>("unitCount"),
                                    InstanceMethod<&WeightStoreBinding::unitBytes>("unitBytes"),
                                    InstanceAccessor<&WeightStoreBinding::fixedBytes>("fixedBytes"),
                                    InstanceAccessor<&WeightStoreBinding::ownedHostBytes>("ownedHostBytes"),
                                    InstanceMethod<&WeightStoreBinding::ownedBytes>("ownedBytes"),
                                    InstanceAccessor<&WeightStoreBinding::mappedBytes>("mappedBytes"),
                                    InstanceAccessor<&WeightStoreBinding::streamedBytes>("streamedBytes"),
                                    InstanceMethod<&WeightStoreBinding::unitStats>("unitStats"),
                                    InstanceMethod<&WeightStoreBinding::dropHost>("dropHost"),
                                    InstanceMethod<&WeightStoreBinding::bind>("bind"),
                                    InstanceMethod<&WeightStoreBinding::place>("place"),
                                    InstanceMethod<&WeightStoreBinding::unplace>("unplace"),
                                    InstanceMethod<&WeightStoreBinding::isPlaced>("isPlaced"),
                                    InstanceMethod<&WeightStoreBinding::replace>("replace"),
                                    InstanceMethod<&WeightStoreBinding::pin>("pin"),
                                    InstanceMethod<&WeightStoreBinding::unpin>("unpin"),
                                    InstanceMethod<&WeightStoreBinding::dispose>("dispose")}));
}

Napi::Value WeightStoreBinding::create(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        std::string component = readString(info[0], "component");
        const Napi::Array array = readArray(info[1], "weights");
        std::vector<WeightSpec> specs;
        specs.reserve(array.Length());
        for (uint32_t i = 0; i < array.Length(); ++i) {
            const Napi::HandleScope scope(info.Env());
            specs.push_back(readSpec(array.Get(i)));
        }
        return wrap(info.Env(), std::make_shared<WeightStore>(std::move(component), std::move(specs)));
    });
}

Napi::Value WeightStoreBinding::id(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->id()));
}

Napi::Value WeightStoreBinding::component(const Napi::CallbackInfo& info) {
    return Napi::String::New(info.Env(), core_->component());
}

Napi::Value WeightStoreBinding::unitCount(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), core_->unitCount());
}

Napi::Value WeightStoreBinding::unitBytes(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return Napi::Number::New(info.Env(), static_cast<double>(core_->unitBytes(readUnit(info[0]))));
    });
}

Napi::Value WeightStoreBinding::fixedBytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->unitBytes(-1)));
}

Napi::Value WeightStoreBinding::ownedHostBytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->ownedHostBytes()));
}

Napi::Value WeightStoreBinding::mappedBytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->mappedBytes()));
}

Napi::Value WeightStoreBinding::streamedBytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(core_->streamedBytes()));
}

Napi::Value WeightStoreBinding::unitStats(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const UnitStats stats = core_->stats(readUnit(info[0]));
        Napi::Object object = Napi::Object::New(info.Env());
        object.Set("copies", Napi::Number::New(info.Env(), static_cast<double>(stats.copies)));
        object.Set("copiedBytes", Napi::Number::New(info.Env(), static_cast<double>(stats.copiedBytes)));
        object.Set("copySeconds", Napi::Number::New(info.Env(), stats.copySeconds));
        object.Set("mappedBytes", Napi::Number::New(info.Env(), static_cast<double>(stats.mappedBytes)));
        object.Set("refusedBytes", Napi::Number::New(info.Env(), static_cast<double>(stats.refusedBytes)));
        object.Set("runs", Napi::Number::New(info.Env(), static_cast<double>(stats.runs)));
        object.Set("computeSeconds", Napi::Number::New(info.Env(), stats.computeSeconds));
        return object;
    });
}

Napi::Value WeightStoreBinding::dropHost(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const int unit = readUnit(info[0]);
        core_->unitBytes(unit);
        return runAsync(
            info.Env(), core_->requireDevice(),
            [store = core_, unit]() -> Finish {
                const size_t bytes = store->dropHost(unit);
                return [bytes](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(bytes)); };
            },
            announce(core_));
    });
}

Napi::Value WeightStoreBinding::bind(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& device = DeviceBinding::from(info[0]).core();
        device->requireUsable();
        core_->bind(device);
        return info.Env().Undefined();
    });
}

Napi::Value WeightStoreBinding::place(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const int unit = readUnit(info[0]);
        core_->unitBytes(unit);
        const CancelPointer cancel = CancelBinding::optional(info[1]);
        const bool inPlace = !isAbsent(info[2]) && readBoolean(info[2], "inPlace");
        return runAsync(
            info.Env(), core_->requireDevice(),
            [store = core_, unit, inPlace, cancel]() -> Finish {
                store->requireAlive();
                const size_t bytes = store->place(unit, inPlace, cancel);
                return [bytes](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(bytes)); };
            },
            announce(core_));
    });
}

Napi::Value WeightStoreBinding::unplace(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const int unit = readUnit(info[0]);
        core_->unitBytes(unit);
        return runAsync(
            info.Env(), core_->requireDevice(),
            [store = core_, unit]() -> Finish {
                const size_t bytes = store->unplace(unit);
                return [bytes](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(bytes)); };
            },
            announce(core_));
    });
}

Napi::Value WeightStoreBinding::isPlaced(const Napi::CallbackInfo& info) {
    return guarded(info.Env(),
                   [&] { return Napi::Boolean::New(info.Env(), core_->isPlaced(readUnit(info[0]))); });
}

Napi::Value WeightStoreBinding::replace(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        const int weight = core_->indexOf(readString(info[0], "name"));
        auto data = copyTensorData(info[1], core_->typeOf(weight), "data");
        const size_t expected = tensorBytes(core_->typeOf(weight), core_->shapeOf(weight));
        if (data.size() != expected) {
            throw Error("ShapeMismatch",
                        core_->component() + ": " + core_->nameOf(weight) + " has " +
                            std::to_string(expected) + " bytes; the new data has " +
                            std::to_string(data.size()) + ".",
                        {detailOf("expected", expected), detailOf("found", data.size())});
        }
        core_->requireAlive();
        if (!core_->device()) {
            core_->replace(weight, data.data());
            return resolved(info.Env(), info.Env().Undefined());
        }
        return runAsyncVoid(
            info.Env(), core_->device(),
            [store = core_, weight, data = std::move(data)] { store->replace(weight, data.data()); },
            announce(core_));
    });
}

Napi::Value WeightStoreBinding::ownedBytes(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return Napi::Number::New(info.Env(), static_cast<double>(core_->ownedBytes(readUnit(info[0]))));
    });
}

Napi::Value WeightStoreBinding::pin(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const int unit = readUnit(info[0]);
        core_->unitBytes(unit);
        const CancelPointer cancel = CancelBinding::optional(info[1]);
        return runAsync(
            info.Env(), core_->requireDevice(),
            [store = core_, unit, cancel]() -> Finish {
                const size_t bytes = store->pin(unit, cancel);
                return [bytes](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(bytes)); };
            },
            announce(core_));
    });
}

Napi::Value WeightStoreBinding::unpin(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        core_->requestUnpin(readUnit(info[0]));
        return info.Env().Undefined();
    });
}

Napi::Value WeightStoreBinding::dispose(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        core_->dispose();
        if (!core_->device()) return resolved(info.Env(), info.Env().Undefined());
        return runAsyncVoid(info.Env(), core_->device(), [store = core_] { store->unplaceAll(); });
    });
}

}  // namespace mizuoto
