import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Checkpoint, Device } from '../../native/addon.ts';
import { loadAddon } from '../../native/load.ts';
import { Linear } from '../nn/layers/linear.ts';
import { Module } from '../nn/module.ts';
import { temporaryFolder, writeSafetensors } from '../nn/testing/safetensors.ts';
import { DeviceBook } from './device-book.ts';
import { loadComponent } from './load-component.ts';
import { pin } from './pinned.ts';

const width = 512;

class Stack extends Module {
  readonly layers = [new Linear(width, width), new Linear(width, width)];
}

const addon = loadAddon();
const { folder, remove } = temporaryFolder();
let cpu: Device;
let book: DeviceBook;
let checkpoint: Checkpoint;

beforeAll(async () => {
  cpu = await addon.openDevice({ name: 'CPU', threads: 1 });
  book = new DeviceBook(await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 23 }));
  const weights = [0, 1].flatMap((layer) => [
    [
      `layers.${layer}.weight`,
      { dtype: 'F32', shape: [width, width], data: new Float32Array(width * width) },
    ],
    [`layers.${layer}.bias`, { dtype: 'F32', shape: [width], data: new Float32Array(width) }],
  ]);
  const file = writeSafetensors(join(folder, 'stack.safetensors'), Object.fromEntries(weights));
  checkpoint = await addon.openCheckpoint([file]);
});
afterAll(async () => {
  checkpoint.close();
  await book.dispose();
  await cpu.close();
  remove();
});

const load = (module: Module) =>
  loadComponent({
    addon,
    engine: 'stack',
    model: 'stack',
    component: 'stack',
    kind: 'oneshot',
    module,
    checkpoint,
    book,
  });

it('a component that is pinned is on the processor, whole and without units; another one where it was asked for', async () => {
  const module = new Stack();
  pin(module, cpu);
  const [pinned, moving] = [await load(module), await load(new Stack())];
  expect(pinned.handle.device).toBe(cpu);
  expect(pinned.handle).toMatchObject({ onHost: true, unitCount: 0, loadedBytes: pinned.handle.sizeBytes });
  expect(moving.handle.device).toBe(book.device);
  // The first parameter stays with the fixed part.
  expect(moving.handle).toMatchObject({ onHost: false, unitCount: 1, loadedBytes: 0 });
  for (const { handle } of [pinned, moving]) await handle.dispose();
});

it('a part of a component cannot be on another device than the rest: it has to be a component', async () => {
  const module = new Stack();
  pin(module.layers[1]!, cpu);
  await expect(load(module)).rejects.toThrow(
    /^"layers\.1" of "stack" is pinned to the processor .* component of its own/,
  );
});
