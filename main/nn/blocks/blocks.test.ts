import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arena, Device, WeightStore } from '../../../native/addon.ts';
import { GraphBuilder } from '../graph.ts';
import { ConvTranspose1d } from '../layers/conv-transpose1d.ts';
import { Conv1d } from '../layers/conv1d.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import { Random } from '../random.ts';
import { reorder } from '../stored.ts';
import type { Tensor } from '../tensor.ts';
import { addon, openTestDevice } from '../testing/devices.ts';
import { largestDifference } from '../testing/fixtures.ts';
import { attachWeights, type BoundWeight } from '../units.ts';
import { CausalConvTranspose1d } from './causal-conv-transpose1d.ts';
import { CausalConv1d } from './causal-conv1d.ts';
import { Codebook, codebookEntries } from './residual-vq.ts';
import { joinRows, splitRows } from './rows.ts';
import { type RecordChunk, type Stream, StreamLayout, StreamState } from './stream.ts';
import { windowMask } from './window-cache.ts';

/** Sums of up to 56 products of normal numbers reach 30. */
const tolerance = 2e-5;

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

function signal(frames: number, channels: number): Float32Array {
  return new Random(3).fillNormal(new Float32Array(frames * channels));
}

/** Each parameter's values depend on its shape alone: a layer and the block that does the same have the same weights. */
function weigh(module: Module): WeightStore {
  const weights = new Map<Parameter, BoundWeight>();
  const specs = [...module.namedParameters()].map(({ name, parameter }) => {
    const { shape, storedOrder, value } = parameter;
    const values = value ?? new Random(7).fillNormal(new Float32Array(parameter.elements));
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const data = storedOrder === null ? bytes : reorder(bytes, shape, storedOrder, 4);
    weights.set(parameter, { name, dtype: 'f32' });
    const source = { data: new Float32Array(data.slice().buffer) };
    return { name, shape: parameter.storedShape, dtype: 'f32' as const, unit: -1, source };
  });
  const store = addon.createWeightStore('block', specs);
  attachWeights(module, store, weights);
  store.bind(device);
  return store;
}

/** A whole signal `[frames, channels]` through a layer that knows nothing of chunks. */
async function whole(layer: Conv1d | ConvTranspose1d, rows: Float32Array): Promise<Float32Array> {
  const store = weigh(layer);
  const channels = layer.in_channels;
  const g = new GraphBuilder(addon);
  const x = g.input('x', 'f32', [1, rows.length / channels, channels]);
  g.output('y', layer.forward(g, x.transpose(1, 2)).transpose(1, 2));
  const graph = g.compile(device, arena);
  const y = await graph.runFloat32({ x: rows }, 'y');
  graph.dispose();
  await store.dispose();
  return y;
}

type CausalLayer = Module & {
  in_channels: number;
  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor;
};

/** The same signal in chunks of these lengths, each in pieces of at most `piece` frames. */
async function inChunks(
  layer: CausalLayer,
  rows: Float32Array,
  lengths: readonly number[],
  piece: number,
): Promise<Float32Array> {
  const store = weigh(layer);
  const channels = layer.in_channels;
  const record =
    (frames: number): RecordChunk =>
    (g, stream) => {
      const x = g.input('x', 'f32', [frames, channels]);
      const parts = splitRows(x, piece).map((part) => layer.forward(g, part, stream));
      g.output('y', joinRows(parts, Number.POSITIVE_INFINITY)[0]!);
    };
  const state = await StreamState.create(device, new StreamLayout(addon, record(lengths[0]!)));
  const parts: number[] = [];
  let at = 0;
  for (const [index, frames] of lengths.entries()) {
    const g = new GraphBuilder(addon);
    state.record(g, record(frames), { first: index === 0, last: index === lengths.length - 1 });
    const graph = g.compile(device, arena);
    const chunk = rows.subarray(at * channels, (at + frames) * channels);
    parts.push(...(await graph.runFloat32({ x: chunk }, 'y')));
    graph.dispose();
    at += frames;
  }
  expect(at * channels).toBe(rows.length);
  state.dispose();
  await store.dispose();
  return Float32Array.from(parts);
}

describe('causal convolution in chunks', () => {
  it.each([
    { name: 'dense', kernel: 7, options: {} },
    { name: 'dilated beyond a chunk', kernel: 7, options: { dilation: 9 } },
    { name: 'pointwise', kernel: 1, options: {} },
    { name: 'without bias', kernel: 3, options: { bias: false } },
    { name: 'depthwise', kernel: 7, options: { groups: 8 } },
    { name: 'strided', kernel: 6, options: { stride: 3 } },
  ])('$name equals the layer over the whole signal', async ({ kernel, options }) => {
    const rows = signal(48, 8);
    const expected = await whole(new Conv1d(8, 8, kernel, { ...options, padding: 'causal' }), rows);
    for (const [lengths, piece] of [
      [[48], 48],
      [[6, 3, 9, 30], 3],
      [[3, 45], 100],
    ] as const) {
      const made = await inChunks(new CausalConv1d(8, 8, kernel, options), rows, lengths, piece);
      expect(largestDifference(made, expected)).toBeLessThan(tolerance);
    }
  });

  it('fills the last stride as the padding mode says', async () => {
    const rows = signal(10, 8);
    const padded = (value: (channel: number) => number): Float32Array => {
      const longer = new Float32Array(12 * 8);
      longer.set(rows);
      for (let i = 80; i < 96; i += 1) longer[i] = value(i % 8);
      return longer;
    };
    const zeros = await inChunks(new CausalConv1d(8, 8, 8, { stride: 4 }), rows, [4, 6], 8);
    expect(zeros).toHaveLength(3 * 8);
    expect(zeros).toEqual(
      await inChunks(
        new CausalConv1d(8, 8, 8, { stride: 4 }),
        padded(() => 0),
        [4, 8],
        8,
      ),
    );
    const options = { stride: 4, padding_mode: 'replicate' } as const;
    const edge = await inChunks(new CausalConv1d(8, 8, 8, options), rows, [4, 6], 8);
    const held = padded((channel) => rows[72 + channel]!);
    expect(edge).toEqual(await inChunks(new CausalConv1d(8, 8, 8, options), held, [4, 8], 8));
    expect(edge.slice(0, 8)).not.toEqual(zeros.slice(0, 8));
  });

  it('refuses a part of a stride before the end, and groups that it has no way for', async () => {
    const layer = new CausalConv1d(8, 8, 6, { stride: 3 });
    await expect(inChunks(layer, signal(10, 8), [4, 6], 8)).rejects.toThrow('no multiple of stride 3');
    expect(() => new CausalConv1d(8, 8, 3, { groups: 2 })).toThrow('1 group, or one per channel');
    expect(() => new CausalConv1d(8, 8, 2, { stride: 3 })).toThrow('gaps');
  });
});

describe('causal transposed convolution in chunks', () => {
  it.each([
    [4, 2],
    [2, 2],
    [9, 3],
  ])('kernel %i, stride %i equals the layer over the whole signal', async (kernel, stride) => {
    const rows = signal(20, 6);
    const layer = new ConvTranspose1d(6, 4, kernel, { stride, trim: [0, kernel - stride] });
    const expected = await whole(layer, rows);
    for (const [lengths, piece] of [
      [[20], 20],
      [[1, 1, 5, 13], 2],
    ] as const) {
      const made = await inChunks(new CausalConvTranspose1d(6, 4, kernel, stride), rows, lengths, piece);
      expect(largestDifference(made, expected)).toBeLessThan(tolerance);
    }
  });

  it('refuses kernels that are no whole strides', () => {
    expect(() => new CausalConvTranspose1d(6, 4, 5, 2)).toThrow('no multiple of the stride');
  });
});

describe('what layers keep', () => {
  class Forgetful extends Module {
    constructor(readonly width: number) {
      super();
    }

    forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
      const before = stream.recall(g, this, 'sum', [1, this.width]);
      stream.keep(this, 'sum', x.narrow(0, x.size(0) - 1, 1));
      return x.add(before);
    }
  }

  it('has one shape for all chunks, and is cleared between signals', async () => {
    const layer = new Forgetful(4);
    const record: RecordChunk = (g, stream) => {
      g.output('y', layer.forward(g, g.input('x', 'f32', [2, 4]), stream));
    };
    const layout = new StreamLayout(addon, record);
    expect(layout.bytes(addon)).toBe(16);
    const state = await StreamState.create(device, layout);
    const g = new GraphBuilder(addon);
    state.record(g, record);
    const graph = g.compile(device, arena);
    const x = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const once = await graph.runFloat32({ x }, 'y');
    expect([...once]).toEqual([...x]);
    expect([...(await graph.runFloat32({ x }, 'y'))]).toEqual([6, 8, 10, 12, 10, 12, 14, 16]);
    await state.clear();
    expect(await graph.runFloat32({ x }, 'y')).toEqual(once);
    const wrong: RecordChunk = (other, stream) => {
      stream.keep(layer, 'sum', other.input('x', 'f32', [2, 4]));
    };
    expect(() => state.record(new GraphBuilder(addon), wrong)).toThrow('not [2, 4]');
    const unknown: RecordChunk = (other, stream) => {
      stream.recall(other, layer, 'more', [1, 4]);
    };
    expect(() => state.record(new GraphBuilder(addon), unknown)).toThrow('was not told of');
    graph.dispose();
    state.dispose();
  });
});

describe('sliding window', () => {
  it.each([
    [0, 5],
    [2, 5],
    [9, 3],
  ])('from position %i, %i queries see themselves and what the window holds', (start, positions) => {
    const window = 4;
    const mask = windowMask(positions, window, start);
    const keys = window - 1 + positions;
    for (let query = 0; query < positions; query += 1) {
      for (let key = 0; key < keys; key += 1) {
        const [at, of] = [start + query, start - (window - 1) + key];
        const visible = of >= 0 && of <= at && of > at - window;
        expect(mask[query * keys + key]).toBe(visible ? 0 : Number.NEGATIVE_INFINITY);
      }
    }
  });
});

describe('codebook', () => {
  it('finds the nearest entry, and gives it back', async () => {
    const [size, dim, frames] = [32, 6, 40];
    const usage = new Random(1).fillNormal(new Float32Array(size)).map((value) => Math.abs(value) + 0.5);
    usage[3] = 0;
    const sums = new Random(2).fillNormal(new Float32Array(size * dim));
    sums.fill(1e-5, 3 * dim, 4 * dim);
    const entries = codebookEntries({ sums, usage });
    expect(entries[3 * dim]).toBeCloseTo(1, 6);
    const book = new Codebook(size, dim, { entries, search: true });
    const store = weigh(book);
    const x = signal(frames, dim);
    const g = new GraphBuilder(addon);
    const codes = book.encode(g, g.input('x', 'f32', [frames, dim]));
    g.output('codes', codes);
    g.output('entries', book.decode(g, codes));
    const graph = g.compile(device, arena);
    const made = await graph.run({ x });
    for (let frame = 0; frame < frames; frame += 1) {
      const distances = Array.from({ length: size }, (_, entry) => {
        let sum = 0;
        for (let i = 0; i < dim; i += 1) sum += (x[frame * dim + i]! - entries[entry * dim + i]!) ** 2;
        return sum;
      });
      const code = (made.codes as Int32Array)[frame]!;
      expect(code).toBe(distances.indexOf(Math.min(...distances)));
      expect((made.entries as Float32Array).slice(frame * dim, (frame + 1) * dim)).toEqual(
        entries.slice(code * dim, (code + 1) * dim),
      );
    }
    graph.dispose();
    await store.dispose();
  });
});
