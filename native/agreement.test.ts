/** Devices agree on random small graphs of views, copies and kernels, the processor being the yardstick. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device, GraphRecorder } from './addon.ts';
import { absentVulkan, addon, compute, f32, noise, vulkanName, vulkanRequired } from './test-support.ts';

type Step = (recorder: GraphRecorder, x: number, pick: number) => number;

/** Turns one tensor into another, whatever its shape; `pick` chooses among what is possible. */
const views: Record<string, Step> = {
  transpose: (r, x, pick) => {
    const rank = r.shape(x).length;
    return r.op('transpose', [x], [pick % rank, (pick >> 3) % rank]);
  },
  narrow: (r, x, pick) => {
    const shape = r.shape(x);
    const dim = pick % shape.length;
    const length = Math.max(1, Math.floor(shape[dim]! / 2));
    return r.op('narrow', [x], [dim, (pick >> 3) % (shape[dim]! - length + 1), length]);
  },
  slice: (r, x, pick) => {
    const shape = r.shape(x);
    const dim = pick % shape.length;
    return r.op('slice', [x], [dim, 0, Math.floor((shape[dim]! - 1) / 2) + 1, Math.min(2, shape[dim]!)]);
  },
  select: (r, x, pick) => {
    const shape = r.shape(x);
    return shape.length < 3 ? x : r.op('select', [x], [pick % shape.length, -1]);
  },
  flatten: (r, x) => {
    const shape = r.shape(x);
    return r.op('reshape', [x], [-1, shape.at(-1)!]);
  },
};

const kernels: Record<string, Step> = {
  none: (_, x) => x,
  neg: (r, x) => r.op('neg', [x]),
  scale: (r, x) => r.op('scale', [x], [2, 1]),
  silu: (r, x) => r.op('silu', [x]),
  addSelf: (r, x) => r.op('add', [x, r.op('sqr', [x])]),
  addRow: (r, x) => r.op('add', [x, r.op('narrow', [x], [-1, 0, 1])]),
  subColumn: (r, x) => (r.shape(x).length < 2 ? x : r.op('sub', [x, r.op('narrow', [x], [-2, 0, 1])])),
  mulOuter: (r, x) => {
    const shape = r.shape(x);
    if (shape.length < 2) return x;
    return r.op('mul', [r.op('narrow', [x], [-1, 0, 1]), r.op('narrow', [x], [-2, 0, 1])]);
  },
  product: (r, x) => r.op('mul_mat', [x, x], [1]),
  softMax: (r, x) => r.op('soft_max', [x], [0.5]),
  rmsNorm: (r, x) => r.op('rms_norm', [x], [0.1]),
  norm: (r, x) => r.op('norm', [x], [0.1]),
  sumRows: (r, x) => r.op('sum_rows', [x]),
  mean: (r, x) => r.op('mean', [x]),
  concat: (r, x, pick) => r.op('concat', [x, x], [pick % r.shape(x).length]),
  repeat: (r, x) => r.op('repeat', [x], [...r.shape(x).slice(0, -1), 2 * r.shape(x).at(-1)!]),
  pad: (r, x) => r.op('pad', [x], [1, 2]),
  padBefore: (r, x) => (r.shape(x).length < 2 ? x : r.op('pad', [x], [0, 0, 2, 1])),
  half: (r, x) => r.op('cast', [r.op('cast', [x], [1])], [0]),
  rows: (r, x) => {
    const shape = r.shape(x);
    if (shape.length !== 2) return x;
    return r.op('get_rows', [x, r.constant('i32', [2], Int32Array.of(shape[0]! - 1, 0))]);
  },
  groupNorm: (r, x) => (r.shape(x).length < 2 ? x : r.op('group_norm', [x], [1, 0.1])),
  depthwise: (r, x) => {
    const shape = r.shape(x);
    if (shape.length !== 3 || shape[2]! < 2) return x;
    const kernel = r.op(
      'reshape',
      [r.op('narrow', [r.op('narrow', [x], [0, 0, 1])], [2, 0, 2])],
      [shape[1]!, 1, 2],
    );
    return r.op('conv_1d_dw', [kernel, x], [1, 1, 1]);
  },
  columns: (r, x) => {
    const shape = r.shape(x);
    if (shape.length !== 3 || shape[2]! < 2) return x;
    const kernel = r.op('narrow', [r.op('narrow', [x], [0, 0, 1])], [2, 0, 2]);
    return r.op('im2col', [kernel, x], [1, 1, 1]);
  },
  rope: (r, x) => {
    const shape = r.shape(x);
    if (shape.length !== 3 || shape[2]! % 2 !== 0) return x;
    const positions = r.constant(
      'i32',
      [shape[0]!],
      Int32Array.from({ length: shape[0]! }, (_, i) => 3 * i),
    );
    return r.op('rope', [x, positions], [shape[2]!, 2, 0, 100]);
  },
};

const graph = fc.record({
  shape: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
  seed: fc.nat(1000),
  steps: fc.array(
    fc.record({
      step: fc.oneof(fc.constantFrom(...Object.keys(views)), fc.constantFrom(...Object.keys(kernels))),
      pick: fc.nat(63),
    }),
    { minLength: 1, maxLength: 5 },
  ),
});

describe.skipIf(vulkanName === null && !vulkanRequired)('a Vulkan device and the processor', () => {
  let devices: Device[] = [];
  beforeAll(async () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    devices = [
      await addon.openDevice({ name: 'CPU', threads: 1 }),
      await addon.openDevice({ name: vulkanName }),
    ];
  });
  afterAll(() => Promise.all(devices.map((device) => device.close())));

  it('agree on random graphs', async () => {
    await fc.assert(
      fc.asyncProperty(graph, async ({ shape, seed, steps }) => {
        const elements = shape.reduce((a, b) => a * b, 1);
        const input = f32(shape, [...noise(elements, seed)]);
        const results = [];
        for (const device of devices) {
          results.push(
            await compute(device, [input], (recorder, [x]) => {
              let y = x!;
              for (const { step, pick } of steps) {
                if (recorder.shape(y).reduce((a, b) => a * b, 1) > 5000) break;
                y = (views[step] ?? kernels[step]!)(recorder, y, pick);
              }
              return recorder.op('scale', [y], [1]);
            }),
          );
        }
        const [cpu, vulkan] = results;
        expect(vulkan!.shape).toEqual(cpu!.shape);
        for (const [i, value] of cpu!.values.entries()) {
          const slack = 2e-2 * Math.max(1, Math.abs(value));
          if (Number.isFinite(value)) expect(Math.abs(vulkan!.values[i]! - value)).toBeLessThanOrEqual(slack);
        }
      }),
      { numRuns: Number(process.env.MIZUOTO_AGREEMENT_RUNS ?? 400), seed: 20260511 },
    );
  });
});
