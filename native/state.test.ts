import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Device, TensorData } from './addon.ts';
import { addon, failureCode } from './test-support.ts';

describe('a state', () => {
  let device: Device;
  beforeEach(async () => {
    device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 16 });
  });
  afterEach(() => device.close());
  const numbers = (data: TensorData) => Array.from(data as Float32Array);

  it('is zero at first, readable, writable, and counted', async () => {
    const state = await device.createState([
      { dtype: 'f32', shape: [2, 3] },
      { dtype: 'f16', shape: [4] },
    ]);
    expect(device.memory().held.state).toBe(state.bytes);
    expect(numbers(await state.read(0))).toEqual([0, 0, 0, 0, 0, 0]);
    await state.write(0, Float32Array.of(1, 2), 8);
    expect(numbers(await state.read(0))).toEqual([0, 0, 1, 2, 0, 0]);
    expect(await state.read(1)).toEqual(new Uint8Array(8));
    await state.clear();
    expect(numbers(await state.read(0))).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await failureCode(() => state.write(0, new Float32Array(7)))).toBe('InvalidArgument');
    expect(await failureCode(() => state.write(0, new Float32Array(1), 24))).toBe('InvalidArgument');
    expect(await failureCode(() => state.write(0, new Int32Array(1)))).toBe('UnsupportedDType');
    expect(await failureCode(() => state.read(2))).toBe('InvalidArgument');
    expect(await failureCode(() => device.createState([]))).toBe('InvalidArgument');
    state.dispose();
    expect(await failureCode(() => state.read(0))).toBe('Disposed');
    expect(device.memory().held.state).toBe(0);
  });

  it('is written by graphs, in the order recorded', async () => {
    const state = await device.createState([{ dtype: 'f32', shape: [4, 2] }]);
    const recorder = addon.createRecorder();
    const cache = recorder.state(state, 0);
    const rows = recorder.input('f32', [2, 2]);
    const ids = recorder.input('i32', [2]);
    const before = recorder.op('scale', [cache], [1]);
    recorder.op('set_rows', [cache, rows, ids]);
    const row = recorder.op('narrow', [cache], [0, 0, 1]);
    const written = recorder.op('cpy', [recorder.op('narrow', [rows], [0, 1, 1]), row]);
    const after = recorder.op('scale', [cache], [10]);
    for (const handle of [before, written, after]) recorder.output(handle);
    expect(recorder.shape(written)).toEqual([1, 2]);
    const graph = recorder.compile(device, device.createArena());
    const inputs: [number, TensorData][] = [
      [rows, Float32Array.of(1, 2, 3, 4)],
      [ids, Int32Array.of(3, 1)],
    ];
    const first = (await graph.run({ inputs })).map(numbers);
    expect(first).toEqual([new Array(8).fill(0), [3, 4], [30, 40, 30, 40, 0, 0, 10, 20]]);
    expect(numbers(await state.read(0))).toEqual([3, 4, 3, 4, 0, 0, 1, 2]);
    const second = (await graph.run({ inputs, read: [before] })).map(numbers);
    expect(second).toEqual([[3, 4, 3, 4, 0, 0, 1, 2]]);
  });

  it('takes half precision', async () => {
    const state = await device.createState([{ dtype: 'f16', shape: [2, 2] }]);
    const recorder = addon.createRecorder();
    const x = recorder.input('f32', [2, 2]);
    const written = recorder.op('cpy', [x, recorder.state(state, 0)]);
    recorder.output(recorder.op('cast', [written], [0]));
    const graph = recorder.compile(device, device.createArena());
    const [result] = await graph.run({ inputs: [[x, Float32Array.of(1, 0.5, -2, 0.1)]] });
    expect(numbers(result!).map((value) => Math.fround(value))).toEqual([1, 0.5, -2, 0.0999755859375]);
  });
});
