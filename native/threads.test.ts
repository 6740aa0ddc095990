/** Results have the same bits whatever the number of threads: it may change from run to run, and within one. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Device, DType, GraphRecorder, RunOptions, TensorData } from './addon.ts';
import { dtypeCode } from './load.ts';
import { opCases } from './op-cases.ts';
import {
  addon,
  bytesOf,
  compute,
  type Feed,
  failureCode,
  makeStack,
  noise,
  placeAll,
  unplaceUnits,
} from './test-support.ts';

interface Case {
  name: string;
  feeds: Feed[];
  build(recorder: GraphRecorder, inputs: number[]): number;
}

const random = (shape: number[], seed = 1): Feed => ({
  shape,
  data: noise(
    shape.reduce((product, size) => product * size, 1),
    seed,
  ),
});

const op = (name: string, shapes: number[][], params?: number[]): Case => ({
  name: `${name}(${shapes.map((shape) => `[${shape}]`).join(', ')}${params ? `; ${params}` : ''})`,
  feeds: shapes.map((shape, i) => random(shape, i + 1)),
  build: (recorder, inputs) => recorder.op(name, inputs, params),
});

/** a @ b^T, a cast to `type` first. */
const product = (type: DType, a: number[], b: number[]): Case => ({
  name: `mul_mat of ${type} ([${a}], [${b}])`,
  feeds: [random(a, 1), random(b, 2)],
  build: (recorder, [weights, x]) => {
    const typed = type === 'f32' ? weights! : recorder.op('cast', [weights!], [dtypeCode[type]]);
    return recorder.op('mul_mat', [typed, x!]);
  },
});

/** Bytes of a block of 256 values, and where its half-precision factors stand. */
const blocks: Partial<Record<DType, { bytes: number; factors: number[] }>> = {
  q2_K: { bytes: 84, factors: [80, 82] },
  q3_K: { bytes: 110, factors: [108] },
  q4_K: { bytes: 144, factors: [0, 2] },
  q5_K: { bytes: 176, factors: [0, 2] },
  q6_K: { bytes: 210, factors: [208] },
  iq4_xs: { bytes: 136, factors: [0] },
};

const productOfBlocks = (dtype: DType, [rows, width]: [number, number], columns: number): Case => {
  const { bytes, factors } = blocks[dtype]!;
  const data = Uint8Array.from(noise(((rows * width) / 256) * bytes, 3), (value) => (value + 1) * 128);
  for (let block = 0; block < data.length; block += bytes) {
    // 2^-8
    for (const factor of factors) data.set([0x00, 0x1c], block + factor);
  }
  return {
    name: `mul_mat of ${dtype} ([${rows}, ${width}], [${columns}, ${width}])`,
    feeds: [{ dtype, shape: [rows, width], data }, random([columns, width], 2)],
    build: (recorder, inputs) => recorder.op('mul_mat', inputs),
  };
};

interface AttentionShape {
  type?: DType;
  batch?: number;
  heads: number;
  kvHeads: number;
  tokens: number;
  kv: number;
  width: number;
  valueWidth?: number;
  masked?: boolean;
  params?: number[];
}

const attention = (shape: AttentionShape): Case => {
  const { type = 'f32', batch = 1, heads, kvHeads, tokens, kv, width, valueWidth = width } = shape;
  const feeds = [
    random([batch, heads, tokens, width], 1),
    random([batch, kvHeads, kv, width], 2),
    random([batch, kvHeads, kv, valueWidth], 3),
  ];
  if (shape.masked) {
    const mask = noise(tokens * kv, 4).map((value) => (value < -0.5 ? Number.NEGATIVE_INFINITY : value));
    feeds.push({ shape: [tokens, kv], data: mask });
  }
  return {
    name: `flash_attn_ext ${JSON.stringify(shape)}`,
    feeds,
    build: (recorder, [q, k, v, mask]) => {
      const typed = (x: number) => (type === 'f32' ? x : recorder.op('cast', [x], [dtypeCode[type]]));
      const sources = [q!, typed(k!), typed(v!)];
      if (mask !== undefined) sources.push(recorder.op('cast', [mask], [dtypeCode.f16]));
      return recorder.op('flash_attn_ext', sources, shape.params ?? [1 / Math.sqrt(width), 0, 0, 1]);
    },
  };
};

const cases: Case[] = [
  ...opCases.map(
    ({ op: name, feeds, params }): Case => ({
      name: `${name}(${feeds.map((feed) => `[${feed.shape}]`).join(', ')}${params ? `; ${params}` : ''})`,
      feeds,
      build: (recorder, inputs) => recorder.op(name, inputs, params),
    }),
  ),
  ...[
    'gelu',
    'gelu_erf',
    'gelu_tanh',
    'gelu_quick',
    'silu',
    'sigmoid',
    'tanh',
    'elu',
    'exp',
    'sin',
    'sqr',
  ].flatMap((name) => [op(name, [[7, 1031]]), op(name, [[13001]])]),
  ...['swiglu', 'geglu', 'geglu_erf', 'reglu'].map((name) => op(name, [[5, 7, 262]])),
  ...['add', 'mul', 'sub', 'div'].flatMap((name) => [
    op(name, [[9, 517], [517]]),
    op(name, [
      [3, 31, 17],
      [31, 1],
    ]),
    op(name, [[30011], [30011]]),
  ]),
  op('snake', [
    [2, 37, 411],
    [37, 1],
    [37, 1],
  ]),
  op('snake', [[2, 411, 37], [37], [37]]),
  op('sum', [[33, 1027]]),
  op('sum_rows', [[33, 1027]]),
  op('mean', [[33, 1027]]),
  op('cumsum', [[33, 1027]]),
  op('argmax', [[33, 1027]]),
  op('argsort', [[33, 257]]),
  op('top_k', [[33, 1027]], [1]),
  op('norm', [[33, 1027]], [1e-5]),
  op('rms_norm', [[33, 1027]], [1e-5]),
  op('l2_norm', [[33, 1027]], [1e-5]),
  op('group_norm', [[2, 36, 411]], [6, 1e-5]),
  op('soft_max', [[3, 33, 1027]], [0.3]),
  op('interpolate', [[5, 7, 123]], [1, 0, 457]),
  op(
    'im2col',
    [
      [8, 6, 7],
      [2, 6, 411],
    ],
    [2, 3, 3],
  ),
  op('col2im_1d', [[211, 6 * 7]], [3, 6]),
  op(
    'conv_1d_dw',
    [
      [37, 1, 7],
      [2, 37, 411],
    ],
    [1, 3, 1],
  ),
  op(
    'conv_1d_dw_last',
    [
      [7, 37],
      [2, 411, 37],
    ],
    [1, 3, 1],
  ),
  op('conv_2d_dw', [
    [6, 1, 3, 3],
    [2, 6, 31, 47],
  ]),
  op(
    'conv_transpose_1d',
    [
      [6, 11, 8],
      [6, 211],
    ],
    [4],
  ),
  op('pool_1d', [[6, 411]], [1, 3, 2]),
  op('timestep_embedding', [[37]], [129]),
  ...(
    [
      [
        [1, 1],
        [1, 1],
      ],
      [
        [131, 67],
        [1, 67],
      ],
      [
        [1031, 257],
        [1, 257],
      ],
      [
        [37, 512],
        [3, 512],
      ],
      [
        [130, 256],
        [11, 256],
      ],
      [
        [67, 1100],
        [12, 1100],
      ],
      [
        [67, 1100],
        [49, 1100],
      ],
      [
        [515, 129],
        [203, 129],
      ],
      [
        [48, 64],
        [1021, 64],
      ],
      [
        [16, 32],
        [128, 32],
      ],
      [
        [3, 65, 96],
        [6, 37, 96],
      ],
      [
        [1, 4, 64, 96],
        [1, 8, 5, 96],
      ],
    ] as [number[], number[]][]
  ).flatMap(([a, b]) => (['f32', 'f16', 'bf16'] as const).map((type) => product(type, a, b))),
  ...(['q4_0', 'q4_1', 'q5_0', 'q5_1', 'q8_0', 'iq4_nl'] as const).flatMap((type) => [
    product(type, [130, 256], [1, 256]),
    product(type, [130, 256], [11, 256]),
    product(type, [262, 512], [70, 512]),
  ]),
  ...(['q2_K', 'q3_K', 'q4_K', 'q5_K', 'q6_K', 'iq4_xs'] as const).flatMap((type) => [
    productOfBlocks(type, [130, 512], 1),
    productOfBlocks(type, [130, 512], 11),
    productOfBlocks(type, [262, 512], 70),
  ]),
  ...(['f32', 'f16'] as const).flatMap((type) => [
    // One query over a long cache: talkers' steps.
    attention({ type, heads: 16, kvHeads: 8, tokens: 1, kv: 511, width: 128, masked: true }),
    attention({ type, heads: 16, kvHeads: 8, tokens: 1, kv: 512, width: 128, masked: true }),
    attention({ type, heads: 16, kvHeads: 8, tokens: 1, kv: 1531, width: 128, masked: true }),
    attention({ type, heads: 4, kvHeads: 4, tokens: 1, kv: 1024, width: 64 }),
    attention({ type, heads: 3, kvHeads: 3, tokens: 1, kv: 700, width: 64, masked: true }),
    attention({ type, heads: 6, kvHeads: 3, tokens: 1, kv: 700, width: 72, masked: true }),
    attention({ type, heads: 5, kvHeads: 1, tokens: 1, kv: 700, width: 64, masked: true }),
    attention({ type, heads: 1, kvHeads: 1, tokens: 1, kv: 700, width: 64, masked: true }),
    attention({ type, heads: 1, kvHeads: 1, tokens: 1, kv: 700, width: 40 }),
    attention({ type, heads: 4, kvHeads: 2, tokens: 1, kv: 700, width: 64, valueWidth: 32, masked: true }),
    attention({
      type,
      heads: 6,
      kvHeads: 3,
      tokens: 1,
      kv: 600,
      width: 64,
      masked: true,
      params: [0.1, 8, 0],
    }),
    attention({
      type,
      heads: 6,
      kvHeads: 3,
      tokens: 1,
      kv: 600,
      width: 64,
      masked: true,
      params: [0.1, 0, 5],
    }),
    attention({ type, batch: 2, heads: 4, kvHeads: 2, tokens: 1, kv: 700, width: 64, masked: true }),
    attention({ type, heads: 4, kvHeads: 2, tokens: 2, kv: 700, width: 64, masked: true }),
    attention({ type, heads: 4, kvHeads: 2, tokens: 63, kv: 200, width: 64, masked: true }),
    attention({ type, heads: 4, kvHeads: 2, tokens: 64, kv: 200, width: 64, masked: true }),
    attention({ type, heads: 3, kvHeads: 3, tokens: 157, kv: 301, width: 64, masked: true }),
    attention({ type, heads: 2, kvHeads: 1, tokens: 157, kv: 301, width: 80 }),
  ]),
  attention({ type: 'bf16', heads: 4, kvHeads: 2, tokens: 1, kv: 700, width: 64, masked: true }),
  attention({ type: 'q8_0', heads: 4, kvHeads: 2, tokens: 1, kv: 700, width: 64, masked: true }),
];

const counts = [1, 2, 3, 4] as const;

describe.each([
  ['processor', undefined],
  ['simulated device', 2 ** 26],
])('%s: an operation has the same bits with 1, 2, 3 and 4 threads', (_, simulateBytes) => {
  const devices: Device[] = [];
  beforeAll(async () => {
    for (const threads of counts) {
      devices.push(
        await addon.openDevice({
          name: 'CPU',
          threads,
          fixedThreads: true,
          ...(simulateBytes ? { simulateBytes } : {}),
        }),
      );
    }
  });
  afterAll(async () => {
    for (const device of devices) await device.close();
  });

  it.each(cases.map((entry): [string, Case] => [entry.name, entry]))('%s', async (_name, entry) => {
    const results: Buffer[] = [];
    for (const device of devices) {
      results.push(Buffer.from(bytesOf((await compute(device, entry.feeds, entry.build)).data)));
    }
    for (const [i, result] of results.entries()) {
      expect(result.equals(results[0]!), `${counts[i]} threads`).toBe(true);
      expect(devices[i]!.threads).toBe(counts[i]);
    }
  });
});

describe('the number of threads changes within a run', () => {
  const devices: Device[] = [];
  afterEach(async () => {
    await Promise.all(devices.splice(0).map((device) => device.close()));
  });

  async function open(options: { threads: number; simulateBytes?: number; every?: number }): Promise<Device> {
    const { every, ...rest } = options;
    const device = await addon.openDevice({ name: 'CPU', ...rest });
    if (every !== undefined) device.setFaults({ changeThreadsEvery: every });
    devices.push(device);
    return device;
  }

  // Three kernels a block: two products and an activation.
  const shape = { blocks: 7, width: 96, rows: 29 };
  function prepare(device: Device) {
    const stack = makeStack(shape);
    stack.store.bind(device);
    const recorder = addon.createRecorder();
    const { input } = stack.record(recorder);
    const graph = recorder.compile(device, device.createArena());
    return {
      stack,
      run: async (options: RunOptions = {}) =>
        bytesOf((await graph.run({ ...options, inputs: [[input, stack.input]] }))[0]!),
    };
  }
  const expected = async () => prepare(await open({ threads: 1 })).run();

  it.each([1, 2, 3, 4, 21])('after every %i. kernel, on the processor', async (every) => {
    const reference = await expected();
    const device = await open({ threads: 2, every });
    const { run } = prepare(device);
    const seen = new Set<number>();
    for (let i = 0; i < 4; i++) {
      const counts: number[] = [];
      const result = await run({ onProgress: (done) => counts.push(done) });
      expect(result.equals(reference)).toBe(true);
      expect(counts).toEqual([...counts].sort((a, b) => a - b));
      expect(counts.at(-1)).toBe(shape.blocks);
      seen.add(device.threads);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it('with resident, streamed and mixed units', async () => {
    const reference = await expected();
    const device = await open({ threads: 2, simulateBytes: 2 ** 24, every: 1 });
    const { stack, run } = prepare(device);
    await placeAll(stack.store);
    expect((await run()).equals(reference)).toBe(true);
    await unplaceUnits(stack.store);
    await device.setStreamer({ slots: 2, slotBytes: stack.store.unitBytes(0), prefetch: true });
    expect((await run()).equals(reference)).toBe(true);
    for (const unit of [0, 3, 4]) await stack.store.place(unit);
    expect((await run()).equals(reference)).toBe(true);
    device.setProfiling(true);
    expect((await run()).equals(reference)).toBe(true);
  });

  it('runs no node twice, and none too few: states hold what each wrote', async () => {
    const results: Buffer[] = [];
    for (const every of [0, 1, 4]) {
      const device = await open({ threads: 2, every });
      const state = await device.createState([{ dtype: 'f32', shape: [16, 64] }]);
      const recorder = addon.createRecorder();
      const [w, x] = [recorder.input('f32', [64, 64]), recorder.input('f32', [16, 64])];
      const sum = recorder.state(state, 0);
      for (let i = 0; i < 12; i++) {
        const y = recorder.op('tanh', [recorder.op('mul_mat', [w, recorder.op('add', [sum, x])])]);
        recorder.output(recorder.op('cpy', [recorder.op('add', [sum, y]), sum]));
      }
      const graph = recorder.compile(device, device.createArena());
      const inputs: [number, TensorData][] = [
        [w, noise(64 * 64, 1)],
        [x, noise(16 * 64, 2)],
      ];
      for (let i = 0; i < 3; i++) await graph.run({ inputs, read: [] });
      results.push(Buffer.from(bytesOf(await state.read(0))));
    }
    expect(results[0]!.some((byte) => byte !== 0)).toBe(true);
    expect(results.map((result) => result.equals(results[0]!))).toEqual([true, true, true]);
  });

  it('still cancels, fails when ordered to, and goes on afterwards', async () => {
    const reference = await expected();
    const device = await open({ threads: 2, every: 1 });
    const { run } = prepare(device);
    const signal = addon.createCancelToken();
    signal.cancel();
    expect(await failureCode(() => run({ signal }))).toBe('Cancelled');
    device.setFaults({ exhaustAtSegment: 2, changeThreadsEvery: 1 });
    expect(await failureCode(() => run())).toBe('OutOfDeviceMemory');
    expect((await run()).equals(reference)).toBe(true);
  });

  it('never where the number is fixed or nothing was ordered and one thread was asked for', async () => {
    const fixed = await addon.openDevice({ name: 'CPU', threads: 3, fixedThreads: true });
    devices.push(fixed);
    const single = await open({ threads: 1, every: 1 });
    for (const [device, threads] of [
      [fixed, 3],
      [single, 1],
    ] as const) {
      const { run } = prepare(device);
      await run();
      expect(device.threads).toBe(threads);
    }
  });
});
