import { availableParallelism, loadavg } from 'node:os';
import { DeviceBook } from '../main/memory/device-book.ts';
import { passTime } from '../main/memory/planner/pipeline.ts';
import { spreadEvenly } from '../main/memory/planner/spread.ts';
import { decideUnits } from '../main/memory/units.ts';
import { GraphBuilder } from '../main/nn/graph.ts';
import { Linear } from '../main/nn/layers/linear.ts';
import { Module } from '../main/nn/module.ts';
import { Random } from '../main/nn/random.ts';
import { randomWeights } from '../main/nn/random-weights.ts';
import type { Tensor } from '../main/nn/tensor.ts';
import type { Addon, Device, OpenDeviceOptions } from '../native/addon.ts';
import { loadAddon } from '../native/load.ts';
import { median, option } from './lib/harness.ts';

/**
 * Wall time of a streamed oneshot pass against the larger of pure compute (C) and pure copy time (K). No schedule beats
 * max(C, K); goal: within 10 % where the device has a copy engine of its own.
 *
 *   npm run bench -- streaming [--device simulated|vulkan|all] [--rounds N]
 *
 * Simulated devices have a link of a given speed, so that overlap shows without a GPU; the pipeline model's prediction
 * stands beside it. Vulkan copies as it can, and K is measured by a run that never copies ahead. A software device
 * computes and copies on the same cores and the same queue: there C + K is the bound, and is shown too.
 * Others who use the machine disturb: each streamed run is compared with the resident runs before and after it, and
 * with its own computing, which is what it took without waiting for copies.
 */
const layers = 12;

interface Shape {
  width: number;
  hidden: number;
  rows: number;
  /** Passes in one graph: the steady rhythm of a flow decoder. */
  passes: number;
}
const onSimulated: Shape = { width: 1024, hidden: 2048, rows: 96, passes: 4 };
/** The software device is thirty times slower. */
const onVulkan: Shape = { width: 512, hidden: 1024, rows: 4, passes: 2 };

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

interface Rig {
  /** One run of the graph: milliseconds per pass. */
  run(): Promise<number>;
  device: Device;
  passes: number;
  unitBytes: number;
  close(): Promise<void>;
}

interface RigOptions {
  shape: Shape;
  open: OpenDeviceOptions;
  resident: readonly number[];
  /** Default: two slots, copied ahead. */
  slots?: { count: number; prefetch: boolean };
}

async function open(addon: Addon, options: RigOptions): Promise<Rig> {
  const { shape, resident, slots = { count: 2, prefetch: true } } = options;
  const { width, rows, passes } = shape;
  const device: Device = await addon.openDevice(options.open);
  const book = new DeviceBook(device);
  const module = new Layers(shape);
  const units = decideUnits(module);
  const { unitOf, unitModules } = units;
  const store = randomWeights(addon, module, { component: 'layers', seed: 1, unitOf, unitModules });
  store.bind(device);
  await store.place(-1);
  for (const unit of resident) await store.place(unit);
  if (resident.length < layers) {
    // As the manager does: what streams comes from page-locked memory where the device has it.
    for (let unit = 0; unit < layers; unit++) if (!resident.includes(unit)) store.pin(unit);
    await book.ensureSlots({ ...slots, bytes: store.unitBytes(0) });
  }
  const g = new GraphBuilder(addon);
  let y = g.input('x', 'f32', [rows, width]);
  for (let pass = 0; pass < passes; pass++) y = module.forward(g, y);
  g.output('y', y);
  const graph = g.compile(device, book.arena);
  const x = new Random(2).fillNormal(new Float32Array(rows * width));
  return {
    device,
    passes,
    unitBytes: store.unitBytes(0),
    run: async () => {
      const start = performance.now();
      await graph.run({ x });
      return (performance.now() - start) / passes;
    },
    close: async () => {
      graph.dispose();
      await store.dispose();
      await book.dispose();
    },
  };
}

const addon = loadAddon();
const rounds = Number(option('rounds', '9'));
const all = Array.from({ length: layers }, (_, unit) => unit);
const half = spreadEvenly(all, layers / 2);

interface Case {
  name: string;
  resident: readonly number[];
  computeMs: number;
  copyMs: number;
}

/** Resident, streamed, resident, streamed, ...: what a streamed run takes in units of the resident ones around it. */
async function race(reference: Rig, rig: Rig, { name, resident, copyMs, ...rest }: Case): Promise<void> {
  await rig.run();
  const before = rig.device.streamerStats();
  const ratios: number[] = [];
  const sums: number[] = [];
  /** Against the streamed run's own computing: its time without what it waited for copies. */
  const own: number[] = [];
  const times: number[] = [];
  const computes: number[] = [];
  let c = await reference.run();
  for (let round = 0; round < rounds; round++) {
    const waited = rig.device.streamerStats().waitSeconds;
    const ms = await rig.run();
    const waitMs = ((rig.device.streamerStats().waitSeconds - waited) * 1000) / rig.passes;
    const next = await reference.run();
    const compute = (c + next) / 2;
    c = next;
    computes.push(compute);
    times.push(ms);
    ratios.push(ms / Math.max(compute, copyMs));
    sums.push(ms / (compute + copyMs));
    own.push(ms / Math.max(ms - waitMs, copyMs));
  }
  const after = rig.device.streamerStats();
  const compute = Math.min(rest.computeMs, ...computes);
  const onTheSpot = (after.onTheSpot - before.onTheSpot) / rounds;
  const copies = (after.copies - before.copies) / rounds;
  const model = passTime(
    {
      computeMs: all.map(() => compute / layers),
      copyMs: all.map(() => copyMs / (layers - resident.length)),
      streamed: all.map((unit) => Number(!resident.includes(unit))),
    },
    { count: 2, prefetch: true },
  );
  const best = Math.min(...times);
  process.stdout.write(
    `${name}: C ${compute.toFixed(1)} ms, K ${copyMs.toFixed(1)} ms; best ${best.toFixed(1)} ms, ` +
      `${(best / Math.max(compute, copyMs)).toFixed(3)} of max(C, K), median ${median(ratios).toFixed(3)} ` +
      `(of C + K: ${median(sums).toFixed(3)}; by its own computing: ${median(own).toFixed(3)}); model ${model.toFixed(1)} ms; ` +
      `${onTheSpot.toFixed(1)} of ${copies.toFixed(0)} copies on the spot\n`,
  );
}

/** The least of a few runs: others who use the machine only ever make it slower. */
async function least(rig: Rig, runs: number): Promise<number> {
  let ms = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) ms = Math.min(ms, await rig.run());
  return ms;
}

async function simulated(): Promise<void> {
  const device = { name: 'CPU', threads: 1, simulateBytes: 256 * 2 ** 20 };
  const reference = await open(addon, { shape: onSimulated, open: device, resident: all });
  await reference.run();
  const computeMs = await least(reference, 5);
  for (const [name, resident, share] of [
    ['all streamed, K = C', [], 1],
    ['all streamed, K = 1.1 C', [], 1.1],
    ['all streamed, K = 0.9 C', [], 0.9],
    ['all streamed, K = 2 C', [], 2],
    ['all streamed, K = C / 2', [], 0.5],
    ['half streamed, spread evenly, K = C / 2', half, 0.5],
  ] as const) {
    const copyMs = computeMs * share;
    const linkBytesPerSecond = ((reference.unitBytes * (layers - resident.length)) / copyMs) * 1000;
    const rig = await open(addon, {
      shape: onSimulated,
      open: { ...device, linkBytesPerSecond },
      resident,
    });
    await race(reference, rig, { name: `simulated, ${name}`, resident, computeMs, copyMs });
    await rig.close();
  }
  await reference.close();
}

async function vulkan(): Promise<void> {
  const found = addon.devices().find(({ name }) => name.startsWith('Vulkan'));
  if (found === undefined) {
    process.stdout.write(
      'Vulkan: there is no device here (a software one wants GGML_VK_VISIBLE_DEVICES=0).\n',
    );
    return;
  }
  process.stdout.write(`${found.name}: ${found.description}\n`);
  const device = { name: found.name };
  const reference = await open(addon, { shape: onVulkan, open: device, resident: all });
  await reference.run();
  const computeMs = await least(reference, 3);
  for (const [name, resident] of [
    ['all streamed', []],
    ['half streamed, spread evenly', half],
  ] as const) {
    // One slot: each copy waits for the product before it, and nothing else happens meanwhile.
    const alone = await open(addon, {
      shape: onVulkan,
      open: device,
      resident,
      slots: { count: 1, prefetch: false },
    });
    await alone.run();
    const oneAfterTheOther = await least(alone, 3);
    await alone.close();
    const copyMs = Math.max(0.01, oneAfterTheOther - computeMs);
    const rig = await open(addon, { shape: onVulkan, open: device, resident });
    await race(reference, rig, { name: `${found.name}, ${name}`, resident, computeMs, copyMs });
    await rig.close();
  }
  await reference.close();
}

const wanted = option('device', 'all');
process.stdout.write(
  `${rounds} rounds each; load of this machine: ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores\n`,
);
if (wanted !== 'vulkan') await simulated();
if (wanted !== 'simulated') await vulkan();
