/** Weights that a device reads where they lie in their checkpoint: the same values, one memory, and every way out of it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Checkpoint, Device, DType, OpenDeviceOptions, WeightSpec, WeightStore } from './addon.ts';
import { nativeFolder } from './load.ts';
import { rawBytes, type StoredTensor, writeSafetensors } from './test-checkpoints.ts';
import {
  absentVulkan,
  addon,
  bytesOf,
  failure,
  failureCode,
  noise,
  placeAll,
  toHalf,
  unplaceUnits,
  vulkanName,
  vulkanRequired,
} from './test-support.ts';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-mapping-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const width = 64;
const rows = 3;
const blocks = 4;

function writeFile(name: string, tensors: readonly StoredTensor[]): string {
  const path = join(folder, name);
  writeSafetensors(path, tensors, 256);
  return path;
}

const matrix = (seed: number) => noise(width * width, seed).map((value) => value / Math.sqrt(width));

/** Residual blocks of rms_norm, linear, gelu, linear; `gapOf` shifts a tensor's place in the file. */
function blockTensors(gapOf: (name: string) => number = () => 0): StoredTensor[] {
  const tensors: StoredTensor[] = [];
  for (let block = 0; block < blocks; block++) {
    const add = (name: string, dtype: 'F32' | 'F16', shape: number[], bytes: Uint8Array) =>
      tensors.push({ name: `${block}.${name}`, dtype, shape, bytes, gap: gapOf(`${block}.${name}`) });
    add('norm', 'F32', [width], rawBytes(noise(width, 900 + block).map((value) => 1 + value / 10)));
    add('up', 'F16', [width, width], toHalf(matrix(2 * block)));
    add('down', 'F32', [width, width], rawBytes(matrix(2 * block + 1)));
  }
  return tensors;
}

/** As the file has them: matrices of a block are a unit, norms are fixed. */
function storeOf(checkpoint: Checkpoint, dtypes: Record<string, DType> = {}): WeightStore {
  const specs: WeightSpec[] = [];
  for (const { name, shape, dtype } of checkpoint.tensors) {
    if (name.startsWith('gap.')) continue;
    const unit = name.endsWith('norm') ? -1 : Number(name[0]);
    const own = dtypes[name.slice(2)] ?? (dtype as DType);
    specs.push({ name, shape, dtype: own, unit, source: { checkpoint, tensor: name } });
  }
  return addon.createWeightStore('blocks', specs);
}

const input = noise(rows * width, 7);

async function runBlocks(device: Device, store: WeightStore): Promise<Float32Array> {
  const recorder = addon.createRecorder();
  const first = recorder.input('f32', [rows, width]);
  let x = first;
  for (let block = 0; block < blocks; block++) {
    recorder.setUnit(store, block);
    let y = recorder.op('rms_norm', [x], [1e-5]);
    y = recorder.op('mul', [y, recorder.weight(store, `${block}.norm`)]);
    y = recorder.op('mul_mat', [recorder.weight(store, `${block}.up`), y]);
    y = recorder.op('gelu_erf', [y]);
    y = recorder.op('mul_mat', [recorder.weight(store, `${block}.down`), y]);
    x = recorder.op('add', [x, y]);
    recorder.setUnit(null, 0);
  }
  recorder.output(x);
  const arena = device.createArena();
  const graph = recorder.compile(device, arena);
  try {
    return (await graph.run({ inputs: [[first, input]] }))[0] as Float32Array;
  } finally {
    graph.dispose();
    arena.dispose();
  }
}

async function placeInPlace(store: WeightStore): Promise<number> {
  let bytes = 0;
  for (let unit = -1; unit < store.unitCount; unit++) bytes += await store.place(unit, undefined, true);
  return bytes;
}

const sizeOf = (store: WeightStore): number => {
  let bytes = store.fixedBytes;
  for (let unit = 0; unit < store.unitCount; unit++) bytes += store.unitBytes(unit);
  return bytes;
};

const same = (a: Float32Array, b: Float32Array) => bytesOf(a).equals(bytesOf(b));

const kinds = [
  { kind: 'a simulated device', options: { name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 } },
  { kind: 'Vulkan', options: { name: vulkanName ?? '', importHostMemory: true } },
] satisfies { kind: string; options: OpenDeviceOptions }[];

describe.each(kinds)('on $kind', ({ kind, options }) => {
  const skipped = kind === 'Vulkan' && vulkanName === null && !vulkanRequired;
  const open: Device[] = [];
  afterEach(async () => {
    for (const device of open.splice(0)) await device.close();
  });
  async function device(more: Partial<OpenDeviceOptions> = {}): Promise<Device> {
    if (options.name === '') throw new Error(absentVulkan);
    const opened = await addon.openDevice({ ...options, ...more });
    open.push(opened);
    return opened;
  }

  it.skipIf(skipped)('nothing is copied, and every value is the same', async () => {
    const on = await device();
    expect(on.mapsHostMemory).toBe(true);
    const checkpoint = await addon.openCheckpoint([writeFile(`${kind}.same.safetensors`, blockTensors())]);
    const store = storeOf(checkpoint);
    store.bind(on);
    await placeAll(store);
    expect(store.mappedBytes).toBe(0);
    const copied = await runBlocks(on, store);
    expect(on.memory().held.weights).toBe(sizeOf(store));
    for (let unit = -1; unit < blocks; unit++) await store.unplace(unit);
    expect(on.memory().held.weights).toBe(0);

    const before = store.unitStats(0);
    expect(await placeInPlace(store)).toBe(sizeOf(store));
    const mapped = await runBlocks(on, store);
    expect(same(mapped, copied)).toBe(true);
    expect(store.mappedBytes).toBe(sizeOf(store));
    expect(store.ownedHostBytes).toBe(0);
    expect(store.unitStats(0)).toMatchObject({
      copiedBytes: before.copiedBytes,
      mappedBytes: store.unitBytes(0),
      refusedBytes: 0,
    });
    // Counted as what they are.
    expect(on.memory().held.weights).toBe(sizeOf(store));
    await unplaceUnits(store);
    expect(store.mappedBytes).toBe(store.fixedBytes);
    expect(on.memory().held.weights).toBe(store.fixedBytes);
    await store.dispose();
    expect(store.mappedBytes).toBe(0);
    expect(on.memory().held.weights).toBe(0);
  });

  it.skipIf(skipped)('what a device cannot read where it lies is copied, weight by weight', async () => {
    const on = await device();
    // Where elements are cut in two nobody reads in place; four bytes off, a processor does and a GPU does not.
    const gaps: Record<string, number> = { '0.up': 1, '1.down': 4, '2.up': 2 };
    const path = writeFile(
      `${kind}.gaps.safetensors`,
      blockTensors((name) => gaps[name] ?? 0),
    );
    const checkpoint = await addon.openCheckpoint([path]);
    const store = storeOf(checkpoint, { norm: 'f32', down: 'f16' });
    store.bind(on);
    await placeInPlace(store);
    const half = store.unitBytes(0) / 2;
    // `down` was narrowed; `up` is in place unless it lies badly.
    const placed = [0, 1, 2, 3].map((unit) => store.unitStats(unit).mappedBytes);
    const gpu = kind === 'Vulkan';
    expect(placed).toEqual([0, half, gpu ? 0 : half, half]);
    expect(store.unitStats(1).copiedBytes).toBe(half);
    const mapped = await runBlocks(on, store);
    expect(on.memory().held.weights).toBe(sizeOf(store));
    for (let unit = -1; unit < blocks; unit++) await store.unplace(unit);
    await placeAll(store);
    expect(same(mapped, await runBlocks(on, store))).toBe(true);
    // What was converted can leave the host; what is mapped has nothing there.
    for (let unit = 0; unit < blocks; unit++) await store.unplace(unit);
    await placeInPlace(store);
    expect(await store.dropHost(3)).toBe(half);
    expect(await store.dropHost(3)).toBe(0);
    expect(same(mapped, await runBlocks(on, store))).toBe(true);
    await store.dispose();
  });

  it.skipIf(skipped)(
    'every allocation may fail: nothing is left, and the next attempt is whole',
    async () => {
      const on = await device();
      const checkpoint = await addon.openCheckpoint([
        writeFile(
          `${kind}.faults.safetensors`,
          blockTensors((name) => (name === '1.up' ? 1 : 0)),
        ),
      ]);
      const store = storeOf(checkpoint);
      store.bind(on);
      let failed = 0;
      for (let n = 1; ; n++) {
        on.setFaults({ failAllocation: n });
        const code = await placeInPlace(store).then(
          () => null,
          (error: { code: string }) => error.code,
        );
        on.setFaults(null);
        if (code === null) break;
        expect(code).toBe('OutOfDeviceMemory');
        failed += 1;
        let placed = 0;
        let mapped = 0;
        for (let unit = -1; unit < blocks; unit++) {
          if (store.isPlaced(unit)) placed += unit < 0 ? store.fixedBytes : store.unitBytes(unit);
          mapped += store.unitStats(unit).mappedBytes;
          await store.unplace(unit);
        }
        // Units before it are there; of the one that failed nothing is.
        expect(mapped).toBeLessThanOrEqual(placed);
        expect(on.memory().held.weights).toBe(0);
        expect(store.mappedBytes).toBe(0);
      }
      // Fixed part and four units; one of them takes a buffer of its own, too.
      expect(failed).toBe(6);
      expect(on.memory().held.weights).toBe(sizeOf(store));
      await store.dispose();
    },
  );

  it.skipIf(skipped)('a replaced weight leaves the file, which keeps its values', async () => {
    const on = await device();
    const path = writeFile(`${kind}.replace.safetensors`, blockTensors());
    const before = readFileSync(path);
    const checkpoint = await addon.openCheckpoint([path]);
    const store = storeOf(checkpoint);
    store.bind(on);
    await placeInPlace(store);
    const old = await runBlocks(on, store);
    const fresh = matrix(4711);

    on.setFaults({ failAllocation: 1 });
    expect(await failureCode(() => store.replace('2.down', fresh))).toBe('OutOfDeviceMemory');
    on.setFaults(null);
    expect(same(await runBlocks(on, store), old)).toBe(true);

    await store.replace('2.down', fresh);
    const replaced = await runBlocks(on, store);
    expect(same(replaced, old)).toBe(false);
    expect(store.mappedBytes).toBe(sizeOf(store) - rawBytes(fresh).length);
    expect(on.memory().held.weights).toBe(sizeOf(store));
    expect(store.ownedHostBytes).toBe(rawBytes(fresh).length);
    // Away and back: from its own memory now.
    await store.unplace(2);
    await store.place(2, undefined, true);
    expect(store.unitStats(2).mappedBytes).toBe(store.unitBytes(2) - rawBytes(fresh).length);
    expect(same(await runBlocks(on, store), replaced)).toBe(true);

    const other = storeOf(checkpoint);
    other.bind(on);
    await other.replace('2.down', fresh);
    await placeAll(other);
    expect(same(await runBlocks(on, other), replaced)).toBe(true);
    expect(readFileSync(path).equals(before)).toBe(true);
    await store.dispose();
    await other.dispose();
  });

  it.skipIf(skipped)('components over one file, and files that are closed meanwhile', async () => {
    const on = await device();
    const checkpoint = await addon.openCheckpoint([writeFile(`${kind}.two.safetensors`, blockTensors())]);
    const [one, two] = [storeOf(checkpoint), storeOf(checkpoint)];
    checkpoint.close();
    one.bind(on);
    two.bind(on);
    await placeInPlace(one);
    await placeInPlace(two);
    const spoken = await runBlocks(on, one);
    await one.dispose();
    expect(same(await runBlocks(on, two), spoken)).toBe(true);
    await two.dispose();
    expect(on.memory().held.weights).toBe(0);
  });

  it.skipIf(skipped)('a file that is cut short is an error, not the end of the process', async () => {
    const on = await device();
    const path = writeFile(`${kind}.cut.safetensors`, blockTensors());
    const store = storeOf(await addon.openCheckpoint([path]));
    store.bind(on);
    await placeInPlace(store);
    await runBlocks(on, store);
    truncateSync(path, 4096);
    expect(await failureCode(() => runBlocks(on, store))).toBe('FileTruncated');
    await store.dispose();
    expect(on.memory().held.weights).toBe(0);
  });

  it.skipIf(skipped)('the fixed part in place and units that stream', async () => {
    const on = await device();
    const store = storeOf(
      await addon.openCheckpoint([writeFile(`${kind}.mixed.safetensors`, blockTensors())]),
    );
    store.bind(on);
    await placeAll(store);
    const whole = await runBlocks(on, store);
    for (let unit = -1; unit < blocks; unit++) await store.unplace(unit);
    await store.place(-1, undefined, true);
    await store.place(1, undefined, true);
    await on.setStreamer({ slots: 2, slotBytes: store.unitBytes(0), prefetch: true });
    expect(same(await runBlocks(on, store), whole)).toBe(true);
    // Three units, and the first of them again for a pass to come.
    expect(store.streamedBytes).toBe((3 + 1) * store.unitBytes(0));
    await store.dispose();
  });

  it.skipIf(skipped)('another device, a lost one and a closed one', async () => {
    const store = storeOf(
      await addon.openCheckpoint([writeFile(`${kind}.life.safetensors`, blockTensors())]),
    );
    const first = await device();
    store.bind(first);
    await placeInPlace(store);
    const spoken = await runBlocks(first, store);
    const second = await device();
    expect(() => store.bind(second)).toThrow(/still placed/);
    for (let unit = -1; unit < blocks; unit++) await store.unplace(unit);
    store.bind(second);
    await placeInPlace(store);
    expect(first.memory().held.weights).toBe(0);
    expect(same(await runBlocks(second, store), spoken)).toBe(true);

    second.setFaults({ loseAtSegment: 2 });
    expect(await failureCode(() => runBlocks(second, store))).toBe('DeviceLost');
    await second.close();
    // Closed under it: the device let go of the file, and what the store still says of it ends here.
    expect(second.memory().held.weights).toBe(0);
    await store.replace('0.up', toHalf(matrix(1)));
    for (let unit = -1; unit < blocks; unit++) await store.unplace(unit);
    expect(store.mappedBytes).toBe(0);
    store.bind(first);
    await placeInPlace(store);
    await runBlocks(first, store);
    await store.dispose();
  });

  it.skipIf(skipped)(
    'comes and goes many times, and a process may end in the middle',
    () => {
      if (options.name === '') throw new Error(absentVulkan);
      const path = writeFile(`${kind}.often.safetensors`, blockTensors());
      const script = join(folder, `${kind}.cjs`);
      writeFileSync(script, oftenScript(path, options));
      const result = spawnSync(process.execPath, [script], { encoding: 'utf8', timeout: 110_000 });
      expect(`${result.stderr}${result.signal ?? ''}`).toBe('');
      expect(result.stdout).toBe('ok\n');
      expect(result.status).toBe(0);
    },
    120_000,
  );
});

/** Leaves weights mapped when it ends. */
const oftenScript = (path: string, options: OpenDeviceOptions) => `
const folder = ${JSON.stringify(nativeFolder())};
const addon = require(folder + '/mizuoto.node');
addon.loadBackends(folder);
(async () => {
  let device = await addon.openDevice(${JSON.stringify(options)});
  for (let round = 0; round < 40; round++) {
    const checkpoint = await addon.openCheckpoint([${JSON.stringify(path)}]);
    const names = ['0.norm', '0.up', '3.down'];
    const weights = checkpoint.tensors.filter(({ name }) => names.includes(name));
    const store = addon.createWeightStore('often', weights.map(({ name, shape, dtype }) => (
      { name, shape, dtype, unit: -1, source: { checkpoint, tensor: name } })));
    checkpoint.close();
    store.bind(device);
    await store.place(-1, undefined, true);
    if (store.mappedBytes === 0) throw new Error('Nothing is mapped.');
    const recorder = addon.createRecorder();
    const x = recorder.input('f32', [1, ${width}]);
    const y = recorder.op('mul_mat', [recorder.weight(store, '0.up'), x]);
    recorder.output(recorder.op('mul', [y, recorder.weight(store, '0.norm')]));
    const arena = device.createArena();
    const graph = recorder.compile(device, arena);
    await graph.run({ inputs: [[x, new Float32Array(${width}).fill(1)]] });
    if (round % 3 === 0) await store.unplace(-1);
    if (round % 3 === 1) await store.dispose();
    graph.dispose();
    arena.dispose();
    if (round % 10 === 9) {
      await device.close();
      device = await addon.openDevice(${JSON.stringify(options)});
    }
  }
  console.log('ok');
})();
`;

it('a device that is too small refuses what is mapped as it does what is copied', async () => {
  const store = storeOf(await addon.openCheckpoint([writeFile('small.safetensors', blockTensors())]));
  const simulateBytes = sizeOf(store) - 1;
  const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes });
  store.bind(device);
  expect(await failure(() => placeInPlace(store))).toMatchObject({ code: 'OutOfDeviceMemory' });
  await store.dispose();
  await device.close();
});

it('the processor has nothing to map, and others say what they can', async () => {
  const cpu = await addon.openDevice({ name: 'CPU', threads: 1, importHostMemory: true });
  expect(cpu.mapsHostMemory).toBe(false);
  await cpu.close();
  if (vulkanName === null) return;
  const vulkan = await addon.openDevice({ name: vulkanName });
  expect(vulkan.mapsHostMemory).toBe(vulkan.info().caps.bufferFromHostPtr);
  const store = storeOf(await addon.openCheckpoint([writeFile('asked.safetensors', blockTensors())]));
  store.bind(vulkan);
  await placeInPlace(store);
  expect(store.mappedBytes).toBe(vulkan.mapsHostMemory ? sizeOf(store) : 0);
  expect(store.unitStats(0).refusedBytes).toBe(0);
  await store.dispose();
  await vulkan.close();
});
