#pragma once

#include "../arena.h"
#include "../cancel.h"
#include "../checkpoint/checkpoint.h"
#include "../device.h"
#include "../graph.h"
#include "../recorder.h"
#include "../state.h"
#include "../weight_store.h"
#include "wrapped.h"

namespace mizuoto {

// One class per interface of native/addon.ts; methods are documented there.

class CancelBinding final : public Wrapped<CancelBinding, CancelFlag> {
  public:
    static constexpr const char* kName = "CancelToken";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    static void define(Napi::Env env);
    /** Null where the argument is absent. */
    static CancelPointer optional(const Napi::Value& value);

  private:
    Napi::Value cancel(const Napi::CallbackInfo& info);
    Napi::Value cancelled(const Napi::CallbackInfo& info);
};

class DeviceBinding final : public Wrapped<DeviceBinding, Device> {
  public:
    static constexpr const char* kName = "Device";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    ~DeviceBinding() override;
    static void define(Napi::Env env);
    static Napi::Value open(const Napi::CallbackInfo& info);

  private:
    Napi::Value name(const Napi::CallbackInfo& info);
    Napi::Value kind(const Napi::CallbackInfo& info);
    Napi::Value simulated(const Napi::CallbackInfo& info);
    Napi::Value isHost(const Napi::CallbackInfo& info);
    Napi::Value locksHostMemory(const Napi::CallbackInfo& info);
    Napi::Value mapsHostMemory(const Napi::CallbackInfo& info);
    Napi::Value threads(const Napi::CallbackInfo& info);
    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value memory(const Napi::CallbackInfo& info);
    Napi::Value resetPeak(const Napi::CallbackInfo& info);
    Napi::Value setForeignBytes(const Napi::CallbackInfo& info);
    Napi::Value setFaults(const Napi::CallbackInfo& info);
    Napi::Value supportsDType(const Napi::CallbackInfo& info);
    Napi::Value setStreamer(const Napi::CallbackInfo& info);
    Napi::Value expectUnits(const Napi::CallbackInfo& info);
    Napi::Value streamerStats(const Napi::CallbackInfo& info);
    Napi::Value setProfiling(const Napi::CallbackInfo& info);
    Napi::Value createArena(const Napi::CallbackInfo& info);
    Napi::Value createState(const Napi::CallbackInfo& info);
    Napi::Value close(const Napi::CallbackInfo& info);
};

/** Keeps the arena's memory reachable until graphs that use it are gone. */
class ArenaBinding final : public Wrapped<ArenaBinding, Arena> {
  public:
    static constexpr const char* kName = "Arena";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    ~ArenaBinding() override;
    static void define(Napi::Env env);

  private:
    Napi::Value bytes(const Napi::CallbackInfo& info);
    Napi::Value trim(const Napi::CallbackInfo& info);
    Napi::Value dispose(const Napi::CallbackInfo& info);
};

class StateBinding final : public Wrapped<StateBinding, State> {
  public:
    static constexpr const char* kName = "State";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    ~StateBinding() override;
    static void define(Napi::Env env);

  private:
    Napi::Value bytes(const Napi::CallbackInfo& info);
    Napi::Value read(const Napi::CallbackInfo& info);
    Napi::Value write(const Napi::CallbackInfo& info);
    Napi::Value clear(const Napi::CallbackInfo& info);
    Napi::Value dispose(const Napi::CallbackInfo& info);
};

class CheckpointBinding final : public Wrapped<CheckpointBinding, const Checkpoint> {
  public:
    static constexpr const char* kName = "Checkpoint";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    static void define(Napi::Env env);
    static Napi::Value open(const Napi::CallbackInfo& info);
    /** Throws Disposed after `close`. */
    const std::shared_ptr<const Checkpoint>& requireOpen() const;

  private:
    Napi::Value format(const Napi::CallbackInfo& info);
    Napi::Value files(const Napi::CallbackInfo& info);
    Napi::Value tensors(const Napi::CallbackInfo& info);
    Napi::Value metadata(const Napi::CallbackInfo& info);
    Napi::Value readBytes(const Napi::CallbackInfo& info);
    Napi::Value readFloat32(const Napi::CallbackInfo& info);
    Napi::Value firstNonFinite(const Napi::CallbackInfo& info);
    Napi::Value close(const Napi::CallbackInfo& info);
};

class WeightStoreBinding final : public Wrapped<WeightStoreBinding, WeightStore> {
  public:
    static constexpr const char* kName = "WeightStore";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    ~WeightStoreBinding() override;
    static void define(Napi::Env env);
    static Napi::Value create(const Napi::CallbackInfo& info);

  private:
    Napi::Value id(const Napi::CallbackInfo& info);
    Napi::Value component(const Napi::CallbackInfo& info);
    Napi::Value unitCount(const Napi::CallbackInfo& info);
    Napi::Value unitBytes(const Napi::CallbackInfo& info);
    Napi::Value fixedBytes(const Napi::CallbackInfo& info);
    Napi::Value streamedBytes(const Napi::CallbackInfo& info);
    Napi::Value unitStats(const Napi::CallbackInfo& info);
    Napi::Value dropHost(const Napi::CallbackInfo& info);
    Napi::Value ownedHostBytes(const Napi::CallbackInfo& info);
    Napi::Value mappedBytes(const Napi::CallbackInfo& info);
    Napi::Value bind(const Napi::CallbackInfo& info);
    Napi::Value place(const Napi::CallbackInfo& info);
    Napi::Value unplace(const Napi::CallbackInfo& info);
    Napi::Value isPlaced(const Napi::CallbackInfo& info);
    Napi::Value replace(const Napi::CallbackInfo& info);
    Napi::Value ownedBytes(const Napi::CallbackInfo& info);
    Napi::Value pin(const Napi::CallbackInfo& info);
    Napi::Value unpin(const Napi::CallbackInfo& info);
    Napi::Value dispose(const Napi::CallbackInfo& info);
};

class RecorderBinding final : public Wrapped<RecorderBinding, Recorder> {
  public:
    static constexpr const char* kName = "GraphRecorder";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    static void define(Napi::Env env);
    static Napi::Value create(const Napi::CallbackInfo& info);

  private:
    Napi::Value input(const Napi::CallbackInfo& info);
    Napi::Value weight(const Napi::CallbackInfo& info);
    Napi::Value state(const Napi::CallbackInfo& info);
    Napi::Value constant(const Napi::CallbackInfo& info);
    Napi::Value op(const Napi::CallbackInfo& info);
    Napi::Value setUnit(const Napi::CallbackInfo& info);
    Napi::Value output(const Napi::CallbackInfo& info);
    Napi::Value shape(const Napi::CallbackInfo& info);
    Napi::Value dtype(const Napi::CallbackInfo& info);
    Napi::Value plan(const Napi::CallbackInfo& info);
    Napi::Value compile(const Napi::CallbackInfo& info);
};

class GraphBinding final : public Wrapped<GraphBinding, Graph> {
  public:
    static constexpr const char* kName = "Graph";
    static const napi_type_tag kTag;
    using Wrapped::Wrapped;
    ~GraphBinding() override;
    static void define(Napi::Env env);

  private:
    Napi::Value plan(const Napi::CallbackInfo& info);
    Napi::Value run(const Napi::CallbackInfo& info);
    Napi::Value dispose(const Napi::CallbackInfo& info);
};

Napi::Object toJs(Napi::Env env, const GraphPlan& plan);
/** Throws what `Layout` throws; an assertion of ggml's planner comes out as Internal. */
std::unique_ptr<Layout> planned(const Recorder& recorder, const Device& device);

/**
 * The last reference of a core object whose memory is a device's: dropped on the device's thread, after the
 * jobs that may use it.
 */
template <typename Core>
void releaseOn(const std::shared_ptr<Device>& device, std::shared_ptr<Core>&& core) {
    if (!core) return;
    device->post([owned = std::move(core)]() mutable { owned.reset(); });
}

}  // namespace mizuoto
