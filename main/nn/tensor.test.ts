import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arena, Device } from '../../native/addon.ts';
import * as F from './functional.ts';
import { GraphBuilder } from './graph.ts';
import { pad } from './layers/padding.ts';
import type { Shape } from './shapes.ts';
import type { Tensor } from './tensor.ts';
import { addon, openTestDevice } from './testing/devices.ts';

/** A plain nested-loop tensor, to check layouts against. */
class Plain {
  constructor(
    readonly shape: Shape,
    readonly at: (index: number[]) => number,
  ) {}

  values(): number[] {
    const result: number[] = [];
    const walk = (index: number[]): void => {
      if (index.length === this.shape.length) result.push(this.at(index));
      else for (let i = 0; i < this.shape[index.length]!; i += 1) walk([...index, i]);
    };
    walk([]);
    return result;
  }
}

const value = (shape: Shape) => (index: number[]) =>
  index.reduce((position, i, axis) => position * shape[axis]! + i, 0) * 0.25 + 1;

describe('Tensor', () => {
  let device: Device;
  let arena: Arena;

  beforeAll(async () => {
    device = await openTestDevice('CPU');
    arena = device.createArena();
  });

  afterAll(async () => {
    arena.dispose();
    await device.close();
  });

  async function run(
    shapes: Shape[],
    body: (...inputs: Tensor[]) => Tensor,
  ): Promise<{ shape: Shape; data: number[] }> {
    const g = new GraphBuilder(addon);
    const inputs = shapes.map((shape, index) => g.input(`x${index}`, 'f32', shape));
    const y = body(...inputs);
    g.output('y', y);
    const graph = g.compile(device, arena);
    const data = await graph.runFloat32(
      Object.fromEntries(
        shapes.map((shape, index) => [
          `x${index}`,
          Float32Array.from(new Plain(shape, value(shape)).values()),
        ]),
      ),
      'y',
    );
    expect(g.recorder.shape).toBeDefined();
    graph.dispose();
    return { shape: y.shape, data: [...data] };
  }

  async function expectValues(
    shapes: Shape[],
    body: (...inputs: Tensor[]) => Tensor,
    shape: Shape,
    at: (index: number[]) => number,
  ): Promise<void> {
    const result = await run(shapes, body);
    expect(result.shape).toEqual(shape);
    const expected = new Plain(shape, at).values();
    expect(result.data).toHaveLength(expected.length);
    for (const [index, number] of expected.entries()) expect(result.data[index]).toBeCloseTo(number, 4);
  }

  const a: Shape = [2, 3, 4];
  const x = value(a);

  it('permutes, and permutes back without a copy', async () => {
    await expectValues(
      [a],
      (t) => t.permute(2, 0, 1),
      [4, 2, 3],
      ([i, j, k]) => x([j!, k!, i!]),
    );
    await expectValues(
      [a],
      (t) => t.transpose(1, 2).transpose(0, 1),
      [4, 2, 3],
      ([i, j, k]) => x([j!, k!, i!]),
    );
    const g = new GraphBuilder(addon);
    const t = g.input('x', 'f32', a);
    expect(t.transpose(1, 2).transpose(1, 2)).toBe(t);
    expect(t.transpose(1, 2).mul(2).transpose(1, 2).isContiguous).toBe(true);
    expect(t.reshape(2, 1, 3, 4).permute(1, 0, 2, 3).isContiguous).toBe(true);
  });

  it('runs elementwise operations on permuted tensors', async () => {
    await expectValues(
      [a],
      (t) => t.transpose(1, 2).sqr(),
      [2, 4, 3],
      ([i, j, k]) => x([i!, k!, j!]) ** 2,
    );
    await expectValues(
      [a],
      (t) => t.transpose(1, 2).mul(3).add(1),
      [2, 4, 3],
      ([i, j, k]) => 3 * x([i!, k!, j!]) + 1,
    );
  });

  it('adds tensors of different layouts', async () => {
    const b: Shape = [2, 4, 3];
    await expectValues(
      [a, b],
      (t, u) => t.add(u.transpose(1, 2)),
      a,
      ([i, j, k]) => x([i!, j!, k!]) + value(b)([i!, k!, j!]),
    );
    await expectValues(
      [a, b],
      (t, u) => t.transpose(1, 2).sub(u),
      b,
      ([i, j, k]) => x([i!, k!, j!]) - value(b)([i!, j!, k!]),
    );
  });

  it('broadcasts either side, with any number of dimensions', async () => {
    const row = value([4]);
    const column = value([3, 1]);
    await expectValues(
      [a, [4]],
      (t, u) => t.mul(u),
      a,
      ([i, j, k]) => x([i!, j!, k!]) * row([k!]),
    );
    await expectValues(
      [a, [4]],
      (t, u) => u.mul(t),
      a,
      ([i, j, k]) => x([i!, j!, k!]) * row([k!]),
    );
    await expectValues(
      [a, [4]],
      (t, u) => u.sub(t),
      a,
      ([i, j, k]) => row([k!]) - x([i!, j!, k!]),
    );
    await expectValues(
      [a, [3, 1]],
      (t, u) => t.div(u),
      a,
      ([i, j, k]) => x([i!, j!, k!]) / column([j!, 0]),
    );
    await expectValues(
      [a, [3, 1]],
      (t, u) => t.transpose(1, 2).add(u.reshape(3)),
      [2, 4, 3],
      ([i, j, k]) => x([i!, k!, j!]) + column([k!, 0]),
    );
    await expectValues(
      [[3, 1], [4]],
      (t, u) => t.add(u),
      [3, 4],
      ([i, j]) => column([i!, 0]) + row([j!]),
    );
    await expectValues(
      [
        [1, 4],
        [3, 1],
      ],
      (t, u) => t.sub(u),
      [3, 4],
      ([i, j]) => row([j!]) - column([i!, 0]),
    );
  });

  it('reshapes permuted tensors in the order of their shape', async () => {
    await expectValues(
      [a],
      (t) => t.transpose(1, 2).reshape(2, -1),
      [2, 12],
      ([i, j]) => x([i!, j! % 3, Math.floor(j! / 3)]),
    );
    await expectValues(
      [a],
      (t) => t.unsqueeze(1).squeeze(1).unsqueeze(-1),
      [2, 3, 4, 1],
      ([i, j, k]) => x([i!, j!, k!]),
    );
  });

  it('narrows any dimension, permuted or not', async () => {
    await expectValues(
      [a],
      (t) => t.narrow(1, 1, 2),
      [2, 2, 4],
      ([i, j, k]) => x([i!, j! + 1, k!]),
    );
    await expectValues(
      [a],
      (t) => t.narrow(-1, 1, 2).add(0.5),
      [2, 3, 2],
      ([i, j, k]) => x([i!, j!, k! + 1]) + 0.5,
    );
    await expectValues(
      [a],
      (t) => t.transpose(0, 2).narrow(0, 2, 2),
      [2, 3, 2],
      ([i, j, k]) => x([k!, j!, i! + 2]),
    );
    await expectValues(
      [a],
      (t) => t.narrow(2, 1, 3).narrow(1, 0, 2).transpose(1, 2),
      [2, 3, 2],
      ([i, j, k]) => x([i!, k!, j! + 1]),
    );
    await expectValues(
      [a],
      (t) => t.chunk(2, 2)[1]!,
      [2, 3, 2],
      ([i, j, k]) => x([i!, j!, k! + 2]),
    );
    expect((await run([a], (t) => t.narrow(0, 1, 1))).data).toHaveLength(12);
  });

  it('joins tensors along any dimension', async () => {
    const b = value([2, 1, 4]);
    await expectValues(
      [a, [2, 1, 4]],
      (t, u) => t.concat(u, 1),
      [2, 4, 4],
      ([i, j, k]) => (j! < 3 ? x([i!, j!, k!]) : b([i!, 0, k!])),
    );
    await expectValues(
      [a, [2, 1, 4]],
      (t, u) => t.transpose(1, 2).concat(u.transpose(1, 2), 2),
      [2, 4, 4],
      ([i, j, k]) => (k! < 3 ? x([i!, k!, j!]) : b([i!, 0, j!])),
    );
  });

  it('expands and casts', async () => {
    await expectValues(
      [[3, 1]],
      (t) => t.expand(2, 3, 4),
      [2, 3, 4],
      ([, j]) => value([3, 1])([j!, 0]),
    );
    await expectValues(
      [a],
      (t) => t.cast('f16').cast('f32'),
      a,
      (index) => x(index),
    );
  });

  it('multiplies matrices, in batches, from views', async () => {
    const b: Shape = [2, 4, 5];
    const y = value(b);
    const product = ([i, j, k]: number[]): number =>
      [0, 1, 2, 3].reduce((sum, m) => sum + x([i!, j!, m]) * y([i!, m, k!]), 0);
    await expectValues([a, b], (t, u) => t.matmul(u), [2, 3, 5], product);
    await expectValues(
      [a, [2, 5, 4]],
      (t, u) => t.linear(u),
      [2, 3, 5],
      ([i, j, k]) => [0, 1, 2, 3].reduce((sum, m) => sum + x([i!, j!, m]) * value([2, 5, 4])([i!, k!, m]), 0),
    );
    await expectValues(
      [
        [4, 2, 3],
        [5, 4],
      ],
      (t, u) => t.permute(1, 2, 0).linear(u),
      [2, 3, 5],
      ([i, j, k]) =>
        [0, 1, 2, 3].reduce((sum, m) => sum + value([4, 2, 3])([m, i!, j!]) * value([5, 4])([k!, m]), 0),
    );
    await expectValues(
      [
        [6, 2, 3],
        [3, 2, 3],
      ],
      (t, u) => t.linear(u),
      [6, 2, 2],
      ([i, j, k]) =>
        [0, 1, 2].reduce(
          (sum, m) => sum + value([6, 2, 3])([i!, j!, m]) * value([3, 2, 3])([Math.floor(i! / 2), k!, m]),
          0,
        ),
    );
  });

  it('pads permuted tensors', async () => {
    await expectValues(
      [a],
      (t) => pad(t.transpose(1, 2), 1, 2),
      [2, 4, 6],
      ([i, j, k]) => (k! < 1 || k! > 3 ? 0 : x([i!, k! - 1, j!])),
    );
    await expectValues(
      [a],
      (t) => pad(t, 2, 1, 'reflect'),
      [2, 3, 7],
      ([i, j, k]) => x([i!, j!, [2, 1, 0, 1, 2, 3, 2][k!]!]),
    );
  });

  it('masks and scales a softmax', async () => {
    const result = await run([[2, 3]], (t) => F.softmax(t, { scale: 2 }));
    const row = [1, 1.25, 1.5].map((v) => Math.exp(2 * v));
    const total = row.reduce((sum, v) => sum + v, 0);
    for (const [index, v] of row.entries()) expect(result.data[index]).toBeCloseTo(v / total, 6);
  });

  it('refuses shapes that do not fit, before the recorder sees them', () => {
    const g = new GraphBuilder(addon);
    const t = g.input('x', 'f32', a);
    const u = g.input('y', 'f32', [2, 2]);
    expect(() => t.add(u)).toThrow(/do not broadcast/);
    expect(() => t.linear(u)).toThrow(/not defined/);
    expect(() => t.reshape(5, -1)).toThrow(/do not reshape/);
    expect(() => t.narrow(1, 2, 2)).toThrow(/do not exist/);
    expect(() => t.permute(0, 1)).toThrow(/no order/);
    expect(() => t.concat(u, 0)).toThrow(/do not join/);
    expect(() => t.chunk(3, 2)).toThrow(/equal parts/);
    expect(() => t.size(3)).toThrow(/does not exist/);
    expect(() => t.expand(2, 3, 5)).toThrow(RangeError);
    expect(() => g.input('x', 'f32', [1])).toThrow(/already has an input/);
    expect(() => pad(t, 4, 0, 'reflect')).toThrow(/more than 4 frames/);
    expect(() => g.constant('c', 'f32', [3], () => new Float32Array(2))).toThrow(/2 values/);
  });
});
