/** No call may reach an assertion of ggml: that would end the process, and this test with it. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device, DType, GraphRecorder, NativeErrorCode } from './addon.ts';
import { opCases } from './op-cases.ts';
import { addon, failureCode } from './test-support.ts';

let device: Device;
beforeAll(async () => {
  device = await addon.openDevice({ name: 'CPU', threads: 1 });
});
afterAll(() => device.close());

const inputsOf = (recorder: GraphRecorder, shapes: number[][], dtype: DType = 'f32') =>
  shapes.map((shape) => recorder.input(dtype, shape));

/** Records, and where that works compiles and runs: whatever comes out is a result or a typed error. */
async function attempt(name: string, shapes: number[][], params: number[], dtypes: DType[]): Promise<void> {
  const recorder = addon.createRecorder();
  const handles = shapes.map((shape, i) => recorder.input(dtypes[i]!, shape));
  let result: number;
  try {
    result = recorder.op(name, handles, params);
    recorder.output(result);
  } catch (error) {
    expect(error).toMatchObject({
      code: expect.stringMatching(/^(InvalidArgument|ShapeMismatch|UnsupportedDType)$/),
    });
    return;
  }
  const arena = device.createArena();
  const graph = recorder.compile(device, arena);
  const inputs = shapes.map((shape, i): [number, Uint8Array] => [
    handles[i]!,
    new Uint8Array(addon.tensorBytes(dtypes[i]!, shape)),
  ]);
  await graph.run({ inputs });
  graph.dispose();
  arena.dispose();
}

describe('every operation', () => {
  const names = [...new Set(opCases.map((entry) => entry.op)), 'cpy', 'set_rows'];

  it.each(names)('%s refuses wrong numbers of sources and parameters', async (name) => {
    const recorder = addon.createRecorder();
    const many = inputsOf(recorder, new Array(64).fill([2, 2]));
    const entry = opCases.find((one) => one.op === name);
    const sources = entry === undefined ? many.slice(0, 2) : many.slice(0, entry.feeds.length);
    const params = entry?.params ?? [];
    if (name !== 'concat') {
      expect(await failureCode(() => recorder.op(name, many, params))).toBe('InvalidArgument');
    }
    if (name !== 'arange')
      expect(await failureCode(() => recorder.op(name, [], params))).toBe('InvalidArgument');
    expect(await failureCode(() => recorder.op(name, sources, new Array(40).fill(1)))).toBe(
      'InvalidArgument',
    );
    expect(
      await failureCode(() =>
        recorder.op(name, sources.length ? [...sources.slice(1), 9999] : [9999], params),
      ),
    ).toBe('InvalidArgument');
  });

  it.each(names)('%s refuses parameters that are not numbers', async (name) => {
    const entry = opCases.find((one) => one.op === name && (one.params?.length ?? 0) > 0);
    if (entry === undefined) return;
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, -1e300, 1e300]) {
      for (let i = 0; i < entry.params!.length; i++) {
        const recorder = addon.createRecorder();
        const handles = entry.feeds.map((feed) => recorder.input(feed.dtype ?? 'f32', feed.shape));
        const params = entry.params!.map((value, j) => (j === i ? bad : value));
        const code = await failureCode(() => recorder.op(name, handles, params));
        expect(['InvalidArgument', 'UnsupportedDType']).toContain(code);
      }
    }
  });

  it('survives random types, shapes and parameters', async () => {
    const dtype = fc.constantFrom<DType>(
      'f32',
      'f32',
      'f32',
      'f16',
      'bf16',
      'i32',
      'i64',
      'i8',
      'q8_0',
      'q4_K',
      'f64',
    );
    const side = fc.constantFrom(1, 1, 2, 3, 4, 8);
    const parameter = fc.constantFrom(-3, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 8, 24, 40, 0.5, 1e-5, 10000);
    const shapeFor = (type: DType) =>
      fc.array(side, { minLength: 0, maxLength: 4 }).map((shape) => {
        const block = type === 'q8_0' ? 32 : type === 'q4_K' ? 256 : 1;
        return block === 1 ? shape : [...shape.slice(0, 3), block];
      });
    const source = dtype.chain((type) => shapeFor(type).map((shape) => ({ type, shape })));
    const call = fc.record({
      name: fc.constantFrom(...names),
      sources: fc.array(source, { maxLength: 4 }),
      params: fc.array(parameter, { maxLength: 13 }),
    });
    await fc.assert(
      fc.asyncProperty(call, async ({ name, sources, params }) => {
        const shapes = sources.map((one) => one.shape);
        await attempt(
          name,
          shapes,
          params,
          sources.map((one) => one.type),
        );
      }),
      { numRuns: 4000, seed: 20260509 },
    );
  });

  it('survives random changes to calls that work', async () => {
    const change = fc.record({
      entry: fc.constantFrom(...opCases),
      source: fc.nat(3),
      dimension: fc.nat(3),
      size: fc.constantFrom(1, 2, 3, 5, 7, 16, 33),
      dtype: fc.constantFrom<DType>('f32', 'f32', 'f16', 'bf16', 'i32'),
      param: fc.nat(12),
      value: fc.constantFrom(-2, -1, 0, 1, 2, 3, 7, 100, 1e6, 2 ** 31, 0.25),
      what: fc.constantFrom('shape', 'dtype', 'param'),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ entry, what, ...c }) => {
        const shapes = entry.feeds.map((feed) => [...feed.shape]);
        const dtypes = entry.feeds.map((feed): DType => feed.dtype ?? 'f32');
        const params = [...(entry.params ?? [])];
        const i = c.source % Math.max(1, shapes.length);
        if (what === 'shape' && shapes[i]?.length) shapes[i]![c.dimension % shapes[i]!.length] = c.size;
        if (what === 'dtype' && shapes.length) dtypes[i] = c.dtype;
        if (what === 'param' && params.length) params[c.param % params.length] = c.value;
        await attempt(entry.op, shapes, params, dtypes);
      }),
      { numRuns: 6000, seed: 20260510 },
    );
  });
});

describe('the recorder', () => {
  const record = (build: (recorder: GraphRecorder) => unknown) =>
    failureCode(() => build(addon.createRecorder()));
  const bad: [string, NativeErrorCode, (recorder: GraphRecorder) => unknown][] = [
    ['an unknown operation', 'UnsupportedOp', (r) => r.op('conv_9d', [])],
    ['a name of another type', 'InvalidArgument', (r) => r.op(5 as unknown as string, [])],
    ['a name without end', 'UnsupportedOp', (r) => r.op('x'.repeat(10_000), [])],
    ['a handle that is none', 'InvalidArgument', (r) => r.op('neg', [0])],
    ['a negative handle', 'InvalidArgument', (r) => r.op('neg', [-1])],
    ['half a handle', 'InvalidArgument', (r) => r.op('neg', [0.5])],
    ['sources that are no array', 'InvalidArgument', (r) => r.op('neg', 'x' as unknown as number[])],
    ['sources that are no numbers', 'InvalidArgument', (r) => r.op('neg', ['x'] as unknown as number[])],
    ['too many sources', 'InvalidArgument', (r) => r.op('concat', new Array(1000).fill(0), [0])],
    ['an unknown type', 'UnsupportedDType', (r) => r.input('f8' as DType, [1])],
    ['no shape', 'InvalidArgument', (r) => r.input('f32', undefined as unknown as number[])],
    ['an empty dimension', 'InvalidArgument', (r) => r.input('f32', [0])],
    ['five dimensions', 'InvalidArgument', (r) => r.input('f32', [1, 1, 1, 1, 1])],
    ['an overflowing shape', 'InvalidArgument', (r) => r.input('f32', [2 ** 30, 2 ** 30])],
    ['half a block', 'ShapeMismatch', (r) => r.input('q8_0', [2, 31])],
    ['a constant of another size', 'ShapeMismatch', (r) => r.constant('f32', [3], new Float32Array(2))],
    ['a constant of another type', 'UnsupportedDType', (r) => r.constant('f32', [1], new Int32Array(1))],
    ['an output that is none', 'InvalidArgument', (r) => r.output(3)],
    ['no outputs', 'InvalidArgument', (r) => r.plan(device)],
    ['a foreign device', 'InvalidArgument', (r) => r.plan({} as Device)],
    [
      'ids beyond a table',
      'InvalidArgument',
      (r) => {
        const table = r.input('f32', [3, 2]);
        r.op('get_rows', [table, r.constant('i32', [1], Int32Array.of(3))]);
      },
    ],
    [
      'ids from arithmetic',
      'InvalidArgument',
      (r) => {
        const table = r.input('f32', [3, 2]);
        r.op('get_rows', [table, r.op('cast', [r.input('f32', [1])], [26])]);
      },
    ],
    [
      'positions among more values than rows',
      'InvalidArgument',
      (r) => {
        r.op('get_rows', [r.input('f32', [3, 2]), r.op('argmax', [r.input('f32', [1, 4])])]);
      },
    ],
    [
      'writing to an input',
      'InvalidArgument',
      (r) => r.op('cpy', [r.input('f32', [1]), r.input('f32', [1])]),
    ],
    ['a unit of no store', 'InvalidArgument', (r) => r.setUnit({} as never, 0)],
  ];
  it.each(bad)('refuses %s', async (_, code, build) => {
    expect(await record(build)).toBe(code);
  });

  it('accepts ids that are clamped before they are cast', () => {
    const recorder = addon.createRecorder();
    const table = recorder.input('f32', [3, 2]);
    const ids = recorder.op('cast', [recorder.op('clamp', [recorder.input('f32', [4])], [0, 2])], [26]);
    expect(recorder.shape(recorder.op('get_rows', [table, ids]))).toEqual([4, 2]);
  });

  it('records nothing when an operation fails', async () => {
    const recorder = addon.createRecorder();
    const x = recorder.input('f32', [2, 3]);
    const turned = recorder.op('transpose', [x], [0, 1]);
    await failureCode(() => recorder.op('group_norm', [turned], [7, 1e-5]));
    recorder.output(recorder.op('neg', [x]));
    expect(recorder.plan(device).nodes).toBe(1);
  });

  it('is used up by compile', async () => {
    const recorder = addon.createRecorder();
    recorder.output(recorder.op('neg', [recorder.input('f32', [1])]));
    const arena = device.createArena();
    recorder.compile(device, arena);
    expect(await failureCode(() => recorder.input('f32', [1]))).toBe('InvalidArgument');
    expect(await failureCode(() => recorder.compile(device, arena))).toBe('InvalidArgument');
  });

  it('survives graphs of thousands of nodes', async () => {
    const recorder = addon.createRecorder();
    const input = recorder.input('f32', [4]);
    let x = input;
    for (let i = 0; i < 5000; i++) x = recorder.op('scale', [x], [1, 1]);
    recorder.output(x);
    const graph = recorder.compile(device, device.createArena());
    const [result] = await graph.run({ inputs: [[input, Float32Array.of(0, 1, 2, 3)]] });
    expect(Array.from(result as Float32Array)).toEqual([5000, 5001, 5002, 5003]);
  });
});

describe('a run', () => {
  const setUp = () => {
    const recorder = addon.createRecorder();
    const table = recorder.input('f32', [3, 2]);
    const ids = recorder.input('i32', [2]);
    const rows = recorder.op('get_rows', [table, ids]);
    recorder.output(rows);
    return { table, ids, rows, graph: recorder.compile(device, device.createArena()) };
  };
  const data = Float32Array.of(1, 2, 3, 4, 5, 6);

  it('names the row that a table has not', async () => {
    const { table, ids, graph } = setUp();
    for (const row of [-1, 3, 2 ** 31 - 1]) {
      const inputs: [number, Float32Array | Int32Array][] = [
        [table, data],
        [ids, Int32Array.of(0, row)],
      ];
      await expect(async () => graph.run({ inputs })).rejects.toMatchObject({
        code: 'InvalidArgument',
        details: { rows: 3, row },
      });
    }
  });

  it('refuses inputs that do not fit', async () => {
    const { table, ids, rows, graph } = setUp();
    const run = (inputs: unknown) => failureCode(() => graph.run({ inputs } as never));
    expect(await run([[rows, data]])).toBe('InvalidArgument');
    expect(await run([[table, new Float32Array(5)]])).toBe('ShapeMismatch');
    expect(await run([[table, new Int32Array(6)]])).toBe('UnsupportedDType');
    expect(await run([[table, 'x']])).toBe('InvalidArgument');
    expect(await run([[table]])).toBe('InvalidArgument');
    expect(await run('x')).toBe('InvalidArgument');
    expect(await run([[table, data]])).toBe('InvalidArgument');
    expect(await failureCode(() => graph.run({ read: [table] }))).toBe('InvalidArgument');
    expect(await failureCode(() => graph.run({ signal: {} as never }))).toBe('InvalidArgument');
    expect(await failureCode(() => graph.run({ onProgress: 5 as never }))).toBe('InvalidArgument');
    const [result] = await graph.run({
      inputs: [
        [table, data],
        [ids, Int32Array.of(2, 0)],
      ],
    });
    expect(Array.from(result as Float32Array)).toEqual([5, 6, 1, 2]);
  });

  it('keeps an input until it is given anew', async () => {
    const { table, ids, graph } = setUp();
    await graph.run({
      inputs: [
        [table, data],
        [ids, Int32Array.of(2, 0)],
      ],
    });
    const [result] = await graph.run({ inputs: [[ids, Int32Array.of(1, 1)]] });
    expect(Array.from(result as Float32Array)).toEqual([3, 4, 3, 4]);
  });

  it('copies inputs before it returns', async () => {
    const { table, ids, graph } = setUp();
    const changing = Float32Array.from(data);
    const running = graph.run({
      inputs: [
        [table, changing],
        [ids, Int32Array.of(0, 0)],
      ],
    });
    changing.fill(-1);
    const [result] = await running;
    expect(Array.from(result as Float32Array)).toEqual([1, 2, 1, 2]);
  });

  it('answers Disposed after dispose', async () => {
    const { graph } = setUp();
    graph.dispose();
    expect(await failureCode(() => graph.run({}))).toBe('Disposed');
  });
});
