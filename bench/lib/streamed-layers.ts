import { DeviceBook } from '../../main/memory/device-book.ts';
import { decideUnits } from '../../main/memory/units.ts';
import { GraphBuilder } from '../../main/nn/graph.ts';
import { Linear } from '../../main/nn/layers/linear.ts';
import { Module } from '../../main/nn/module.ts';
import { Random } from '../../main/nn/random.ts';
import { randomWeights } from '../../main/nn/random-weights.ts';
import type { Tensor } from '../../main/nn/tensor.ts';
import type { Addon, Device, OpenDeviceOptions, WeightStore } from '../../native/addon.ts';

/** Of one tower. */
export const layers = 12;

export interface Shape {
  width: number;
  hidden: number;
  rows: number;
  /** Passes in one graph: the steady rhythm of a flow decoder. */
  passes: number;
}
export const onSimulated: Shape = { width: 1024, hidden: 2048, rows: 96, passes: 4 };
/** The software device is thirty times slower. */
export const onVulkan: Shape = { width: 512, hidden: 1024, rows: 4, passes: 2 };

class Layer extends Module {
  readonly up: Linear;
  readonly down: Linear;
  constructor({ width, hidden }: Shape) {
    super();
    this.up = new Linear(width, hidden);
    this.down = new Linear(hidden, width);
  }
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.add(this.down.forward(g, this.up.forward(g, x).unary('silu')).affine(0.2, 0));
  }
}

class Layers extends Module {
  readonly first: Linear;
  readonly layers: Layer[];
  constructor(shape: Shape) {
    super();
    this.first = new Linear(shape.width, shape.width);
    this.layers = Array.from({ length: layers }, () => new Layer(shape));
  }
  override memoryUnits(): Module[] {
    return [...this.layers];
  }
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.layers.reduce((y, layer) => layer.forward(g, y), this.first.forward(g, x));
  }
}

export interface Rig {
  /** One run of the graph: milliseconds per pass. */
  run(): Promise<number>;
  device: Device;
  passes: number;
  unitBytes: number;
  close(): Promise<void>;
}

export interface RigOptions {
  shape: Shape;
  open: OpenDeviceOptions;
  resident: readonly number[];
  /** Default: two slots, copied ahead. */
  slots?: { count: number; prefetch: boolean };
  /** Components that run in turn, one graph each. Default: one. */
  stages?: number;
}

export async function openRig(addon: Addon, options: RigOptions): Promise<Rig> {
  const { shape, resident, slots = { count: 2, prefetch: true }, stages = 1 } = options;
  const device: Device = await addon.openDevice(options.open);
  const book = new DeviceBook(device);
  const made: Stage[] = [];
  for (let stage = 0; stage < stages; stage++)
    made.push(await openStage(addon, book, { shape, resident, stage }));
  const unitBytes = made[0]!.store.unitBytes(0);
  if (resident.length < layers) await book.ensureSlots({ ...slots, bytes: unitBytes });
  const passes = shape.passes * stages;
  return {
    device,
    passes,
    unitBytes,
    run: async () => {
      const start = performance.now();
      for (const { run } of made) await run();
      return (performance.now() - start) / passes;
    },
    close: async () => {
      for (const { close } of made) await close();
      await book.dispose();
    },
  };
}

interface Stage {
  store: WeightStore;
  run(): Promise<unknown>;
  close(): Promise<void>;
}

async function openStage(
  addon: Addon,
  book: DeviceBook,
  { shape, resident, stage }: { shape: Shape; resident: readonly number[]; stage: number },
): Promise<Stage> {
  const { width, rows, passes } = shape;
  const module = new Layers(shape);
  const { unitOf, unitModules } = decideUnits(module);
  const store = randomWeights(addon, module, {
    component: `layers ${stage}`,
    seed: stage + 1,
    unitOf,
    unitModules,
  });
  store.bind(book.device);
  await store.place(-1);
  for (const unit of resident) await store.place(unit);
  // As the manager does: what streams comes from page-locked memory where the device has it.
  for (let unit = 0; unit < layers; unit++) if (!resident.includes(unit)) await store.pin(unit);
  const g = new GraphBuilder(addon);
  let y = g.input('x', 'f32', [rows, width]);
  for (let pass = 0; pass < passes; pass++) y = module.forward(g, y);
  g.output('y', y);
  const graph = g.compile(book.device, book.arena);
  const x = new Random(2).fillNormal(new Float32Array(rows * width));
  return {
    store,
    run: () => graph.run({ x }),
    close: async () => {
      graph.dispose();
      await store.dispose();
    },
  };
}
