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

interface Measured {
  ms: number;
  streamedBytes: number;
  unitBytes: number;
}

async function measure(
  addon: Addon,
  linkBytesPerSecond: number,
  resident: readonly number[] | 'all',
): Promise<Measured> {
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
  const placed = resident === 'all' ? Array.from({ length: layers }, (_, unit) => unit) : resident;
  for (const unit of placed) await store.place(unit);
  if (placed.length < layers) await book.ensureSlots({ count: 2, bytes: store.unitBytes(0), prefetch: true });
  const g = new GraphBuilder(addon);
  let y = g.input('x', 'f32', [rows, width]);
  // Several passes in one graph: the steady rhythm of a flow decoder.
  for (let pass = 0; pass < passes; pass++) y = module.forward(g, y);
  g.output('y', y);
  const graph = g.compile(device, book.arena);
  const x = new Random(2).fillNormal(new Float32Array(rows * width));
  await graph.run({ x });
  const before = device.streamerStats().streamedBytes;
  const times: number[] = [];
  for (let run = 0; run < 5; run++) {
    const start = performance.now();
    await graph.run({ x });
    times.push((performance.now() - start) / passes);
  }
  const streamedBytes = (device.streamerStats().streamedBytes - before) / 5 / passes;
  graph.dispose();
  const unitBytes = store.unitBytes(0);
  await store.dispose();
  await book.dispose();
  return { ms: Math.min(...times), streamedBytes, unitBytes };
}

const addon = loadAddon();
const compute = await measure(addon, 0, 'all');
process.stdout.write(`resident pass: ${compute.ms.toFixed(1)} ms (C)\n`);
const everything = compute.unitBytes * layers;
const half = spreadEvenly(
  Array.from({ length: layers }, (_, unit) => unit),
  layers / 2,
);
for (const [name, resident, share] of [
  ['all streamed, link as fast as compute', [], 1],
  ['all streamed, link half as fast', [], 2],
  ['all streamed, link twice as fast', [], 0.5],
  ['half streamed, spread evenly, link as fast as compute', half, 0.5],
] as const) {
  const streamed = layers - resident.length;
  // Copy time of a pass, chosen as a multiple of the compute time.
  const copyMs = compute.ms * share;
  const rate = ((everything * streamed) / layers / copyMs) * 1000;
  const { ms } = await measure(addon, rate, resident);
  const limit = Math.max(compute.ms, copyMs);
  const model = passTime(
    Array.from({ length: layers }, (_, unit) => ({
      computeMs: compute.ms / layers,
      copyMs: copyMs / streamed,
      streamed: !(resident as readonly number[]).includes(unit),
    })),
    { count: 2, prefetch: true },
  );
  process.stdout.write(
    `${name}: ${ms.toFixed(1)} ms; max(C, K) ${limit.toFixed(1)} ms, ratio ${(ms / limit).toFixed(3)}; model ${model.toFixed(1)} ms\n`,
  );
}
