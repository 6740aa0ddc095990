import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WeightStore } from '../../native/addon.ts';
import { loadAddon } from '../../native/load.ts';
import { defaultSettings } from '../contract/settings.ts';
import { fixedPart, ModelHandle } from '../memory/model-handle.ts';
import { decideUnits } from '../memory/units.ts';
import { GraphBuilder } from '../nn/graph.ts';
import { toBFloat16, toFloat16 } from '../nn/half.ts';
import { Linear } from '../nn/layers/linear.ts';
import { Module } from '../nn/module.ts';
import type { Parameter } from '../nn/parameter.ts';
import { Random } from '../nn/random.ts';
import type { Tensor } from '../nn/tensor.ts';
import { attachWeights, type BoundWeight } from '../nn/units.ts';
import { RuntimeService } from './runtime-service.ts';
import { RequestContext } from './stage-context.ts';

/**
 * "Same seed, any plan": 64 units of mixed types, 16 of them changed by an adapter, two guidance passes; 200 random
 * plans, giving up at random borders, 1 to 4 slots, other programs that come and go, one injected failure each. One
 * checksum, with NaN in every slot before each upload.
 */
const addon = loadAddon();
const width = 64;
const hidden = 288;
const unitCount = 64;
const plans = 200;
const types = ['f32', 'f16', 'bf16'] as const;

class Layer extends Module {
  readonly up = new Linear(width, hidden);
  readonly down = new Linear(hidden, width);
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.add(this.down.forward(g, this.up.forward(g, x).unary('silu')).affine(0.2, 0));
  }
}

class Layers extends Module {
  readonly first = new Linear(width, width);
  readonly layers = Array.from({ length: unitCount }, () => new Layer());
  override memoryUnits(): Module[] {
    return [...this.layers];
  }
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.layers.reduce((y, layer) => layer.forward(g, y), this.first.forward(g, x));
  }
}

interface Rig {
  runtime: RuntimeService;
  handle: ModelHandle;
  module: Layers;
}

/** Unit `index` has weights of type `types[index % 3]`. */
function handleOn(
  rig: Pick<Rig, 'module'>,
  book: Awaited<ReturnType<RuntimeService['deviceFor']>>,
): ModelHandle {
  const { module } = rig;
  const units = decideUnits(module, { bytesOf: ({ elements }) => elements * 4 });
  const weights = new Map<Parameter, BoundWeight>();
  const specs = [...module.namedParameters()].map(({ name, parameter }) => {
    const unit = units.unitOf.get(parameter) ?? fixedPart;
    const dtype = parameter.readBy === 'elementwise' ? 'f32' : types[Math.max(0, unit) % 3]!;
    const values = new Random(3).fork(name).fillNormal(new Float32Array(parameter.elements), 0, 0.15);
    const data = dtype === 'f16' ? toFloat16(values) : dtype === 'bf16' ? toBFloat16(values) : values;
    weights.set(parameter, { name, dtype });
    return { name, shape: parameter.storedShape, dtype, unit, source: { data } };
  });
  const store: WeightStore = addon.createWeightStore('layers', specs);
  attachWeights(module, store, weights, units.unitOf, units.unitModules);
  const common = { component: 'layers', engine: 'any', model: 'any', kind: 'oneshot' } as const;
  return new ModelHandle({ ...common, module, store, units, device: book.device });
}

/** Every fourth unit gets new weights. */
async function adapt({ module, handle }: Rig): Promise<void> {
  for (let unit = 0; unit < unitCount; unit += 4) {
    const layer = module.layers[unit]!;
    const values = new Map<string, Float32Array | Uint8Array>();
    for (const { parameter } of layer.namedParameters()) {
      const data = new Random(50)
        .fork(parameter.path)
        .fillNormal(new Float32Array(parameter.elements), 0, 0.15);
      const { dtype } = parameter;
      values.set(
        parameter.path,
        dtype === 'f16' ? toFloat16(data) : dtype === 'bf16' ? toBFloat16(data) : data,
      );
    }
    await handle.replace(layer, values);
  }
}

async function open(simulateMb: number | null): Promise<Rig> {
  const settings = {
    ...defaultSettings(),
    'compute.device': 'CPU',
    'compute.threads': 1,
    'compute.simulate_vram_mb': simulateMb,
    'compute.vram_reserve_mb': 0,
  };
  const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
  const book = await runtime.deviceFor();
  const module = new Layers();
  const handle = handleOn({ module }, book);
  runtime.manager.register(handle);
  return { runtime, handle, module };
}

async function close({ runtime, handle }: Rig): Promise<void> {
  await runtime.manager.unregister(handle);
  await runtime.close();
}

const rows = 3;

/** Two guidance passes over the same weights; the second reads what the first computed. */
async function passes({ runtime, module }: Rig): Promise<string> {
  const book = await runtime.deviceFor();
  const g = new GraphBuilder(addon);
  g.output('y', module.forward(g, g.input('x', 'f32', [rows, width])));
  const graph = g.compile(book.device, book.arena);
  try {
    const x = new Random(9).fillNormal(new Float32Array(rows * width));
    const conditional = await graph.runFloat32({ x }, 'y');
    const unconditional = await graph.runFloat32({ x: new Float32Array(rows * width) }, 'y');
    const guided = conditional.map(
      (value, index) => unconditional[index]! + 3 * (value - unconditional[index]!),
    );
    if (!guided.every(Number.isFinite)) throw new Error('NaN or infinity in the output.');
    return createHash('sha256').update(new Uint8Array(guided.buffer)).digest('hex');
  } finally {
    graph.dispose();
  }
}

beforeAll(() => {
  process.env.MIZUOTO_POISON_SLOTS = '1';
});
afterAll(() => {
  delete process.env.MIZUOTO_POISON_SLOTS;
});

describe('same seed, any plan', () => {
  it(`one checksum over ${plans} random plans`, async () => {
    const plain = await open(null);
    await adapt(plain);
    const expected = await passes(plain);
    const { sizeBytes } = plain.handle;
    await close(plain);

    const random = new Random(2026);
    const chance = (share: number): boolean => random.uniform() < share;
    const totalMb = (sizeBytes / 2 ** 20) * 1.5;
    let rig = await open(totalMb);
    let adapted = false;
    let failures = 0;
    let retries = 0;
    const residents = new Set<number>();
    for (let plan = 0; plan < plans; plan++) {
      const { runtime, handle } = rig;
      const device = handle.device;
      if (!adapted) await adapt(rig);
      adapted = true;
      // Other programs come and go.
      const foreign = chance(0.7) ? random.uniform() * (totalMb * 0.8) * 2 ** 20 : 0;
      device.setForeignBytes(Math.round(foreign));
      // Units leave at random borders.
      for (let unit = 0; unit < unitCount; unit++) if (chance(0.1)) await handle.giveUpUnit(unit);
      handle.capBytes = chance(0.2) ? Math.round(random.uniform() * sizeBytes) : null;
      const policy = {
        ...runtime.policy(),
        asyncOffload: random.integer(4),
        mode: chance(0.2) ? ('none' as const) : ('normal' as const),
        residency: chance(0.5) ? ('rule' as const) : ('cost' as const),
      };
      device.setFaults({ failAllocation: 1 + random.integer(20) });
      const ctx = await contextOf(rig, policy, `plan ${plan}`);
      try {
        expect(await ctx.run('layers', [handle], () => passes(rig), 256 * 1024)).toBe(expected);
        residents.add(handle.placementOrder.length);
      } catch (error) {
        // A device that other programs fill may have no room at all; then it is said.
        expect((error as { code?: string }).code).toBe('out_of_device_memory');
        failures++;
      }
      device.setFaults(null);
      retries += runtime.events().filter(({ kind }) => kind === 'out_of_memory' || kind === 'retry').length;
      runtime.manager.verify();
      if (plan % 50 === 49) {
        await close(rig);
        rig = await open(totalMb);
        adapted = false;
      }
    }
    await close(rig);
    expect(failures).toBeLessThan(plans / 10);
    // The plans were as different as they were meant to be.
    expect(residents.size).toBeGreaterThan(20);
    expect(retries).toBeGreaterThan(20);
  }, 180_000);
});

async function contextOf({ runtime }: Rig, policy: ReturnType<RuntimeService['policy']>, id: string) {
  const signal = runtime.cancelToken(new AbortController().signal);
  return new RequestContext({
    manager: runtime.manager,
    book: await runtime.deviceFor(),
    owner: id,
    policy,
    signal,
  });
}
