import { describe, expect, it } from 'vitest';
import type { Device, WeightStore } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import { causalMask } from './masks.ts';
import { Random } from './random.ts';
import { randomWeights } from './random-weights.ts';
import { addon } from './testing/devices.ts';
import { Stack, unitsOf, width } from './testing/stack.ts';
import { itOnVulkan } from './testing/suites.ts';

const positions = 9;

/** The stack's output for one input, with the units that `place` chose on the device and the rest streaming. */
async function run(
  device: Device,
  dtype: 'f32' | 'f16',
  place: (store: WeightStore) => Promise<void>,
): Promise<Float32Array> {
  const stack = new Stack();
  const unitModules = stack.memoryUnits();
  const store = randomWeights(addon, stack, {
    component: 'stack',
    seed: 11,
    dtype,
    unitModules,
    unitOf: unitsOf(unitModules),
  });
  store.bind(device);
  await place(store);
  const g = new GraphBuilder(addon);
  const x = g.input('x', 'f32', [1, positions, width]);
  const mask = g.input('mask', 'f32', [positions, positions]);
  const at = g.input('positions', 'i32', [positions]);
  g.output('y', stack.forward(g, x, { positions: at, mask }));
  const arena = device.createArena();
  const graph = g.compile(device, arena);
  const inputs = {
    x: new Random(5).fillNormal(new Float32Array(positions * width)),
    mask: causalMask(positions, positions),
    positions: Int32Array.from({ length: positions }, (_, index) => index),
  };
  const first = await graph.run(inputs);
  const second = await graph.run(inputs);
  expect(second).toEqual(first);
  graph.dispose();
  arena.dispose();
  await store.dispose();
  return first.y as Float32Array;
}

async function withDevice(
  simulateBytes: number | null,
  body: (device: Device) => Promise<void>,
): Promise<void> {
  const device = await addon.openDevice({
    name: 'CPU',
    threads: 1,
    ...(simulateBytes === null ? {} : { simulateBytes }),
  });
  try {
    await body(device);
  } finally {
    await device.close();
  }
}

function largestUnit(store: WeightStore): number {
  return Math.max(...Array.from({ length: store.unitCount }, (_, unit) => store.unitBytes(unit)));
}

async function everything(store: WeightStore): Promise<void> {
  for (let unit = -1; unit < store.unitCount; unit += 1) await store.place(unit);
}

describe.each(['f32', 'f16'] as const)('a stack of layers with %s weights', (dtype) => {
  it.each([
    ['one copy at a time', 1, false],
    ['copying ahead', 2, true],
  ])('gives the same bits streamed, %s, and resident', async (_, slots, prefetch) => {
    let plain: Float32Array = new Float32Array();
    await withDevice(null, async (device) => {
      plain = await run(device, dtype, everything);
    });
    expect(plain.every(Number.isFinite)).toBe(true);
    expect(Math.max(...plain.map(Math.abs))).toBeGreaterThan(0.1);
    await withDevice(4 * 2 ** 20, async (device) => {
      expect(await run(device, dtype, everything)).toEqual(plain);
      const streamed = await run(device, dtype, async (store) => {
        await store.place(-1);
        await device.setStreamer({ slots, slotBytes: largestUnit(store), prefetch });
      });
      expect(streamed).toEqual(plain);
      expect(device.streamerStats().streamedBytes).toBeGreaterThan(0);
      const half = await run(device, dtype, async (store) => {
        for (let unit = -1; unit < store.unitCount; unit += 2) await store.place(unit);
      });
      expect(half).toEqual(plain);
    });
  });
});

describe('a stack of layers on Vulkan', () => {
  itOnVulkan('gives the same bits streamed and resident', async (device) => {
    const resident = await run(device, 'f32', everything);
    const streamed = await run(device, 'f32', async (store) => {
      await store.place(-1);
      await device.setStreamer({ slots: 2, slotBytes: largestUnit(store), prefetch: true });
    });
    expect(streamed).toEqual(resident);
    expect(device.streamerStats().streamedBytes).toBeGreaterThan(0);
  });
});
