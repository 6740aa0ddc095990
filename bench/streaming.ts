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
import type { Addon, Device } from '../native/addon.ts';
import { loadAddon } from '../native/load.ts';

/**
 * Wall time of a streamed oneshot pass against the larger of pure compute (C) and pure copy time (K), on a simulated
 * device whose link is slowed down so that overlap shows without a GPU. No schedule beats max(C, K); goal: within 10 %.
 * The pipeline model's prediction stands beside it.
 */
const width = 512;
const hidden = 1024;
const layers = 12;
const rows = 96;
const passes = 4;

class Layer extends Module {
  readonly up = new Linear(width, hidden);
  readonly down = new Linear(hidden, width);
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.add(this.down.forward(g, this.up.forward(g, x).unary('silu')).affine(0.2, 0));
  }
}

class Layers extends Module {
  readonly first = new Linear(width, width);
  readonly layers = Array.from({ length: layers }, () => new Layer());
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
  unitBytes: number;
  close(): Promise<void>;
}

async function open(addon: Addon, linkBytesPerSecond: number, resident: readonly number[]): Promise<Rig> {
  const device: Device = await addon.openDevice({
    name: 'CPU',
    threads: 1,
    simulateBytes: 256 * 2 ** 20,
    ...(linkBytesPerSecond > 0 ? { linkBytesPerSecond } : {}),
  });
  const book = new DeviceBook(device);
  const module = new Layers();
  const units = decideUnits(module);
  const { unitOf, unitModules } = units;
  const store = randomWeights(addon, module, { component: 'layers', seed: 1, unitOf, unitModules });
  store.bind(device);
  await store.place(-1);
  for (const unit of resident) await store.place(unit);
  if (resident.length < layers)
    await book.ensureSlots({ count: 2, bytes: store.unitBytes(0), prefetch: true });
  const g = new GraphBuilder(addon);
  let y = g.input('x', 'f32', [rows, width]);
  // Several passes in one graph: the steady rhythm of a flow decoder.
  for (let pass = 0; pass < passes; pass++) y = module.forward(g, y);
  g.output('y', y);
  const graph = g.compile(device, book.arena);
  const x = new Random(2).fillNormal(new Float32Array(rows * width));
  return {
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
const all = Array.from({ length: layers }, (_, unit) => unit);
const half = spreadEvenly(all, layers / 2);
const reference = await open(addon, 0, all);
for (let warm = 0; warm < 3; warm++) await reference.run();
let compute = await reference.run();
for (const [name, resident, share] of [
  ['all streamed, K = C', [], 1],
  ['all streamed, K = 2 C', [], 2],
  ['all streamed, K = C / 2', [], 0.5],
  ['half streamed, spread evenly, K = C / 2', half, 0.5],
] as const) {
  const streamed = layers - resident.length;
  const copyMs = compute * share;
  const rate = ((reference.unitBytes * streamed) / copyMs) * 1000;
  const rig = await open(addon, rate, resident);
  await rig.run();
  // In turn, so that a busy moment of the machine meets both.
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < 9; round++) {
    const c = await reference.run();
    const ms = await rig.run();
    compute = Math.min(compute, c);
    times.push(ms);
    ratios.push(ms / Math.max(c, copyMs));
  }
  await rig.close();
  const model = passTime(
    {
      computeMs: all.map(() => compute / layers),
      copyMs: all.map(() => copyMs / streamed),
      streamed: all.map((unit) => Number(!(resident as readonly number[]).includes(unit))),
    },
    { count: 2, prefetch: true },
  );
  const median = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)]!;
  const best = Math.min(...times);
  process.stdout.write(
    `${name}: C ${compute.toFixed(1)} ms, K ${copyMs.toFixed(1)} ms; best ${best.toFixed(1)} ms, ` +
      `${(best / Math.max(compute, copyMs)).toFixed(3)} of max(C, K), median ratio ${median.toFixed(3)}; model ${model.toFixed(1)} ms\n`,
  );
}
await reference.close();
