import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint, Device, DType, WeightSpec, WeightStore } from './addon.ts';
import { addon, bytesOf, failure, failureCode, noise, placeAll, toHalf } from './test-support.ts';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-weights-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Entry {
  name: string;
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

/** A safetensors file; `lead` bytes before the tensors shift them against every alignment. */
function writeSafetensors(name: string, entries: Entry[], lead = 0): string {
  const header: Record<string, unknown> = {};
  let offset = lead;
  if (lead > 0) header.lead = { dtype: 'U8', shape: [lead], data_offsets: [0, lead] };
  for (const entry of entries) {
    header[entry.name] = {
      dtype: entry.dtype,
      shape: entry.shape,
      data_offsets: [offset, offset + entry.bytes.length],
    };
    offset += entry.bytes.length;
  }
  let text = JSON.stringify(header);
  text += ' '.repeat((8 - (text.length % 8)) % 8);
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(text.length), true);
  const path = join(folder, name);
  writeFileSync(
    path,
    Buffer.concat([size, Buffer.from(text), Buffer.alloc(lead), ...entries.map((e) => e.bytes)]),
  );
  return path;
}

const values = noise(64 * 32, 5);
const bytes = (data: Float32Array) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
const entries: Entry[] = [
  { name: 'full', dtype: 'F32', shape: [64, 32], bytes: bytes(values) },
  { name: 'half', dtype: 'F16', shape: [64, 32], bytes: toHalf(values) },
];

/** Rows that a store's weight has on a device, as float32. */
async function rowsOf(
  device: Device,
  store: WeightStore,
  name: string,
  rows: number,
  unit?: number,
): Promise<Float32Array> {
  const recorder = addon.createRecorder();
  if (unit !== undefined) recorder.setUnit(store, unit);
  const ids = recorder.constant(
    'i32',
    [rows],
    Int32Array.from({ length: rows }, (_, i) => i),
  );
  recorder.output(recorder.op('get_rows', [recorder.weight(store, name), ids]));
  const graph = recorder.compile(device, device.createArena());
  return (await graph.run())[0] as Float32Array;
}

const spec = (name: string, dtype: DType, source: WeightSpec['source'], unit = -1): WeightSpec => ({
  name,
  shape: [64, 32],
  dtype,
  unit,
  source,
});

describe('weights of a checkpoint', () => {
  let host: Device;
  let simulated: Device;
  beforeEach(async () => {
    host = await addon.openDevice({ name: 'CPU', threads: 1 });
    simulated = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 22 });
  });
  afterEach(() => Promise.all([host.close(), simulated.close()]));

  const onBoth = async (make: () => WeightStore, name: string) => {
    const results = [];
    for (const device of [host, simulated]) {
      const store = make();
      store.bind(device);
      await placeAll(store);
      results.push(await rowsOf(device, store, name, 64));
      await store.dispose();
    }
    expect(bytesOf(results[0]!).equals(bytesOf(results[1]!))).toBe(true);
    return results[0]!;
  };

  it.each([0, 1, 2, 3, 4, 6])(
    'are exact at %i bytes off alignment, mapped where that is possible',
    async (lead) => {
      const checkpoint = await addon.openCheckpoint([
        writeSafetensors(`lead${lead}.safetensors`, entries, lead),
      ]);
      const make = () =>
        addon.createWeightStore('c', [
          spec('full', 'f32', { checkpoint, tensor: 'full' }),
          spec('half', 'f16', { checkpoint, tensor: 'half' }),
        ]);
      const full = lead % 4 === 0 ? 0 : 64 * 32 * 4;
      const half = lead % 2 === 0 ? 0 : 64 * 32 * 2;
      expect(make().ownedHostBytes).toBe(full + half);
      expect(bytesOf(await onBoth(make, 'full')).equals(bytesOf(values))).toBe(true);
      const widened = checkpoint.readFloat32('half');
      expect(bytesOf(await onBoth(make, 'half')).equals(bytesOf(widened))).toBe(true);
      checkpoint.close();
    },
  );

  it('are widened exactly and narrowed to the nearest', async () => {
    const checkpoint = await addon.openCheckpoint([writeSafetensors('convert.safetensors', entries)]);
    const store = (dtype: DType, tensor: string) => () =>
      addon.createWeightStore('c', [spec('w', dtype, { checkpoint, tensor })]);
    expect(store('f32', 'half')().ownedHostBytes).toBe(64 * 32 * 4);
    expect(await onBoth(store('f32', 'half'), 'w')).toEqual(checkpoint.readFloat32('half'));
    expect(await onBoth(store('f16', 'full'), 'w')).toEqual(checkpoint.readFloat32('half'));
    const rounded = await onBoth(store('bf16', 'full'), 'w');
    for (const [i, value] of rounded.entries())
      expect(Math.abs(value - values[i]!)).toBeLessThanOrEqual(2 ** -8);
    const quantised = await onBoth(store('q8_0', 'full'), 'w');
    for (const [i, value] of quantised.entries()) expect(Math.abs(value - values[i]!)).toBeLessThan(0.005);
  });

  it.each(['f16', 'bf16', 'q8_0', 'q4_0', 'q5_1'] as const)(
    'are narrowed to %s piece by piece as in one piece',
    async (dtype) => {
      // More than two of the pieces that are converted at a time, and a rest.
      const [rows, columns] = [9, 1056];
      const wide = noise(rows * columns, 6);
      const row = (i: number) => wide.slice(i * columns, (i + 1) * columns);
      const checkpoint = await addon.openCheckpoint([
        writeSafetensors(`pieces-${dtype}.safetensors`, [
          { name: 'whole', dtype: 'F32', shape: [rows, columns], bytes: bytes(wide) },
          ...Array.from({ length: rows }, (_, i) => ({
            name: `row${i}`,
            dtype: 'F32',
            shape: [1, columns],
            bytes: bytes(row(i)),
          })),
        ]),
      ]);
      const store = addon.createWeightStore('c', [
        { name: 'whole', shape: [rows, columns], dtype, unit: -1, source: { checkpoint, tensor: 'whole' } },
        ...Array.from({ length: rows }, (_, i) => ({
          name: `row${i}`,
          shape: [1, columns],
          dtype,
          unit: -1,
          source: { checkpoint, tensor: `row${i}` },
        })),
      ]);
      store.bind(host);
      await placeAll(store);
      const whole = await rowsOf(host, store, 'whole', rows);
      for (let i = 0; i < rows; i++) {
        const alone = await rowsOf(host, store, `row${i}`, 1);
        expect(bytesOf(alone).equals(bytesOf(whole.slice(i * columns, (i + 1) * columns))), `row ${i}`).toBe(
          true,
        );
      }
      await store.dispose();
      checkpoint.close();
    },
  );

  it('refuse values that float16 cannot hold', async () => {
    const large = new Float32Array(64 * 32).fill(1);
    large[77] = 70000;
    const path = writeSafetensors('large.safetensors', [{ ...entries[0]!, bytes: bytes(large) }]);
    const checkpoint = await addon.openCheckpoint([path]);
    const store = addon.createWeightStore('c', [spec('w', 'f16', { checkpoint, tensor: 'full' })]);
    store.bind(simulated);
    const error = await failure(() => store.place(-1));
    expect(error).toMatchObject({ code: 'UnsupportedDType', details: { parameter: 'w', value: 70000 } });
    expect(simulated.memory().held.weights).toBe(0);
  });

  it('stay usable when the checkpoint object is closed', async () => {
    const checkpoint = await addon.openCheckpoint([writeSafetensors('closed.safetensors', entries)]);
    const make = () => addon.createWeightStore('c', [spec('full', 'f32', { checkpoint, tensor: 'full' })]);
    const store = make();
    checkpoint.close();
    expect(await failureCode(make)).toBe('Disposed');
    expect(await failureCode(() => checkpoint.tensors)).toBe('Disposed');
    store.bind(host);
    expect(bytesOf(await rowsOf(host, store, 'full', 64)).equals(bytesOf(values))).toBe(true);
  });

  it('are an error, not a crash, when the file was cut meanwhile', async () => {
    const path = writeSafetensors('cut.safetensors', entries);
    const checkpoint = await addon.openCheckpoint([path]);
    const store = addon.createWeightStore('c', [spec('full', 'f32', { checkpoint, tensor: 'full' })]);
    store.bind(simulated);
    truncateSync(path, 400);
    expect(['FileTruncated', 'FileUnreadable']).toContain(await failureCode(() => store.place(-1)));
  });

  it.each<[string, string, (checkpoint: Checkpoint) => WeightSpec]>([
    [
      'of an unknown name',
      'InvalidArgument',
      (checkpoint) => spec('w', 'f32', { checkpoint, tensor: 'none' }),
    ],
    [
      'of another size',
      'ShapeMismatch',
      (checkpoint) => ({
        ...spec('w', 'f32', { checkpoint, tensor: 'full' }),
        shape: [64, 33],
      }),
    ],
    [
      'of an impossible type',
      'UnsupportedDType',
      (checkpoint) => spec('w', 'i32', { checkpoint, tensor: 'full' }),
    ],
  ])('refuse tensors %s', async (_, code, make) => {
    const checkpoint = await addon.openCheckpoint([writeSafetensors('refused.safetensors', entries)]);
    expect(await failureCode(() => addon.createWeightStore('c', [make(checkpoint)]))).toBe(code);
  });
});

describe('a weight store', () => {
  const data = (name: string, unit: number, fill: number): WeightSpec => ({
    name,
    shape: [2, 4],
    dtype: 'f32',
    unit,
    source: { data: new Float32Array(8).fill(fill) },
  });
  const make = () =>
    addon.createWeightStore('voice', [data('a', -1, 1), data('b', 0, 2), data('c', 1, 3), data('d', 1, 4)]);

  it('knows its units', () => {
    const store = make();
    expect([store.component, store.unitCount, store.fixedBytes]).toEqual(['voice', 2, 32]);
    expect([store.unitBytes(-1), store.unitBytes(0), store.unitBytes(1)]).toEqual([32, 32, 64]);
    expect(store.ownedHostBytes).toBe(4 * 32);
    expect(make().id).not.toBe(store.id);
  });

  it.each<[string, string, () => unknown]>([
    [
      'two weights of one name',
      'InvalidArgument',
      () => addon.createWeightStore('x', [data('a', 0, 1), data('a', 1, 1)]),
    ],
    ['a unit below -1', 'InvalidArgument', () => addon.createWeightStore('x', [data('a', -2, 1)])],
    ['a billion units', 'InvalidArgument', () => addon.createWeightStore('x', [data('a', 1e9, 1)])],
    [
      'data of another size',
      'ShapeMismatch',
      () => addon.createWeightStore('x', [{ ...data('a', 0, 1), source: { data: new Float32Array(7) } }]),
    ],
    [
      'data of another type',
      'UnsupportedDType',
      () => addon.createWeightStore('x', [{ ...data('a', 0, 1), source: { data: new Int32Array(8) } }]),
    ],
    [
      'no source',
      'InvalidArgument',
      () => addon.createWeightStore('x', [{ ...data('a', 0, 1), source: {} as never }]),
    ],
    ['weights that are none', 'InvalidArgument', () => addon.createWeightStore('x', [5 as never])],
    ['a component that is no text', 'InvalidArgument', () => addon.createWeightStore(5 as never, [])],
    ['an unknown unit', 'InvalidArgument', () => make().unitBytes(2)],
    ['placing before it is bound', 'InvalidArgument', () => make().place(0)],
    ['pinning before it is bound', 'InvalidArgument', () => make().pin(0)],
    ['an unknown weight', 'InvalidArgument', () => make().replace('z', new Float32Array(8))],
    ['new data of another size', 'ShapeMismatch', () => make().replace('a', new Float32Array(9))],
  ])('refuses %s', async (_, code, action) => {
    expect(await failureCode(action)).toBe(code);
  });

  it('moves only while nothing is placed, pinned or queued', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 16 })),
    );
    const store = make();
    store.bind(one!);
    store.bind(one!);
    const placing = store.place(0);
    expect(await failureCode(() => store.bind(two!))).toBe('InvalidArgument');
    await placing;
    expect(await failureCode(() => store.bind(two!))).toBe('InvalidArgument');
    await store.unplace(0);
    const pinning = store.pin(1);
    expect(await failureCode(() => store.bind(two!))).toBe('InvalidArgument');
    expect(await pinning).toBe(64);
    expect(await failureCode(() => store.bind(two!))).toBe('InvalidArgument');
    store.unpin(1);
    store.bind(two!);
    expect(await store.place(0)).toBe(32);
    await Promise.all([one!.close(), two!.close()]);
  });

  it('counts what it pins', async () => {
    const host = await addon.openDevice({ name: 'CPU' });
    const simulated = await addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 16 });
    const store = make();
    store.bind(host);
    expect(await store.pin(1)).toBe(0);
    store.bind(simulated);
    expect(await Promise.all([store.pin(1), store.pin(1)])).toEqual([64, 64]);
    store.unpin(1);
    store.unpin(1);
    await Promise.all([host.close(), simulated.close()]);
  });

  it('always counts as placed on a host device, at no cost', async () => {
    const device = await addon.openDevice({ name: 'CPU' });
    const store = make();
    expect(store.isPlaced(0)).toBe(false);
    store.bind(device);
    expect([store.isPlaced(-1), store.isPlaced(1)]).toEqual([true, true]);
    expect(await store.place(1)).toBe(0);
    expect(await store.unplace(1)).toBe(0);
    expect(store.isPlaced(1)).toBe(true);
    expect(device.memory().held.weights).toBe(0);
    await device.close();
  });

  it.each([undefined, 2 ** 16])('shows replaced values (simulated: %s)', async (simulateBytes) => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes });
    const store = make();
    await store.replace('b', new Float32Array(8).fill(20));
    store.bind(device);
    await placeAll(store);
    expect([...(await rowsOf(device, store, 'b', 1, 0))]).toEqual([20, 20, 20, 20]);
    await store.replace('b', new Float32Array(8).fill(30));
    expect([...(await rowsOf(device, store, 'b', 1, 0))]).toEqual([30, 30, 30, 30]);
    expect([...(await rowsOf(device, store, 'c', 1, 1))]).toEqual([3, 3, 3, 3]);
    await device.close();
  });

  it('answers Disposed after dispose, and so do graphs of it', async () => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 16 });
    const store = make();
    store.bind(device);
    await placeAll(store);
    const recorder = addon.createRecorder();
    recorder.output(recorder.op('neg', [recorder.weight(store, 'a')]));
    const graph = recorder.compile(device, device.createArena());
    await graph.run();
    await store.dispose();
    expect(device.memory().held.weights).toBe(0);
    expect(await failureCode(() => graph.run())).toBe('Disposed');
    expect(await failureCode(() => store.place(0))).toBe('Disposed');
    expect(await failureCode(() => addon.createRecorder().weight(store, 'a'))).toBe('Disposed');
    await store.dispose();
    await device.close();
  });

  it('is bound to the device that its graphs run on', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 16 })),
    );
    const store = make();
    const recorder = addon.createRecorder();
    recorder.output(recorder.op('neg', [recorder.weight(store, 'a')]));
    const graph = recorder.compile(one!, one!.createArena());
    expect(await failureCode(() => graph.run())).toBe('InvalidArgument');
    store.bind(two!);
    await placeAll(store);
    const error = await failure(() => graph.run());
    expect(error.code).toBe('InvalidArgument');
    expect(error.message).toContain('voice');
    await Promise.all([one!.close(), two!.close()]);
  });
});

describe('what a unit has cost', () => {
  const data = (unit: number): WeightSpec => ({
    name: `w${unit}`,
    shape: [32, 32],
    dtype: 'f32',
    unit,
    source: { data: noise(32 * 32, unit + 1) },
  });

  it('counts uploads, and with profiling the time of its segments', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 20 });
    const store = addon.createWeightStore('voice', [data(0), data(1)]);
    store.bind(device);
    await placeAll(store);
    expect(store.unitStats(0)).toMatchObject({ copies: 1, copiedBytes: 4096, runs: 0, computeSeconds: 0 });
    const recorder = addon.createRecorder();
    const input = recorder.input('f32', [1, 32]);
    let x = input;
    for (const unit of [0, 1]) {
      recorder.setUnit(store, unit);
      x = recorder.op('mul_mat', [recorder.weight(store, `w${unit}`), x]);
    }
    recorder.output(x);
    const graph = recorder.compile(device, device.createArena());
    const run = async () =>
      bytesOf((await graph.run({ inputs: [[input, new Float32Array(32).fill(1)]] }))[0]!);
    const plain = await run();
    expect(store.unitStats(1).runs).toBe(0);
    device.setProfiling(true);
    expect((await run()).equals(plain)).toBe(true);
    device.setProfiling(false);
    expect((await run()).equals(plain)).toBe(true);
    expect(store.unitStats(1)).toMatchObject({ runs: 1, computeSeconds: expect.any(Number) });
    expect(store.unitStats(1).computeSeconds).toBeGreaterThan(0);
    await store.unplace(1);
    await device.setStreamer({ slots: 1, slotBytes: 4096, prefetch: false });
    await run();
    expect(store.streamedBytes).toBe(4096);
    expect(await failureCode(() => store.unitStats(2))).toBe('InvalidArgument');
    await device.close();
  });

  it('gives up host memory that the checkpoint can give again', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 20 });
    const checkpoint = await addon.openCheckpoint([writeSafetensors('drop.safetensors', entries)]);
    const store = addon.createWeightStore('c', [spec('w', 'f32', { checkpoint, tensor: 'half' }), data(0)]);
    store.bind(device);
    expect(await store.dropHost(-1)).toBe(0);
    await placeAll(store);
    const owned = store.ownedHostBytes;
    expect(await store.dropHost(-1)).toBe(64 * 32 * 4);
    expect(await store.dropHost(0)).toBe(0);
    expect(store.ownedHostBytes).toBe(owned - 64 * 32 * 4);
    const before = await rowsOf(device, store, 'w', 64);
    await store.unplace(-1);
    await store.place(-1);
    expect(store.ownedHostBytes).toBe(owned);
    expect(await rowsOf(device, store, 'w', 64)).toEqual(before);
    await device.close();
  });
});

describe('a tensor read in another order of dimensions', () => {
  const shapes: [number[], number[]][] = [
    [
      [3, 5],
      [1, 0],
    ],
    [
      [4, 6, 7],
      [0, 2, 1],
    ],
    [
      [4, 6, 7],
      [2, 1, 0],
    ],
    [
      [4, 6, 7],
      [1, 2, 0],
    ],
    [
      [1, 130, 1, 67],
      [0, 3, 2, 1],
    ],
    [
      [2, 3, 4, 5],
      [3, 1, 0, 2],
    ],
    [
      [2, 3, 4, 5],
      [0, 1, 3, 2],
    ],
    // Large enough for several threads.
    [
      [96, 80, 70],
      [2, 1, 0],
    ],
    [
      [96, 80, 70],
      [0, 2, 1],
    ],
    [
      [700, 900],
      [1, 0],
    ],
  ];

  /** As a plain walk over the result's positions finds them. */
  function reordered(data: Float32Array, shape: number[], order: number[]): Float32Array {
    const stride = (axis: number) => shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    const sizes = order.map((axis) => shape[axis]!);
    return data.map((_, index) => {
      let [left, from] = [index, 0];
      for (let axis = sizes.length - 1; axis >= 0; axis -= 1) {
        from += (left % sizes[axis]!) * stride(order[axis]!);
        left = Math.floor(left / sizes[axis]!);
      }
      return data[from]!;
    });
  }

  it.each(shapes)('%j as %j, in each precision, aligned or not', async (shape, order) => {
    const count = shape.reduce((a, b) => a * b, 1);
    const data = noise(count, 9);
    const types: [string, DType, Uint8Array, Float32Array][] = [
      ['F32', 'f32', bytes(data), data],
      ['BF16', 'bf16', brain(data), data.map((v) => widened(v))],
      ['F64', 'f32', new Uint8Array(Float64Array.from(data).buffer), data],
    ];
    const device = await addon.openDevice({ name: 'CPU', threads: 1 });
    for (const [stored, dtype, raw, expected] of types) {
      const path = writeSafetensors(
        'order.safetensors',
        [{ name: 'w', dtype: stored, shape, bytes: raw }],
        3,
      );
      const checkpoint = await addon.openCheckpoint([path]);
      const stored_shape = order.map((axis) => shape[axis]!);
      const source = { checkpoint, tensor: 'w', order };
      const store = addon.createWeightStore('orders', [
        { name: 'w', shape: [count / stored_shape.at(-1)!, stored_shape.at(-1)!], dtype, unit: -1, source },
      ]);
      checkpoint.close();
      store.bind(device);
      const found = await rowsOf(device, store, 'w', count / stored_shape.at(-1)!);
      expect(Buffer.compare(bytesOf(found), bytesOf(reordered(expected, shape, order)))).toBe(0);
      await store.dispose();
    }
    await device.close();
  });

  it('is given up and read again', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 1 << 20 });
    const checkpoint = await addon.openCheckpoint([writeSafetensors('again.safetensors', entries)]);
    const source = { checkpoint, tensor: 'full', order: [1, 0] };
    const store = addon.createWeightStore('orders', [{ ...spec('w', 'f32', source), shape: [32, 64] }]);
    store.bind(device);
    await store.place(-1);
    expect(await store.dropHost(-1)).toBe(64 * 32 * 4);
    expect(store.ownedHostBytes).toBe(0);
    await store.unplace(-1);
    await store.place(-1);
    const found = await rowsOf(device, store, 'w', 32);
    expect(Buffer.compare(bytesOf(found), bytesOf(reordered(values, [64, 32], [1, 0])))).toBe(0);
    await store.dispose();
    await device.close();
  });

  it.each([[[0]], [[0, 0]], [[0, 2]], [[1, 0, 2]], [[-1, 0]], [[0.5, 1]], ['ab'], [[]]])(
    'refuses the order %j',
    async (order) => {
      const checkpoint = await addon.openCheckpoint([writeSafetensors('bad.safetensors', entries)]);
      const source = { checkpoint, tensor: 'full', order: order as number[] };
      const make = () => addon.createWeightStore('orders', [spec('w', 'f32', source)]);
      expect(await failureCode(make)).toBe('InvalidArgument');
      checkpoint.close();
    },
  );
});

function brain(data: Float32Array): Uint8Array {
  const halves = Uint16Array.from(new Uint32Array(data.slice().buffer), (bits) => bits >>> 16);
  return new Uint8Array(halves.buffer);
}

/** What `brain` keeps of a value. */
function widened(value: number): number {
  const view = new Uint32Array(Float32Array.of(value).buffer);
  view[0]! &= 0xffff0000;
  return new Float32Array(view.buffer)[0]!;
}
