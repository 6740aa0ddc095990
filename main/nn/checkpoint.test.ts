import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint, Device } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import { compareCheckpoint, type LoadOptions, loadWeights } from './checkpoint.ts';
import { GraphBuilder } from './graph.ts';
import { toBFloat16, toFloat16 } from './half.ts';
import { ConvTranspose1d } from './layers/conv-transpose1d.ts';
import { Embedding } from './layers/embedding.ts';
import { Linear } from './layers/linear.ts';
import { Module } from './module.ts';
import { Parameter } from './parameter.ts';
import { addon, openTestDevice } from './testing/devices.ts';
import { type TensorFile, temporaryFolder, writeSafetensors } from './testing/safetensors.ts';

class Net extends Module {
  readonly fc1 = new Linear(8, 6);
  readonly fc2 = new Linear(6, 4, { bias: false });
}

const f32 = (shape: number[], data?: ArrayLike<number>): TensorFile => {
  const count = shape.reduce((product, size) => product * size, 1);
  return {
    dtype: 'F32',
    shape,
    data: Float32Array.from(data ?? Array.from({ length: count }, (_, i) => Math.sin(i + 1))),
  };
};
const f16 = (shape: number[], data?: ArrayLike<number>): TensorFile => ({
  dtype: 'F16',
  shape,
  data: toFloat16(f32(shape, data).data as Float32Array),
});

const complete: Record<string, TensorFile> = {
  'fc1.weight': f32([6, 8]),
  'fc1.bias': f32([6]),
  'fc2.weight': f32([4, 6]),
};

describe('loadWeights', () => {
  const { folder, remove } = temporaryFolder();
  let device: Device;
  let options: LoadOptions;
  let files = 0;
  const opened: Checkpoint[] = [];

  beforeAll(async () => {
    device = await openTestDevice('CPU');
    options = { component: 'net', device };
  });

  afterAll(async () => {
    for (const checkpoint of opened) checkpoint.close();
    await device.close();
    remove();
  });

  async function open(tensors: Record<string, TensorFile>): Promise<Checkpoint> {
    files += 1;
    const path = writeSafetensors(join(folder, `${files}.safetensors`), tensors);
    const checkpoint = await addon.openCheckpoint([path]);
    opened.push(checkpoint);
    return checkpoint;
  }

  async function failure(
    tensors: Record<string, TensorFile>,
    more: Partial<LoadOptions> = {},
  ): Promise<StudioError> {
    const checkpoint = await open(tensors);
    const error = await loadWeights(addon, new Net(), checkpoint, { ...options, ...more }).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!(error instanceof StudioError)) throw new Error(`Expected a StudioError, got ${String(error)}`);
    return error;
  }

  it('binds every parameter under its name', async () => {
    const net = new Net();
    const { store, report } = await loadWeights(addon, net, await open(complete), options);
    expect(report).toEqual({ loaded: 3, missing: [], unexpected: [], misshaped: [], unusable: [] });
    expect(net.fc1.weight.store).toBe(store);
    expect(net.fc1.weight.path).toBe('fc1.weight');
    expect(store.component).toBe('net');
    await store.dispose();
  });

  it('reports missing, unexpected and mis-shaped tensors together, with both shapes', async () => {
    const error = await failure({
      'fc1.weight': f32([8, 6]),
      'fc2.weight': f32([4, 6]),
      'fc3.weight': f32([1]),
    });
    expect(error.code).toBe('checkpoint_mismatch');
    expect(error.message).toMatchInlineSnapshot(
      `"The checkpoint does not fit the network "net": 1 tensor is missing (fc1.bias); 1 tensor is of another shape (fc1.weight is [8, 6] instead of [6, 8]); 1 tensor is unknown to it (fc3.weight). It belongs to another model or another version of it; choose the files named in the catalog."`,
    );
    expect(error.params).toMatchObject({
      loaded: 1,
      missing: 1,
      misshaped: 1,
      unexpected: 1,
      first: 'fc1.bias',
    });
  });

  it('names the first few of many', async () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`old.${index}`, f32([1])]));
    const error = await failure({ ...complete, ...many });
    expect(error.message).toContain('9 tensors are unknown to it (old.0, old.1, old.2, and 6 more)');
  });

  it('compares without loading', async () => {
    const report = compareCheckpoint(new Net(), await open({ 'fc1.weight': f32([6, 8]) }), options);
    expect(report.missing).toEqual(['fc1.bias', 'fc2.weight']);
    expect(report.loaded).toBe(1);
  });

  it('renames, leaves out and tolerates what it is told to', async () => {
    const checkpoint = await open({
      'model.fc1.weight': f32([6, 8]),
      'model.fc1.bias': f32([6]),
      'model.fc2.weight': f32([4, 6]),
      'model.extra': f32([2]),
      'optimizer.step': f32([1]),
    });
    const { store, report } = await loadWeights(addon, new Net(), checkpoint, {
      ...options,
      rename: (name) => (name.startsWith('model.') ? name.slice(6) : null),
      allowUnexpected: (name) => name === 'extra',
    });
    expect(report.loaded).toBe(3);
    await store.dispose();
  });

  it('refuses a type that no weight can have', async () => {
    const error = await failure({
      ...complete,
      'fc1.weight': { dtype: 'I64', shape: [6, 8], data: new BigInt64Array(48) },
    });
    expect(error.code).toBe('checkpoint_mismatch');
  });

  it.each<[string, TensorFile]>([
    [
      'float32 NaN',
      f32(
        [6, 8],
        Float32Array.from({ length: 48 }, (_, i) => (i === 13 ? Number.NaN : i)),
      ),
    ],
    [
      'float16 infinity',
      f16(
        [6, 8],
        Float32Array.from({ length: 48 }, (_, i) => (i === 13 ? 1e6 : i)),
      ),
    ],
    [
      'bfloat16 NaN',
      {
        dtype: 'BF16',
        shape: [6, 8],
        data: toBFloat16(Float32Array.from({ length: 48 }, (_, i) => (i === 13 ? Number.NaN : i))),
      },
    ],
    [
      'float64 infinity',
      {
        dtype: 'F64',
        shape: [6, 8],
        data: Float64Array.from({ length: 48 }, (_, i) => (i === 13 ? -1 / 0 : i)),
      },
    ],
  ])('finds %s and names tensor and element', async (_, tensor) => {
    const error = await failure({ ...complete, 'fc1.weight': tensor });
    expect(error.code).toBe('weights_not_finite');
    expect(error.params).toEqual({ tensor: 'fc1.weight', element: 13 });
    expect(error.message).toContain('"fc1.weight"');
  });

  it('accepts the largest finite values', async () => {
    const extreme = f16(
      [6, 8],
      Float32Array.from({ length: 48 }, () => -65504),
    );
    const { store } = await loadWeights(
      addon,
      new Net(),
      await open({ ...complete, 'fc1.weight': extreme }),
      options,
    );
    await store.dispose();
  });

  it('finds a weight norm whose directions are zero', async () => {
    const error = await failure({
      'fc1.weight_g': f32([6, 1]),
      'fc1.weight_v': f32([6, 8], new Float32Array(48)),
      'fc1.bias': f32([6]),
      'fc2.weight': f32([4, 6]),
    });
    expect(error.code).toBe('weights_not_finite');
    expect(error.params.tensor).toBe('fc1.weight');
  });

  it('says what is wrong with half a weight norm', async () => {
    const error = await failure({
      'fc1.weight_g': f32([6, 1]),
      'fc1.bias': f32([6]),
      'fc2.weight': f32([4, 6]),
    });
    expect(error.message).toContain('1 tensor is missing (fc1.weight)');
    expect(error.message).toContain('1 tensor is unknown to it (fc1.weight_g)');
  });

  it('takes half-precision matrices as they are, mapped, and widens only vectors', async () => {
    const net = new Net();
    const { store } = await loadWeights(
      addon,
      net,
      await open({ 'fc1.weight': f16([6, 8]), 'fc1.bias': f16([6]), 'fc2.weight': f16([4, 6]) }),
      options,
    );
    expect([net.fc1.weight.dtype, net.fc1.bias!.dtype, net.fc2.weight.dtype]).toEqual(['f16', 'f32', 'f16']);
    // A bias in float32; the matrices stay in the map, or are copied at their own size where it is not aligned.
    expect(store.ownedHostBytes).toBeLessThanOrEqual(6 * 4 + (6 * 8 + 4 * 6) * 2 + 3 * 64);
    await store.dispose();
  });

  it('widens everything for strict parity', async () => {
    const net = new Net();
    const { store } = await loadWeights(addon, net, await open({ ...complete, 'fc1.weight': f16([6, 8]) }), {
      ...options,
      dtype: 'f32',
    });
    expect(net.fc1.weight.dtype).toBe('f32');
    await store.dispose();
  });

  it('rearranges a transposed convolution in its own precision', async () => {
    const layer = new ConvTranspose1d(4, 3, 2, { bias: false });
    const { store } = await loadWeights(addon, layer, await open({ weight: f16([4, 3, 2]) }), options);
    expect(layer.weight.dtype).toBe('f16');
    expect(layer.weight.storedShape).toEqual([3, 2, 4]);
    await store.dispose();
  });

  it('loads a tied weight under whichever name the checkpoint has', async () => {
    class Tied extends Module {
      readonly embed = new Embedding(5, 3);
      readonly head = new Linear(3, 5, { bias: false });
      constructor() {
        super();
        Reflect.set(this.head, 'weight', this.embed.weight);
      }
    }
    for (const name of ['embed.weight', 'head.weight']) {
      const tied = new Tied();
      const { store, report } = await loadWeights(addon, tied, await open({ [name]: f32([5, 3]) }), options);
      expect(report.loaded).toBe(1);
      expect(tied.head.weight.path).toBe('embed.weight');
      await store.dispose();
    }
  });

  it('fills in what upstream keeps out of checkpoints', async () => {
    class Buffered extends Module {
      readonly window = new Parameter([4], { value: Float32Array.of(1, 2, 3, 4) });
      readonly offset = new Parameter([4]);

      forward(g: GraphBuilder): void {
        g.output('window', g.weight(this.window).mul(1));
        g.output('offset', g.weight(this.offset).add(1));
      }
    }
    const module = new Buffered();
    const { store, report } = await loadWeights(addon, module, await open({ unused: f32([1]) }), {
      ...options,
      rename: () => null,
      allowMissing: (name) => name === 'offset',
    });
    expect(report.missing).toEqual([]);
    store.bind(device);
    const g = new GraphBuilder(addon);
    module.forward(g);
    const arena = device.createArena();
    const graph = g.compile(device, arena);
    const { window, offset } = await graph.run({});
    expect([...(window as Float32Array)]).toEqual([1, 2, 3, 4]);
    expect([...(offset as Float32Array)]).toEqual([1, 1, 1, 1]);
    graph.dispose();
    arena.dispose();
    await store.dispose();
  });
});
