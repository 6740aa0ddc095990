import { afterAll, describe, expect, it } from 'vitest';
import type { Device } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import { KVCache, type KVCacheKind } from './kv-cache.ts';
import { PlannedCache, peakBytes } from './kv-plan.ts';
import { causalMask } from './masks.ts';
import { randomWeights } from './random-weights.ts';
import { addon } from './testing/devices.ts';
import { Stack, width } from './testing/stack.ts';

const opened: Device[] = [];
async function simulated(): Promise<Device> {
  const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
  opened.push(device);
  return device;
}
afterAll(async () => {
  for (const device of opened) await device.close();
});

const kvHeads = 2;
const headDim = 8;
const positionBytes = 2 * kvHeads * headDim * 4;

describe('peakBytes', () => {
  it.each<[KVCacheKind, number, number, number, number]>([
    ['dynamic', 3, 1, 64, 500],
    ['dynamic', 4, 2, 130, 200],
    ['static', 3, 1, 64, 500],
    ['static', 2, 2, 130, 900],
    ['static', 2, 1, 64, 64],
    ['dynamic', 2, 1, 200, 190],
  ])(
    '%s, %i layers, %i rows, %i positions at first, %i in the end: what the device is seen to hold',
    async (kind, layers, rows, first, positions) => {
      const device = await simulated();
      device.resetPeak();
      const cache = await KVCache.create(addon, device, {
        layers,
        kvHeads,
        headDim,
        batch: rows,
        kind,
        capacity: first,
      });
      let most = device.memory().held.state;
      while (cache.length < positions) {
        const before = device.memory().held.state;
        await cache.reserve(1);
        // One group after the other: the new one beside what is not copied yet.
        const { held } = device.memory();
        const groups = kind === 'static' ? 1 : layers;
        most = Math.max(most, held.state, before + held.state / groups);
        cache.advance(1);
      }
      const peak = peakBytes(positionBytes, layers, positions, kind, { rows, first });
      const measured = device.memory().peakWorkingBytes;
      cache.dispose();
      expect(peak).toBeGreaterThanOrEqual(device.memory().held.state);
      // Beside the cache itself, growing takes scratch memory for one layer's rows.
      const scratch = kind === 'static' ? layers * 2 : 2;
      const rowsBytes = (positions + 64) * positionBytes * rows;
      expect(measured).toBeLessThanOrEqual(peak + scratch * rowsBytes);
      expect(peak).toBeLessThanOrEqual(Math.max(most, measured) * 1.35);
    },
  );
});

describe('PlannedCache', () => {
  it.each([1, 7])(
    '%i new positions: the plan has the bytes of the graph that runs on a real cache',
    async (count) => {
      const device = await simulated();
      const layers = 3;
      const model = new Stack(layers, 0);
      const store = randomWeights(addon, model, { component: 'stack', seed: 1 });
      store.bind(device);
      await store.place(-1);
      const keys = 128;
      const record = (
        g: GraphBuilder,
        cacheOf: (g: GraphBuilder) => Parameters<Stack['forward']>[2]['caches'],
      ) => {
        const caches = cacheOf(g);
        const x = g.input('x', 'f32', [1, count, width]);
        const positions = g.input('positions', 'i32', [count]);
        const mask = g.input('mask', 'f32', [count, keys]);
        g.output('y', model.forward(g, x, { positions, mask, caches }));
      };
      const planned = new PlannedCache({ layers, kvHeads, headDim }, keys);
      const plannedGraph = new GraphBuilder(addon);
      record(plannedGraph, () => (layer) => planned.view(layer));
      const without = planned.without(plannedGraph.plan(device));

      const cache = await KVCache.create(addon, device, { layers, kvHeads, headDim, capacity: keys });
      const g = new GraphBuilder(addon);
      record(g, (builder) => {
        const slots = builder.input('slots', 'i64', [count]);
        return (layer) => cache.view(layer, slots);
      });
      const arena = device.createArena();
      const graph = g.compile(device, arena);
      const inputs = {
        x: new Float32Array(count * width).fill(0.1),
        positions: Int32Array.from({ length: count }, (_, index) => index),
        mask: causalMask(count, keys, 0),
        slots: cache.slots(count),
      };
      await graph.run(inputs);
      const { computeBytes, ioBytes } = graph.plan;
      expect(without.computeBytes).toBeGreaterThanOrEqual(computeBytes);
      expect(without.computeBytes).toBeLessThanOrEqual(computeBytes * 1.1);
      expect(without.ioBytes).toBeGreaterThanOrEqual(ioBytes);
      expect(without.ioBytes).toBeLessThanOrEqual(ioBytes + 1024 + 256 * 4 * layers);
      graph.dispose();
      cache.dispose();
      arena.dispose();
      await store.dispose();
    },
  );
});
