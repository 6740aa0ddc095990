// GraphRecorder and Graph.
#include <array>
#include <chrono>
#include <utility>

#include "async.h"
#include "classes.h"

namespace mizuoto {
namespace {

int readHandle(const Napi::Value& value) {
    return static_cast<int>(readInteger(value, "handle", 0, INT32_MAX));
}

/** Short arrays of numbers, read without allocating: recording is called thousands of times per graph. */
template <typename Number, size_t kCapacity>
std::span<const Number> readNumbers(Napi::Env env, const Napi::Value& value, const char* what,
                                    std::array<Number, kCapacity>& storage) {
    if (isAbsent(value)) return {};
    const Napi::Array array = readArray(value, what);
    const uint32_t length = array.Length();
    if (length > kCapacity) throw Error("InvalidArgument", std::string(what) + " is too long.");
    for (uint32_t i = 0; i < length; ++i) {
        napi_value item = nullptr;
        double number = 0;
        if (napi_get_element(env, array, i, &item) != napi_ok ||
            napi_get_value_double(env, item, &number) != napi_ok) {
            throw Error("InvalidArgument", std::string(what) + " must hold numbers.");
        }
        if constexpr (std::is_integral_v<Number>) {
            if (!(number >= 0 && number <= INT32_MAX) ||
                number != static_cast<double>(static_cast<Number>(number))) {
                throw Error("InvalidArgument", std::string(what) + " must hold handles.");
            }
        }
        storage[i] = static_cast<Number>(number);
    }
    return {storage.data(), length};
}

/** Passes progress on at most 20 times a second, and the last word always. */
std::function<void(size_t, size_t)> throttled(Napi::Env env, std::shared_ptr<uint64_t> job) {
    using Clock = std::chrono::steady_clock;
    auto last = std::make_shared<Clock::time_point>();
    return [dispatcher = AddonData::of(env).dispatcher(), job, last](size_t done, size_t total) {
        const auto now = Clock::now();
        if (done != total && now - *last < std::chrono::milliseconds(50)) return;
        *last = now;
        dispatcher->post([job, done, total](Napi::Env inner) {
            PendingJob* pending = AddonData::of(inner).job(*job);
            if (pending == nullptr || pending->onProgress.IsEmpty()) return;
            pending->onProgress.Call({Napi::Number::New(inner, static_cast<double>(done)),
                                      Napi::Number::New(inner, static_cast<double>(total))});
        });
    };
}

}  // namespace

Napi::Object toJs(Napi::Env env, const GraphPlan& plan) {
    Napi::Array units = Napi::Array::New(env, plan.units.size());
    for (size_t i = 0; i < plan.units.size(); ++i) {
        Napi::Array unit = Napi::Array::New(env, 2);
        unit.Set(0u, Napi::Number::New(env, static_cast<double>(plan.units[i].first)));
        unit.Set(1u, Napi::Number::New(env, plan.units[i].second));
        units.Set(static_cast<uint32_t>(i), unit);
    }
    Napi::Object object = Napi::Object::New(env);
    object.Set("computeBytes", Napi::Number::New(env, static_cast<double>(plan.computeBytes)));
    object.Set("ioBytes", Napi::Number::New(env, static_cast<double>(plan.ioBytes)));
    object.Set("nodes", Napi::Number::New(env, static_cast<double>(plan.nodes)));
    object.Set("segments", Napi::Number::New(env, static_cast<double>(plan.segments)));
    object.Set("units", units);
    return object;
}

std::unique_ptr<Layout> planned(const Recorder& recorder, const Device& device) {
    std::unique_ptr<Layout> layout;
    callBackend(device.name(), [&] { layout = std::make_unique<Layout>(recorder.recording(), device); });
    return layout;
}

const napi_type_tag RecorderBinding::kTag = {0x6d697a756f746f07, 0x9b1f0a6c53e24d07};
const napi_type_tag GraphBinding::kTag = {0x6d697a756f746f08, 0x9b1f0a6c53e24d08};

void RecorderBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceMethod<&RecorderBinding::input>("input"),
                                    InstanceMethod<&RecorderBinding::weight>("weight"),
                                    InstanceMethod<&RecorderBinding::state>("state"),
                                    InstanceMethod<&RecorderBinding::constant>("constant"),
                                    InstanceMethod<&RecorderBinding::op>("op"),
                                    InstanceMethod<&RecorderBinding::setUnit>("setUnit"),
                                    InstanceMethod<&RecorderBinding::output>("output"),
                                    InstanceMethod<&RecorderBinding::shape>("shape"),
                                    InstanceMethod<&RecorderBinding::dtype>("dtype"),
                                    InstanceMethod<&RecorderBinding::plan>("plan"),
                                    InstanceMethod<&RecorderBinding::compile>("compile")}));
}

Napi::Value RecorderBinding::create(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] { return wrap(info.Env(), std::make_shared<Recorder>()); });
}

Napi::Value RecorderBinding::input(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const ggml_type type = dtypeFromName(readString(info[0], "dtype"));
        return Napi::Number::New(info.Env(), core_->input(type, readShape(info[1], "shape")));
    });
}

Napi::Value RecorderBinding::weight(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& store = WeightStoreBinding::from(info[0]).core();
        return Napi::Number::New(info.Env(), core_->weight(store, readString(info[1], "name")));
    });
}

Napi::Value RecorderBinding::state(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& state = StateBinding::from(info[0]).core();
        return Napi::Number::New(info.Env(), core_->state(state, readHandle(info[1])));
    });
}

Napi::Value RecorderBinding::constant(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const ggml_type type = dtypeFromName(readString(info[0], "dtype"));
        return Napi::Number::New(info.Env(), core_->constant(type, readShape(info[1], "shape"),
                                                             copyTensorData(info[2], type, "data")));
    });
}

Napi::Value RecorderBinding::op(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        char name[64];
        size_t length = 0;
        if (napi_get_value_string_utf8(info.Env(), info[0], name, sizeof name, &length) != napi_ok) {
            throw Error("InvalidArgument", "name must be a string.");
        }
        std::array<int, 64> sources;
        std::array<double, 64> params;
        const auto sourceSpan = readNumbers(info.Env(), info[1], "srcs", sources);
        const auto paramSpan = readNumbers(info.Env(), info[2], "params", params);
        return Napi::Number::New(info.Env(), core_->op({name, length}, sourceSpan, paramSpan));
    });
}

Napi::Value RecorderBinding::setUnit(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        if (isAbsent(info[0])) {
            core_->setUnit(nullptr, -1);
        } else {
            const int unit = static_cast<int>(readInteger(info[1], "unit", 0, INT32_MAX));
            core_->setUnit(WeightStoreBinding::from(info[0]).core(), unit);
        }
        return info.Env().Undefined();
    });
}

Napi::Value RecorderBinding::output(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        core_->output(readHandle(info[0]));
        return info.Env().Undefined();
    });
}

Napi::Value RecorderBinding::shape(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] { return toJs(info.Env(), core_->value(readHandle(info[0])).shape()); });
}

Napi::Value RecorderBinding::dtype(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return Napi::String::New(info.Env(), ggml_type_name(core_->value(readHandle(info[0])).tensor->type));
    });
}

Napi::Value RecorderBinding::plan(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& device = DeviceBinding::from(info[0]).core();
        core_->requireOpen();
        device->requireUsable();
        return toJs(info.Env(), planned(*core_, *device)->plan);
    });
}

Napi::Value RecorderBinding::compile(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const auto& device = DeviceBinding::from(info[0]).core();
        const auto& arena = ArenaBinding::from(info[1]).core();
        if (arena->device() != device) {
            throw Error("InvalidArgument",
                        "The arena belongs to another device than " + device->name() + ".");
        }
        core_->requireOpen();
        device->requireUsable();
        auto layout = planned(*core_, *device);
        return GraphBinding::wrap(info.Env(),
                                  std::make_shared<Graph>(core_->take(), std::move(layout), device, arena));
    });
}

GraphBinding::~GraphBinding() {
    if (!core_) return;
    const auto device = core_->device();
    releaseOn(device, std::move(core_));
}

void GraphBinding::define(Napi::Env env) {
    registerClass(env, DefineClass(env, kName,
                                   {InstanceAccessor<&GraphBinding::plan>("plan"),
                                    InstanceMethod<&GraphBinding::run>("run"),
                                    InstanceMethod<&GraphBinding::dispose>("dispose")}));
}

Napi::Value GraphBinding::plan(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] { return toJs(info.Env(), core_->plan()); });
}

Napi::Value GraphBinding::run(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        const Napi::Env env = info.Env();
        const Napi::Object options =
            isAbsent(info[0]) ? Napi::Object::New(env) : readObject(info[0], "options");
        const Recording& recording = core_->recording();
        auto request = std::make_shared<RunRequest>();

        if (const Napi::Value inputs = options.Get("inputs"); !isAbsent(inputs)) {
            const Napi::Array array = readArray(inputs, "options.inputs");
            for (uint32_t i = 0; i < array.Length(); ++i) {
                const Napi::Array pair = readArray(array.Get(i), "options.inputs");
                const size_t input = core_->inputOf(readHandle(pair.Get(0u)));
                const ggml_tensor* tensor = recording.inputs[input].tensor;
                auto data = copyTensorData(pair.Get(1u), tensor->type, "options.inputs");
                if (data.size() != ggml_nbytes(tensor)) {
                    throw Error("ShapeMismatch",
                                "An input of " + std::to_string(ggml_nbytes(tensor)) + " bytes was given " +
                                    std::to_string(data.size()) + ".",
                                {detailOf("handle", recording.inputs[input].handle),
                                 detailOf("expected", ggml_nbytes(tensor)), detailOf("found", data.size())});
                }
                core_->checkIndices(input, data);
                request->writes.push_back({input, std::move(data)});
            }
        }

        std::vector<size_t> outputs;
        if (const Napi::Value read = options.Get("read"); !isAbsent(read)) {
            const Napi::Array array = readArray(read, "options.read");
            for (uint32_t i = 0; i < array.Length(); ++i)
                outputs.push_back(core_->outputOf(readHandle(array.Get(i))));
        } else {
            for (size_t i = 0; i < recording.outputs.size(); ++i) outputs.push_back(i);
        }
        std::vector<Napi::ObjectReference> buffers;
        std::vector<ggml_type> types;
        for (size_t output : outputs) {
            const ggml_tensor* tensor = recording.outputs[output].tensor;
            Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, ggml_nbytes(tensor));
            request->reads.push_back({output, static_cast<uint8_t*>(buffer.Data())});
            buffers.push_back(Napi::Persistent(buffer.As<Napi::Object>()));
            types.push_back(tensor->type);
        }

        request->cancel = CancelBinding::optional(options.Get("signal"));
        const Napi::Value onProgress = options.Get("onProgress");
        if (!isAbsent(onProgress) && !onProgress.IsFunction()) {
            throw Error("InvalidArgument", "options.onProgress must be a function.");
        }
        const auto id = std::make_shared<uint64_t>(0);
        if (!isAbsent(onProgress)) request->progress = throttled(env, id);
        for (const auto& store : core_->stores()) store->announceWork(1);

        return runAsyncVoid(
            env, core_->device(), [graph = core_, request] { graph->run(*request); },
            [&](PendingJob& job) {
                *id = job.id;
                job.kept = std::move(buffers);
                if (!isAbsent(onProgress)) job.onProgress = Napi::Persistent(onProgress.As<Napi::Function>());
                job.settled = [graph = core_] {
                    for (const auto& store : graph->stores()) store->announceWork(-1);
                };
                job.result = [types = std::move(types)](Napi::Env inner, PendingJob& done) -> Napi::Value {
                    Napi::Array results = Napi::Array::New(inner, types.size());
                    for (size_t i = 0; i < types.size(); ++i) {
                        results.Set(
                            static_cast<uint32_t>(i),
                            typedArray(inner, types[i], done.kept[i].Value().As<Napi::ArrayBuffer>()));
                    }
                    return results;
                };
            });
    });
}

Napi::Value GraphBinding::dispose(const Napi::CallbackInfo& info) {
    core_->device()->post([graph = core_] { graph->dispose(); });
    return info.Env().Undefined();
}

}  // namespace mizuoto
