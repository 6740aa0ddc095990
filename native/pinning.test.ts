/** The host side of weights in page-locked memory: the same values wherever it lies, and every way in and out. */
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Checkpoint, Device, OpenDeviceOptions, WeightStore } from './addon.ts';
import { blocks, compile, elements, matrix, names, openBlocks, storeOf } from './test-blocks.ts';
import { writeSafetensors } from './test-checkpoints.ts';
import {
  absentVulkan,
  addon,
  failure,
  failureCode,
  noise,
  placeAll,
  toHalf,
  unplaceUnits,
  vulkanName,
  vulkanRequired,
} from './test-support.ts';

// Slots hold NaN until their copy is whole: a kernel that reads too early cannot go unnoticed.
process.env.MIZUOTO_POISON_SLOTS = '1';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-pinning-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
async function openFile(): Promise<{ path: string; checkpoint: Checkpoint }> {
  const path = join(folder, `${files++}.safetensors`);
  return { path, checkpoint: await openBlocks(path) };
}

const pinAll = async (store: WeightStore) => {
  const pinned = [];
  for (let unit = 0; unit < store.unitCount; unit++) pinned.push(await store.pin(unit));
  return pinned;
};

const stream = (device: Device, store: WeightStore) =>
  device.setStreamer({ slots: 2, slotBytes: store.unitBytes(0), prefetch: true });

const simulate = { name: 'CPU', threads: 1, simulateBytes: 256 * 2 ** 20 };
const kinds = [
  { kind: 'a simulated device, by buffers', options: simulate },
  { kind: 'a simulated device, in place', options: { ...simulate, locksHostMemory: true } },
  { kind: 'Vulkan', options: { name: vulkanName ?? '' } },
] satisfies { kind: string; options: OpenDeviceOptions }[];

const ownedOfUnit = 2 * elements * 4;
const unitBytes = 3 * elements * 4;

describe.each(kinds)('on $kind', ({ kind, options }) => {
  const skipped = kind === 'Vulkan' && vulkanName === null && !vulkanRequired;
  const open: Device[] = [];
  afterEach(() => Promise.all(open.splice(0).map((device) => device.close())));
  const openDevice = async () => {
    const device = await addon.openDevice(options);
    open.push(device);
    return device;
  };
  const test = (name: string, body: () => Promise<void>) =>
    it(name, async (context) => {
      if (skipped) context.skip(absentVulkan);
      await body();
    });

  /** A store on a device, and what it computes when nothing was ever pinned. */
  async function setUp() {
    const device = await openDevice();
    const { path, checkpoint } = await openFile();
    const plain = storeOf(checkpoint, 'plain');
    plain.bind(device);
    await placeAll(plain);
    const expected = await compile(device, plain)();
    await plain.dispose();
    const store = storeOf(checkpoint);
    store.bind(device);
    return { device, path, checkpoint, store, run: compile(device, store), expected };
  }

  test('values are the same before, in and after page-locked memory', async () => {
    const { device, store, run, expected } = await setUp();
    expect(store.ownedBytes(0)).toBe(ownedOfUnit);
    const same = async () => expect((await run()).equals(expected)).toBe(true);
    expect(await pinAll(store)).toEqual(Array(blocks).fill(unitBytes));
    expect(store.ownedHostBytes).toBe(blocks * ownedOfUnit);
    await placeAll(store);
    await same();
    await unplaceUnits(store);
    await stream(device, store);
    await same();
    // What is no longer pinned lies in plain memory again, without being read anew.
    store.unpin(1);
    await same();
    expect(store.ownedHostBytes).toBe(blocks * ownedOfUnit);
    expect(await store.pin(1)).toBe(unitBytes);
    await same();
    for (let unit = 0; unit < blocks; unit++) store.unpin(unit);
    await same();
    await placeAll(store);
    await same();
  });

  test('what was pinned after it was used is the same, too', async () => {
    const { device, store, run, expected } = await setUp();
    await placeAll(store);
    await pinAll(store);
    await unplaceUnits(store);
    await placeAll(store);
    expect((await run()).equals(expected)).toBe(true);
    await unplaceUnits(store);
    await stream(device, store);
    for (let round = 0; round < 2; round++) expect((await run()).equals(expected)).toBe(true);
    await store.dispose();
    expect(device.memory().held.weights).toBe(0);
  });

  test('dropped host memory is read again, and what lies in no file stays', async () => {
    const { store, run, expected } = await setUp();
    await pinAll(store);
    await placeAll(store);
    for (let unit = 0; unit < blocks; unit++) expect(await store.dropHost(unit)).toBe(elements * 4);
    expect(store.ownedHostBytes).toBe(blocks * elements * 4);
    expect((await run()).equals(expected)).toBe(true);
    for (let unit = 0; unit < blocks; unit++) store.unpin(unit);
    await unplaceUnits(store);
    await placeAll(store);
    expect(store.ownedHostBytes).toBe(blocks * ownedOfUnit);
    expect((await run()).equals(expected)).toBe(true);
  });

  test('new values reach pinned memory, and stay when it is given up', async () => {
    const { device, checkpoint, store, run } = await setUp();
    const fresh = storeOf(checkpoint, 'fresh');
    fresh.bind(device);
    const change = async (target: WeightStore) => {
      for (const [i, name] of names.entries()) await target.replace(`1.${name}`, matrix(70 + i));
    };
    await change(fresh);
    await placeAll(fresh);
    const expected = await compile(device, fresh)();
    await fresh.dispose();

    await pinAll(store);
    await store.place(1);
    await change(store);
    expect(store.ownedBytes(1)).toBe(unitBytes);
    await placeAll(store);
    expect((await run()).equals(expected)).toBe(true);
    await unplaceUnits(store);
    await stream(device, store);
    expect((await run()).equals(expected)).toBe(true);
    store.unpin(1);
    expect((await run()).equals(expected)).toBe(true);
    expect(store.ownedHostBytes).toBe((blocks - 1) * ownedOfUnit + unitBytes);
  });

  test('two components that read the same weights are pinned side by side', async () => {
    const { device, checkpoint, store, run, expected } = await setUp();
    const other = storeOf(checkpoint, 'other');
    other.bind(device);
    const runOther = compile(device, other);
    await pinAll(store);
    await stream(device, store);
    for (const pinned of [false, true]) {
      if (pinned) expect(await pinAll(other)).toEqual(Array(blocks).fill(unitBytes));
      expect((await runOther()).equals(expected)).toBe(true);
      expect((await run()).equals(expected)).toBe(true);
    }
    // The first to have locked them goes.
    await store.dispose();
    expect((await runOther()).equals(expected)).toBe(true);
  });

  test('a file that was cut is not pinned, and placing says so', async () => {
    const { path, store } = await setUp();
    truncateSync(path, 4096);
    expect(await store.pin(0)).toBe(0);
    expect((await failure(() => store.place(0))).message).toContain('was shortened');
  });

  test('pinned weights are bound to their device, and go with it', async () => {
    const { device, store, run, expected } = await setUp();
    const host = await addon.openDevice({ name: 'CPU', threads: 1 });
    await pinAll(store);
    expect(await failureCode(() => store.bind(host))).toBe('InvalidArgument');
    for (let unit = 0; unit < blocks; unit++) store.unpin(unit);
    store.bind(host);
    expect(await store.pin(0)).toBe(0);
    store.bind(device);
    await pinAll(store);
    await placeAll(store);
    expect((await run()).equals(expected)).toBe(true);
    const disposing = store.dispose();
    expect(await failureCode(() => store.pin(0))).toBe('Disposed');
    await disposing;
    await host.close();
  });

  test('closing the device under pinned weights', async () => {
    const { device, store } = await setUp();
    await pinAll(store);
    await stream(device, store);
    await device.close();
    expect(await store.pin(1)).toBe(unitBytes);
    store.unpin(0);
    expect(await store.pin(0)).toBe(0);
    await store.dispose();
  });
});

describe('copies on a device that locks memory where it lies', () => {
  it('are cut where locked memory begins and ends', async () => {
    const device = await addon.openDevice({ ...simulate, locksHostMemory: true });
    const { checkpoint } = await openFile();
    const store = storeOf(checkpoint);
    store.bind(device);
    const run = compile(device, store);
    await device.setStreamer({ slots: 1, slotBytes: store.unitBytes(0), prefetch: false });
    // One copy per weight. Of a unit that is locked, three per weight.
    device.setFaults({ failCopy: blocks * names.length + 1 });
    await run();
    await store.pin(0);
    expect(await failureCode(run)).toBe('DeviceLost');
    await device.close();
  });
});

describe('a unit whose weights take long to convert', () => {
  const side = 2048;
  const count = 8;
  async function large(dtype: 'q5_1' | 'f32') {
    const path = join(folder, `${files++}.safetensors`);
    const bytes = toHalf(noise(side * side, 5));
    const shape = [side, side];
    const tensors = Array.from({ length: count }, (_, i) => ({
      name: `${i}`,
      dtype: 'F16' as const,
      shape,
      bytes,
    }));
    writeSafetensors(path, tensors, 64);
    const checkpoint = await addon.openCheckpoint([path]);
    const device = await addon.openDevice({ ...simulate, simulateBytes: 2 ** 30 });
    const store = addon.createWeightStore(
      'large',
      tensors.map(({ name }) => ({ name, shape, dtype, unit: 0, source: { checkpoint, tensor: name } })),
    );
    store.bind(device);
    return { device, store };
  }

  it('can be cancelled, also by closing the device, and pinned after that', async () => {
    const { device, store } = await large('q5_1');
    const begin = performance.now();
    expect(await store.pin(0)).toBe(store.unitBytes(0));
    const whole = performance.now() - begin;
    await store.place(0);
    await store.dropHost(0);
    await store.unplace(0);

    const cancel = addon.createCancelToken();
    const pinning = store.pin(0, cancel);
    await new Promise((resolve) => setTimeout(resolve, whole / 20));
    const cancelled = performance.now();
    cancel.cancel();
    expect(await pinning).toBe(0);
    expect(performance.now() - cancelled).toBeLessThan(whole / 2);
    expect(store.ownedHostBytes).toBe(0);
    expect(await store.pin(0)).toBe(store.unitBytes(0));
    await store.place(0);
    await store.dropHost(0);

    const interrupted = store.pin(0);
    const closing = performance.now();
    await device.close();
    expect(performance.now() - closing).toBeLessThan(whole / 2);
    expect(await interrupted).toBe(0);
  });

  // What other systems' allocators keep is theirs.
  it.runIf(process.platform === 'linux')('gives its memory back to the system', async () => {
    for (const pinned of [false, true]) {
      const { device, store } = await large('f32');
      await store.place(0);
      if (pinned) await store.pin(0);
      const before = addon.hostMemory().processBytes;
      expect(await store.dropHost(0)).toBe(store.unitBytes(0));
      const given = before - addon.hostMemory().processBytes;
      expect(given).toBeGreaterThan(0.8 * store.unitBytes(0));
      await device.close();
    }
  });
});
