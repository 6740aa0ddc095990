import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Device, WeightStore } from '../../native/addon.ts';
import type { GraphBuilder } from './graph.ts';
import { GraphCache } from './graph-cache.ts';
import { BufferCache, DynamicCache, KVCache, type KVCacheKind, type KVCacheOptions } from './kv-cache.ts';
import { causalMask } from './masks.ts';
import { Random } from './random.ts';
import { randomWeights } from './random-weights.ts';
import { addon, openTestDevice, testLimits } from './testing/devices.ts';
import { largestDifference } from './testing/fixtures.ts';
import { Stack, width } from './testing/stack.ts';
import { describeOnDevices } from './testing/suites.ts';

const layers = 2;
const options = { layers, kvHeads: 2, headDim: 8 };

/** Positions `start` to `start + count`, as i32. */
function span(start: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, index) => start + index);
}

/** A stack without convolutions, so that each position depends on earlier ones through attention alone. */
class Decoder {
  readonly stack = new Stack(layers, 0);
  readonly graphs: GraphCache;
  store!: WeightStore;

  constructor(readonly device: Device) {
    this.graphs = new GraphCache(addon, device);
  }

  async load(): Promise<this> {
    this.store = randomWeights(addon, this.stack, { component: 'decoder', seed: 3 });
    this.store.bind(this.device);
    await this.store.place(-1);
    return this;
  }

  /** The whole sequence at once, without a cache: `[batch, count, 5]`. */
  whole(x: Float32Array, count: number, batch = 1): Promise<Float32Array> {
    return this.graphs.use(
      `whole:${batch}:${count}`,
      (g) => {
        const positions = g.input('positions', 'i32', [count]);
        const mask = g.input('mask', 'f32', [count, count]);
        g.output('y', this.stack.forward(g, g.input('x', 'f32', [batch, count, width]), { positions, mask }));
      },
      (graph) => graph.runFloat32({ x, positions: span(0, count), mask: causalMask(count, count) }, 'y'),
    );
  }

  /** The next positions, whose keys and values the cache takes up. */
  async step(cache: KVCache, x: Float32Array, count: number): Promise<Float32Array> {
    await cache.reserve(count);
    const { capacity, length, batch } = cache;
    const record = (g: GraphBuilder): void => {
      const positions = g.input('positions', 'i32', [count]);
      const slots = g.input('slots', 'i64', [count]);
      const mask = g.input('mask', 'f32', [count, capacity]);
      const input = g.input('x', 'f32', [batch, count, width]);
      const caches = (layer: number) => cache.view(layer, slots);
      g.output('y', this.stack.forward(g, input, { positions, mask, caches }));
    };
    const inputs = {
      x,
      positions: span(length, count),
      slots: cache.slots(count),
      mask: causalMask(count, capacity, length),
    };
    const y = await this.graphs.use(`step:${batch}:${count}:${capacity}`, record, (graph) =>
      graph.runFloat32(inputs, 'y'),
    );
    cache.advance(count);
    return y;
  }

  async dispose(): Promise<void> {
    await this.graphs.dispose();
    await this.store.dispose();
  }
}

describeOnDevices('KVCache on %s', (name) => {
  vi.setConfig({ testTimeout: testLimits[name] });

  let device: Device;
  let decoder: Decoder;
  /** Whole sequences are computed on the CPU. */
  let cpu: Device;
  let reference: Decoder;
  // Vulkan multiplies in float16 where a product has more than one column.
  const tolerance = name === 'CPU' ? 1e-5 : 5e-3;

  const caches: KVCache[] = [];

  async function create(more: Partial<KVCacheOptions>): Promise<KVCache> {
    const cache = await KVCache.create(addon, device, { ...options, ...more });
    caches.push(cache);
    return cache;
  }

  // Graphs hold on to the cache that they were recorded for.
  afterEach(() => decoder.graphs.drop('step'));

  beforeAll(async () => {
    device = await openTestDevice(name);
    decoder = await new Decoder(device).load();
    cpu = await openTestDevice('CPU');
    reference = await new Decoder(cpu).load();
  });

  afterAll(async () => {
    for (const cache of caches) cache.dispose();
    await decoder.dispose();
    await reference.dispose();
    await device.close();
    await cpu.close();
  });

  it.each<[KVCacheKind, 'f32' | 'f16', number]>([
    ['dynamic', 'f32', tolerance],
    ['static', 'f32', tolerance],
    ['static', 'f16', 1e-2],
  ])('gives step by step what the whole sequence gives (%s, %s)', async (kind, dtype, limit) => {
    // Past the first block, so that the cache grows on the way.
    const count = 70;
    const x = new Random(8).fillNormal(new Float32Array(count * width));
    const whole = await reference.whole(x, count);
    const cache = await create({ kind, dtype });
    const outputs: Float32Array[] = [];
    // A prompt at once, then mostly one position at a time.
    for (const size of [57, 1, 1, 3, 1, 1, 1, 1, 2, 1, 1]) {
      const from = cache.length * width;
      outputs.push(await decoder.step(cache, x.slice(from, from + size * width), size));
    }
    expect(cache.length).toBe(count);
    expect(cache.capacity).toBe(128);
    expect(cache.bytes).toBeGreaterThanOrEqual(2 * layers * 128 * 16 * (dtype === 'f32' ? 4 : 2));
    const joined = Float32Array.from(outputs.flatMap((part) => [...part]));
    expect(largestDifference(joined, whole)).toBeLessThan(limit);
  });

  it('keeps rows of a batch apart, also when it grows', async () => {
    const count = 66;
    const rows = [1, 2].map((seed) => new Random(seed).fillNormal(new Float32Array(count * width)));
    const cache = await create({ batch: 2, kind: 'static' });
    const part = (from: number, size: number): Float32Array =>
      Float32Array.from(rows.flatMap((row) => [...row.subarray(from * width, (from + size) * width)]));
    await decoder.step(cache, part(0, 63), 63);
    await decoder.step(cache, part(63, 2), 2);
    const last = await decoder.step(cache, part(65, 1), 1);
    for (const [row, x] of rows.entries()) {
      const whole = await reference.whole(x, count);
      const expected = whole.subarray(65 * 5);
      expect(largestDifference(last.subarray(row * 5, row * 5 + 5), expected)).toBeLessThan(tolerance);
    }
  });

  it('goes back to an earlier position', async () => {
    const x = new Random(9).fillNormal(new Float32Array(12 * width));
    const cache = await create({});
    await decoder.step(cache, x.slice(0, 8 * width), 8);
    await decoder.step(cache, new Float32Array(4 * width).fill(3), 4);
    cache.truncate(8);
    const again = await decoder.step(cache, x.slice(8 * width), 4);
    const whole = await reference.whole(x, 12);
    expect(largestDifference(again, whole.subarray(8 * 5))).toBeLessThan(tolerance);
    expect(() => cache.truncate(13)).toThrow(RangeError);
    expect(() => cache.advance(1000)).toThrow(RangeError);
  });
});

describe('the two kinds of KVCache', () => {
  it('grow to what is wanted, or double', async () => {
    const device = await openTestDevice('CPU');
    const shape = { layers: 3, kvHeads: 1, headDim: 4 };
    const dynamic = await KVCache.create(addon, device, shape);
    const buffer = await KVCache.create(addon, device, { ...shape, kind: 'static' });
    expect(dynamic).toBeInstanceOf(DynamicCache);
    expect(buffer).toBeInstanceOf(BufferCache);
    expect([dynamic.kind, buffer.kind]).toEqual(['dynamic', 'static']);
    const capacities: number[][] = [];
    for (const positions of [60, 10, 60, 200]) {
      for (const cache of [dynamic, buffer]) {
        await cache.reserve(positions);
        cache.advance(positions);
      }
      capacities.push([dynamic.capacity, buffer.capacity]);
    }
    expect(capacities).toEqual([
      [64, 64],
      [128, 128],
      [192, 256],
      [384, 512],
    ]);
    for (const cache of [dynamic, buffer]) cache.dispose();
    await device.close();
  });
});

describe('KVCache on a small simulated device', () => {
  it('leaves nothing behind when one of its layers finds no room', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 20 });
    device.setFaults({ failAllocation: 3 });
    const created = KVCache.create(addon, device, { layers: 4, kvHeads: 2, headDim: 8, kind: 'dynamic' });
    await expect(created).rejects.toMatchObject({ code: 'OutOfDeviceMemory' });
    await vi.waitFor(() => expect(device.memory().held.state).toBe(0));
    await device.close();
  });

  it('keeps what it holds when it cannot grow', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 20 });
    const cache = await KVCache.create(addon, device, { layers: 2, kvHeads: 4, headDim: 64, kind: 'static' });
    const before = cache.capacity;
    cache.advance(60);
    await expect(cache.reserve(1000)).rejects.toMatchObject({ code: 'OutOfDeviceMemory' });
    expect([cache.length, cache.capacity]).toEqual([60, before]);
    expect(device.memory().held.state).toBe(cache.bytes);
    cache.dispose();
    // Memory is given back on the device's thread.
    await vi.waitFor(() => expect(device.memory().held.state).toBe(0));
    await device.close();
  });
});
