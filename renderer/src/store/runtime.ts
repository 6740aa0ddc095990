import type { ErrorBody } from '../../../main/contract/errors.ts';
import type { DeviceSnapshot, ModelSnapshot, RuntimeSnapshot } from '../../../main/contract/runtime.ts';

export interface RuntimeSlice {
  runtime: RuntimeSnapshot | null;
  /** What a person asked of a model and has not been answered yet. */
  modelBusy: Record<string, 'load' | 'unload' | 'pin'>;
  /** Measured by the last unload of a model, until it is loaded again. */
  modelFreed: Record<string, number>;
  modelError: Record<string, ErrorBody>;
}

export const runtimeSlice = (): RuntimeSlice => ({
  runtime: null,
  modelBusy: {},
  modelFreed: {},
  modelError: {},
});

/** Snapshots may overtake each other on the way; only a newer one counts. A restarted host begins anew at 1. */
export function applySnapshot(state: RuntimeSlice, snapshot: RuntimeSnapshot): Partial<RuntimeSlice> {
  const known = state.runtime;
  if (known !== null && snapshot.version < known.version && snapshot.at <= known.at) return {};
  const loaded = new Set(snapshot.models.map((model) => model.id));
  const modelFreed = Object.fromEntries(Object.entries(state.modelFreed).filter(([id]) => !loaded.has(id)));
  return { runtime: snapshot, modelFreed };
}

/** The device that the chip names: the one with most loaded, else the best that is used (GPUs stand first). */
export function selectMainDevice(state: RuntimeSlice): DeviceSnapshot | undefined {
  const used = state.runtime?.devices.filter((device) => device.used) ?? [];
  const weights = (device: DeviceSnapshot) => device.held.weights + device.held.slots;
  const busiest = [...used].sort((a, b) => weights(b) - weights(a))[0];
  if (busiest !== undefined && weights(busiest) > 0) return busiest;
  return used.find((device) => device.kind !== 'cpu' || device.simulated) ?? used[0];
}

export function selectModelOf(state: RuntimeSlice, modelId: string): ModelSnapshot | undefined {
  return state.runtime?.models.find((model) => model.id === modelId && model.state !== 'failed');
}
