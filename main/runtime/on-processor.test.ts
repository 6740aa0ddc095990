import { describe, expect, it } from 'vitest';
import { loadAddon } from '../../native/load.ts';
import { defaultSettings, type Settings } from '../contract/settings.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import { ModelHandle } from '../memory/model-handle.ts';
import { decideUnits } from '../memory/units.ts';
import { GraphCache } from '../nn/graph-cache.ts';
import { Embedding } from '../nn/layers/embedding.ts';
import { Linear } from '../nn/layers/linear.ts';
import type { Module } from '../nn/module.ts';
import { randomWeights } from '../nn/random-weights.ts';
import type { ModelSource } from './model-source.ts';
import { RuntimeService } from './runtime-service.ts';

const width = 64;
const rows = 4096;
const ids = Int32Array.of(7, 4095, 0, 12);

interface Parts {
  table: ModelHandle;
  head: ModelHandle;
  onCpu: GraphCache;
  onDevice: GraphCache;
}

function handleOf(book: DeviceBook, component: string, module: Module): ModelHandle {
  const units = decideUnits(module);
  const { unitOf, unitModules } = units;
  const store = randomWeights(addon, module, { component, seed: 1, unitOf, unitModules });
  const { device } = book;
  return new ModelHandle({
    component,
    engine: 'table',
    model: 'table',
    kind: 'oneshot',
    module,
    store,
    units,
    device,
  });
}

const addon = loadAddon();

/** A table of 1 MiB that stays on the processor, and a layer of 16 KiB on the device. */
const source: ModelSource<Parts> = {
  id: 'table',
  engine: 'table',
  name: 'Table',
  load: async ({ book, devices }) => {
    const embedding = new Embedding(rows, width);
    const host = await devices.pinToCpu(embedding);
    const table = handleOf(host, 'table', embedding);
    const head = handleOf(book, 'head', new Linear(width, width));
    const onCpu = new GraphCache(addon, host.device, { arena: host.arena });
    const onDevice = new GraphCache(addon, book.device, { arena: book.arena });
    const unload = async (): Promise<void> => {
      await onCpu.dispose();
      await onDevice.dispose();
    };
    return { value: { table, head, onCpu, onDevice }, handles: [table, head], caches: [onDevice], unload };
  },
};

async function speak(change: Partial<Settings>) {
  const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1, ...change };
  const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
  try {
    const book = await runtime.deviceFor();
    const lease = await runtime.acquire(source, book);
    const { table, head, onCpu, onDevice } = lease.value;
    const { signal } = new AbortController();
    const ctx = runtime.startRequest({ id: 'request', book, settings, signal });
    const y = await ctx.run(
      'look-up and layer',
      [table, head],
      async () => {
        const x = await onCpu.use(
          'rows',
          (g) => g.output('x', (table.module as Embedding).forward(g, g.input('ids', 'i32', [ids.length]))),
          (graph) => graph.runFloat32({ ids }, 'x', { signal: ctx.signal }),
        );
        return onDevice.use(
          'head',
          (g) => g.output('y', (head.module as Linear).forward(g, g.input('x', 'f32', [ids.length, width]))),
          (graph) => graph.runFloat32({ x }, 'y', { signal: ctx.signal }),
        );
      },
      64 * 1024,
    );
    const { held } = book.device.memory();
    lease.release();
    const before = [table.inUse, head.inUse, table.onHost, head.onHost];
    await runtime.unload('table');
    return { y, weights: held.weights, before, left: book.device.memory().held.weights };
  } finally {
    await runtime.close();
  }
}

describe('a component that stays on the processor', () => {
  it('takes no memory of the device, and changes nothing', async () => {
    const plain = await speak({});
    // The table alone is larger than this device.
    const small = await speak({
      'compute.device': 'auto',
      'compute.simulate_vram_mb': 0.5,
      'compute.vram_reserve_mb': 0,
    });
    expect(small.y).toEqual(plain.y);
    expect(small.weights).toBeGreaterThan(0);
    expect(small.weights).toBeLessThan(64 * 1024);
    expect(small.before).toEqual([false, false, true, false]);
    expect(small.left).toBe(0);
  });
});
