#include <utility>

#include "../streamer.h"
#include "async.h"
#include "classes.h"

namespace mizuoto {
namespace {

Napi::Number bytesNumber(Napi::Env env, uint64_t bytes) {
    return Napi::Number::New(env, static_cast<double>(bytes));
}

DeviceOptions readOptions(const Napi::Value& value) {
    const Napi::Object object = readObject(value, "options");
    DeviceOptions options;
    options.name = readString(object.Get("name"), "options.name");
    if (const Napi::Value threads = object.Get("threads"); !isAbsent(threads)) {
        options.threads = static_cast<int>(readInteger(threads, "options.threads", 1, 512));
    }
    if (const Napi::Value bytes = object.Get("simulateBytes"); !isAbsent(bytes)) {
        options.simulateBytes =
            static_cast<uint64_t>(readInteger(bytes, "options.simulateBytes", 0, kMaxSafeInteger));
    }
    if (const Napi::Value bytes = object.Get("foreignBytes"); !isAbsent(bytes)) {
        options.foreignBytes =
            static_cast<uint64_t>(readInteger(bytes, "options.foreignBytes", 0, kMaxSafeInteger));
    }
    if (const Napi::Value value = object.Get("unified"); !isAbsent(value)) {
        options.unified = readBoolean(value, "options.unified");
    }
    if (const Napi::Value speed = object.Get("linkBytesPerSecond"); !isAbsent(speed)) {
        options.linkBytesPerSecond = readNumber(speed, "options.linkBytesPerSecond");
        if (!(options.linkBytesPerSecond >= 0)) {
            throw Error("InvalidArgument", "options.linkBytesPerSecond cannot be negative.");
        }
    }
    if (const Napi::Value value = object.Get("importHostMemory"); !isAbsent(value)) {
        options.importHostMemory = readBoolean(value, "options.importHostMemory");
    }
    if (const Napi::Value value = object.Get("locksHostMemory"); !isAbsent(value)) {
        options.locksHostMemory = readBoolean(value, "options.locksHostMemory");
    }
    if (const Napi::Value value = object.Get("fixedThreads"); !isAbsent(value)) {
        options.fixedThreads = readBoolean(value, "options.fixedThreads");
    }
    return options;
}

uint32_t readCount(const Napi::Object& object, const char* key) {
    const Napi::Value value = object.Get(key);
    return isAbsent(value) ? 0 : static_cast<uint32_t>(readInteger(value, key, 0, INT32_MAX));
}

/** Whether weights of this type can be used: multiplied, if they are numbers to multiply with. */
bool supportsType(const Device& device, ggml_type type) {
    const bool multiplies =
        ggml_is_quantized(type) || type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
    if (!multiplies) return true;
    ggml_init_params params = {4 * ggml_tensor_overhead(), nullptr, true};
    const std::unique_ptr<ggml_context, void (*)(ggml_context*)> context(ggml_init(params), ggml_free);
    ggml_tensor* a = ggml_new_tensor_2d(context.get(), type, 256, 4);
    ggml_tensor* b = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 256, 4);
    return ggml_backend_dev_supports_op(device.handle(), ggml_mul_mat(context.get(), a, b));
}

}  // namespace

const napi_type_tag DeviceBinding::kTag = {0x6d697a756f746f02, 0x9b1f0a6c53e24d02};

DeviceBinding::~DeviceBinding() = default;

void DeviceBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceAccessor<&DeviceBinding::name>("name"),
                                    InstanceAccessor<&DeviceBinding::kind>("kind"),
                                    InstanceAccessor<&DeviceBinding::simulated>("simulated"),
                                    InstanceAccessor<&DeviceBinding::isHost>("isHost"),
                                    InstanceAccessor<&DeviceBinding::mapsHostMemory>("mapsHostMemory"),
                                    InstanceAccessor<&DeviceBinding::locksHostMemory>("locksHostMemory"),
                                    InstanceAccessor<&DeviceBinding::threads>("threads"),
                                    InstanceMethod<&DeviceBinding::info>("info"),
                                    InstanceMethod<&DeviceBinding::memory>("memory"),
                                    InstanceMethod<&DeviceBinding::resetPeak>("resetPeak"),
                                    InstanceMethod<&DeviceBinding::setForeignBytes>("setForeignBytes"),
                                    InstanceMethod<&DeviceBinding::setFaults>("setFaults"),
                                    InstanceMethod<&DeviceBinding::supportsDType>("supportsDType"),
                                    InstanceMethod<&DeviceBinding::setStreamer>("setStreamer"),
                                    InstanceMethod<&DeviceBinding::expectUnits>("expectUnits"),
                                    InstanceMethod<&DeviceBinding::streamerStats>("streamerStats"),
                                    InstanceMethod<&DeviceBinding::setProfiling>("setProfiling"),
                                    InstanceMethod<&DeviceBinding::createArena>("createArena"),
                                    InstanceMethod<&DeviceBinding::createState>("createState"),
                                    InstanceMethod<&DeviceBinding::close>("close")}));
}

Napi::Value DeviceBinding::open(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        const auto device = Device::create(readOptions(info[0]));
        AddonData::of(info.Env()).adopt(device);
        return runAsync(info.Env(), device, [device]() -> Finish {
            device->open();
            return [device](Napi::Env env) { return wrap(env, device); };
        });
    });
}

Napi::Value DeviceBinding::name(const Napi::CallbackInfo& info) {
    return Napi::String::New(info.Env(), core_->name());
}

Napi::Value DeviceBinding::kind(const Napi::CallbackInfo& info) {
    return Napi::String::New(info.Env(), core_->kind());
}

Napi::Value DeviceBinding::simulated(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), core_->simulated());
}

Napi::Value DeviceBinding::isHost(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), core_->isHost());
}

Napi::Value DeviceBinding::locksHostMemory(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), core_->hostLocks() != nullptr);
}

Napi::Value DeviceBinding::mapsHostMemory(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), core_->mapsHostMemory());
}

Napi::Value DeviceBinding::threads(const Napi::CallbackInfo& info) {
    const ThreadPolicy* threads = core_->threads();
    return Napi::Number::New(info.Env(), threads == nullptr ? 0 : threads->count());
}

Napi::Value DeviceBinding::info(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] { return toJs(info.Env(), core_->info()); });
}

Napi::Value DeviceBinding::memory(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        Napi::Env env = info.Env();
        const Ledger::Snapshot snapshot = core_->ledger().snapshot();
        const DeviceInfo now = core_->info();
        Napi::Object held = Napi::Object::New(env);
        static constexpr const char* kNames[kPurposes] = {"weights", "slots", "compute", "io", "state"};
        for (size_t i = 0; i < kPurposes; ++i) held.Set(kNames[i], bytesNumber(env, snapshot.held[i]));
        Napi::Object memory = Napi::Object::New(env);
        memory.Set("totalBytes", bytesNumber(env, now.totalBytes));
        memory.Set("freeBytes", bytesNumber(env, now.freeBytes));
        memory.Set("held", held);
        memory.Set("peakBytes", bytesNumber(env, snapshot.peakBytes));
        memory.Set("peakWorkingBytes", bytesNumber(env, snapshot.peakWorkingBytes));
        return memory;
    });
}

Napi::Value DeviceBinding::resetPeak(const Napi::CallbackInfo& info) {
    core_->ledger().resetPeak();
    return info.Env().Undefined();
}

Napi::Value DeviceBinding::setForeignBytes(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        if (!core_->simulated()) {
            throw Error("InvalidArgument", "Only on a simulated device can the bytes of others be set.");
        }
        core_->ledger().setForeign(static_cast<uint64_t>(readInteger(info[0], "bytes", 0, kMaxSafeInteger)));
        return info.Env().Undefined();
    });
}

Napi::Value DeviceBinding::setFaults(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        FaultPlan plan;
        uint32_t changeThreads = 0;
        if (!isAbsent(info[0])) {
            const Napi::Object object = readObject(info[0], "plan");
            plan.failAllocation = readCount(object, "failAllocation");
            plan.failCopy = readCount(object, "failCopy");
            plan.loseAtSegment = readCount(object, "loseAtSegment");
            plan.exhaustAtSegment = readCount(object, "exhaustAtSegment");
            changeThreads = readCount(object, "changeThreadsEvery");
        }
        core_->faults().set(plan);
        if (ThreadPolicy* threads = core_->threads()) {
            threads->changeEvery(static_cast<int>(changeThreads));
        }
        return info.Env().Undefined();
    });
}

Napi::Value DeviceBinding::supportsDType(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return Napi::Boolean::New(info.Env(),
                                  supportsType(*core_, dtypeFromName(readString(info[0], "dtype"))));
    });
}

Napi::Value DeviceBinding::setStreamer(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        std::optional<StreamerOptions> options;
        if (!isAbsent(info[0])) {
            const Napi::Object object = readObject(info[0], "options");
            options =
                StreamerOptions{static_cast<size_t>(readInteger(object.Get("slots"), "options.slots", 1, 64)),
                                static_cast<size_t>(readInteger(object.Get("slotBytes"), "options.slotBytes",
                                                                1, kMaxSafeInteger)),
                                readBoolean(object.Get("prefetch"), "options.prefetch")};
            if (const Napi::Value beyond = object.Get("beyondPass"); !isAbsent(beyond)) {
                options->beyondPass = readBoolean(beyond, "options.beyondPass");
            }
        }
        return runAsyncVoid(info.Env(), core_, [device = core_, options] {
            device->requireUsable();
            device->streamer().configure(options);
        });
    });
}

Napi::Value DeviceBinding::expectUnits(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const Napi::Array array = readArray(info[0], "units");
        std::vector<StreamedUnit> units;
        units.reserve(array.Length());
        for (uint32_t i = 0; i < array.Length(); ++i) {
            const Napi::HandleScope scope(info.Env());
            const Napi::Array pair = readArray(array.Get(i), "units");
            StreamedUnit unit{WeightStoreBinding::from(pair.Get(0u)).core(),
                              static_cast<int>(readInteger(pair.Get(1u), "unit", 0, INT32_MAX))};
            unit.store->unitBytes(unit.unit);
            units.push_back(std::move(unit));
        }
        // A hint: whoever wants something of a lost or closed device hears of it.
        core_->streamer().expect(units);
        core_->post([device = core_] {
            if (device->closed() || device->interrupted() || device->lost()) return;
            device->streamer().lookAhead();
        });
        return info.Env().Undefined();
    });
}

Napi::Value DeviceBinding::streamerStats(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    const StreamerStats stats = core_->streamer().stats();
    Napi::Object object = Napi::Object::New(env);
    object.Set("streamedBytes", bytesNumber(env, stats.streamedBytes));
    object.Set("copies", bytesNumber(env, stats.copies));
    object.Set("reused", bytesNumber(env, stats.reused));
    object.Set("onTheSpot", bytesNumber(env, stats.onTheSpot));
    object.Set("ahead", bytesNumber(env, stats.ahead));
    object.Set("wasted", bytesNumber(env, stats.wasted));
    object.Set("copySeconds", Napi::Number::New(env, stats.copySeconds));
    object.Set("copiedBytes", Napi::Number::New(env, stats.copiedBytes));
    object.Set("waitSeconds", Napi::Number::New(env, stats.waitSeconds));
    return object;
}

Napi::Value DeviceBinding::setProfiling(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        if (!info[0].IsBoolean()) throw Error("InvalidArgument", "setProfiling takes true or false.");
        core_->setProfiling(info[0].As<Napi::Boolean>().Value());
        return info.Env().Undefined();
    });
}

Napi::Value DeviceBinding::createArena(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        core_->requireUsable();
        return ArenaBinding::wrap(info.Env(), std::make_shared<Arena>(core_));
    });
}

Napi::Value DeviceBinding::createState(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const Napi::Array array = readArray(info[0], "specs");
        std::vector<StateSpec> specs;
        for (uint32_t i = 0; i < array.Length(); ++i) {
            const Napi::Object spec = readObject(array.Get(i), "specs");
            specs.push_back({dtypeFromName(readString(spec.Get("dtype"), "dtype")),
                             readShape(spec.Get("shape"), "shape")});
        }
        return runAsync(info.Env(), core_, [device = core_, specs = std::move(specs)]() -> Finish {
            const auto state = std::make_shared<State>(device, specs);
            return [state](Napi::Env env) { return StateBinding::wrap(env, state); };
        });
    });
}

Napi::Value DeviceBinding::close(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        core_->interrupt();
        return runAsyncVoid(
            info.Env(), core_, [device = core_] { device->close(); },
            [device = core_](PendingJob& job) { job.settled = [device] { device->shutdown(); }; });
    });
}

}  // namespace mizuoto
