import type { Addon, Checkpoint, CheckpointDType, Device } from '../../native/addon.ts';
import { type LoadedWeights, type LoadOptions, loadWeights } from '../nn/checkpoint.ts';
import type { Module } from '../nn/module.ts';
import type { Parameter } from '../nn/parameter.ts';
import type { DeviceBook } from './device-book.ts';
import { ModelHandle } from './model-handle.ts';
import { pinnedTo } from './pinned.ts';
import { type ComponentKind, decideUnits, type Mark } from './units.ts';

export interface ComponentOptions extends Omit<LoadOptions, 'device' | 'unitOf' | 'unitModules'> {
  addon: Addon;
  engine: string;
  /** `engine` or `engine:variant`. */
  model: string;
  kind: ComponentKind;
  module: Module;
  checkpoint: Checkpoint;
  /** Where it runs; a module that is pinned to the processor runs there. */
  book: DeviceBook;
  /** Known from the start; more can be said later by `handle.mark`. */
  marks?: ReadonlyMap<Module, Mark>;
}

export interface LoadedComponent {
  handle: ModelHandle;
  report: LoadedWeights['report'];
  /** Only where `checkFinite` is `beside` it may not have settled yet. */
  finite: LoadedWeights['finite'];
}

/**
 * A component from its checkpoint: decides its units, reads its weights (nothing goes to the device yet) and returns
 * the handle that the memory manager moves.
 *
 * @throws Error where a part of the module is pinned to the processor: one component lies on one device
 */
export async function loadComponent(options: ComponentOptions): Promise<LoadedComponent> {
  const { addon, engine, model, kind, module, checkpoint, marks, ...load } = options;
  const device = pinnedTo(module) ?? options.book.device;
  checkPinned(module, device, options.component);
  const units = decideUnits(module, { bytesOf: estimatedBytes(module, options), marks });
  const { store, report, finite } = await loadWeights(addon, module, checkpoint, {
    ...load,
    device,
    unitOf: units.unitOf,
    unitModules: units.unitModules,
  });
  const { component } = options;
  const handle = new ModelHandle({
    component,
    engine,
    model,
    kind,
    module,
    store,
    units,
    device,
  });
  return { handle, report, finite };
}

function checkPinned(module: Module, device: Device, component: string): void {
  if (device.isHost) return;
  for (const [path, part] of module.namedModules()) {
    if (pinnedTo(part) === null) continue;
    throw new Error(
      `"${path}" of "${component}" is pinned to the processor and the rest runs on ${device.name}: load it as a component of its own.`,
    );
  }
}

const elementBytes: Partial<Record<CheckpointDType, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q6_K: 210 / 256,
  q5_K: 176 / 256,
  q4_K: 144 / 256,
  q4_0: 18 / 32,
};

/** Sizes good enough to decide what is a unit; the store's own are used for everything after that. */
function estimatedBytes(
  module: Module,
  options: Pick<ComponentOptions, 'checkpoint' | 'rename' | 'dtype'>,
): (parameter: Parameter) => number {
  const types = new Map<string, CheckpointDType>();
  let largest: { bytes: number; dtype: CheckpointDType } = { bytes: 0, dtype: 'f32' };
  for (const tensor of options.checkpoint.tensors) {
    const name = options.rename === undefined ? tensor.name : options.rename(tensor.name);
    if (name !== null) types.set(name, tensor.dtype);
    if (tensor.bytes > largest.bytes) largest = tensor;
  }
  const names = new Map([...module.namedParameters()].map(({ name, parameter }) => [parameter, name]));
  return (parameter) => {
    if (parameter.readBy === 'elementwise' || options.dtype === 'f32') return parameter.elements * 4;
    const dtype = types.get(names.get(parameter) ?? '') ?? largest.dtype;
    return parameter.elements * (elementBytes[dtype] ?? 4);
  };
}
