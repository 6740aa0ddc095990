import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Arena, Checkpoint, Device, TensorData } from '../../native/addon.ts';
import { loadWeights } from './checkpoint.ts';
import * as F from './functional.ts';
import { GraphBuilder } from './graph.ts';
import { Activation, type ActivationName, Snake, SnakeBeta } from './layers/activation.ts';
import { Attention, type AttentionConfig } from './layers/attention.ts';
import { ConvTranspose1d, type ConvTranspose1dOptions } from './layers/conv-transpose1d.ts';
import { Conv1d, type Conv1dOptions } from './layers/conv1d.ts';
import { Conv2d, type Conv2dOptions } from './layers/conv2d.ts';
import { ConvNeXtBlock } from './layers/convnext.ts';
import { Embedding } from './layers/embedding.ts';
import { Linear } from './layers/linear.ts';
import { SwiGLUMLP } from './layers/mlp.ts';
import { GroupNorm, LayerNorm, RMSNorm } from './layers/norm.ts';
import { causalMask, paddingMask } from './masks.ts';
import { Module } from './module.ts';
import type { Tensor } from './tensor.ts';
import { addon, openTestDevice, testLimits } from './testing/devices.ts';
import { fixture, type LayerCase, largestDifference, layerCases, openFixtures } from './testing/fixtures.ts';
import { describeOnDevices } from './testing/suites.ts';

type Tolerance = Record<'CPU' | 'Vulkan', number>;

/**
 * Largest absolute difference from PyTorch in float32, outputs being of the order of 1. What is left on the CPU is
 * the order of additions. Vulkan rounds the operands of a product to float16 where it has more than 8 columns, even
 * of float32 weights; float16 weights make either device round activations, bfloat16 ones a GPU.
 */
const product: Tolerance = { CPU: 5e-6, Vulkan: 5e-3 };
const plain: Tolerance = { CPU: 5e-6, Vulkan: 5e-6 };
const tolerances: Record<string, Tolerance> = {
  linear_f16: { CPU: 1e-3, Vulkan: 1e-2 },
  linear_bf16: { CPU: 5e-6, Vulkan: 1e-2 },
  Linear: product,
  Conv1d: product,
  ConvTranspose1d: product,
  Conv2d: product,
  ConvNeXtBlock: product,
  SwiGLUMLP: product,
  Attention: product,
  rope: { CPU: 5e-6, Vulkan: 2e-4 },
};

/** Builds the layer that a case names from the case's arguments. */
const builders: Record<string, (args: never) => Module> = {
  Linear: (a: { in_features: number; out_features: number; bias?: boolean }) =>
    new Linear(a.in_features, a.out_features, a),
  Embedding: (a: { num_embeddings: number; embedding_dim: number }) =>
    new Embedding(a.num_embeddings, a.embedding_dim),
  Conv1d: (a: Channels<number> & Conv1dOptions) =>
    new Conv1d(a.in_channels, a.out_channels, a.kernel_size, a),
  ConvTranspose1d: (a: Channels<number> & ConvTranspose1dOptions) =>
    new ConvTranspose1d(a.in_channels, a.out_channels, a.kernel_size, a),
  Conv2d: (a: Channels<number | [number, number]> & Conv2dOptions) =>
    new Conv2d(a.in_channels, a.out_channels, a.kernel_size, a),
  LayerNorm: (a: { normalized_shape: number; eps?: number; elementwise_affine?: boolean }) =>
    new LayerNorm(a.normalized_shape, a),
  RMSNorm: (a: { hidden_size: number; eps?: number }) => new RMSNorm(a.hidden_size, a),
  GroupNorm: (a: { num_groups: number; num_channels: number }) => new GroupNorm(a.num_groups, a.num_channels),
  Snake: (a: { channels: number; logscale: boolean }) => new Snake(a.channels, a),
  SnakeBeta: (a: { channels: number; logscale: boolean }) => new SnakeBeta(a.channels, a),
  ConvNeXtBlock: (a: { dim: number; kernel_size: number; mult: number }) => new ConvNeXtBlock(a.dim, a),
  SwiGLUMLP: (a: { hidden_size: number; intermediate_size: number }) => new SwiGLUMLP(a),
  Attention: (a: AttentionConfig) => new Attention(a),
  activation: ({ name }: { name: ActivationName | 'leaky_relu' }) =>
    name === 'leaky_relu' ? new LeakyRelu() : new Activation(name),
  rope: (a: F.RopeOptions) => new Rope(a),
};

interface Channels<Kernel> {
  in_channels: number;
  out_channels: number;
  kernel_size: Kernel;
}

class LeakyRelu extends Module {
  forward(_g: GraphBuilder, x: Tensor): Tensor {
    return F.leakyRelu(x, 0.1);
  }
}

/** The fixture is `[batch, heads, positions, head_dim]`, as attention layers upstream have it. */
class Rope extends Module {
  constructor(readonly options: F.RopeOptions) {
    super();
  }

  forward(_g: GraphBuilder, x: Tensor, positions: Tensor): Tensor {
    return F.rope(x.transpose(1, 2), positions, this.options).transpose(1, 2);
  }
}

/** Records the case's forward with its inputs, and gives the values to run it with. */
function record(
  g: GraphBuilder,
  module: Module,
  entry: LayerCase,
  checkpoint: Checkpoint,
): Record<string, TensorData> {
  const values: Record<string, TensorData> = {};
  const given = new Map<string, Tensor>();
  for (const name of entry.inputs) {
    const { shape, dtype, data } = fixture(checkpoint, `${entry.name}/${name}`);
    if (name === 'lengths') continue;
    values[name] = data;
    given.set(name, g.input(name, dtype, shape));
  }
  const x = given.get('input')!;
  if (module instanceof Attention) {
    const [batch, queries] = [x.size(0), x.size(1)];
    const context = given.get('context');
    let mask: Tensor | undefined;
    if (entry.inputs.includes('lengths')) {
      const lengths = [...(fixture(checkpoint, `${entry.name}/lengths`).data as Int32Array)];
      mask = g.input('mask', 'f32', [batch, 1, queries, queries]);
      values.mask = paddingMask(lengths, queries, queries, entry.causal);
    } else if (entry.causal === true) {
      mask = g.input('mask', 'f32', [queries, queries]);
      values.mask = causalMask(queries, queries);
    }
    let positions: Tensor | undefined;
    if (module.rope !== null) {
      positions = g.input('positions', 'i32', [queries]);
      values.positions = Int32Array.from({ length: queries }, (_, index) => index);
    }
    g.output('output', module.forward(g, x, { context, mask, positions }));
    return values;
  }
  const forward = Reflect.get(module, 'forward') as (g: GraphBuilder, ...inputs: Tensor[]) => Tensor;
  g.output('output', forward.call(module, g, ...given.values()));
  return values;
}

/** Rows beyond a padded sequence's length hold nothing of interest; the fixture has zeros there. */
function hidePadding(entry: LayerCase, output: Float32Array, checkpoint: Checkpoint): Float32Array {
  if (!entry.inputs.includes('lengths')) return output;
  const { shape } = fixture(checkpoint, `${entry.name}/input`);
  const lengths = fixture(checkpoint, `${entry.name}/lengths`).data as Int32Array;
  const [, queries, width] = shape as [number, number, number];
  for (const [row, length] of lengths.entries()) {
    output.fill(0, (row * queries + length) * width, (row + 1) * queries * width);
  }
  return output;
}

describeOnDevices('layers against PyTorch on %s', (name) => {
  let device: Device;
  let arena: Arena;
  let checkpoint: Checkpoint;

  beforeAll(async () => {
    device = await openTestDevice(name);
    arena = device.createArena();
    checkpoint = await openFixtures();
  });

  afterAll(async () => {
    arena.dispose();
    await device.close();
    checkpoint.close();
  });

  it.each(layerCases)(
    '$name',
    async (entry) => {
      const module = builders[entry.layer]!(entry.args as never);
      const prefix = `${entry.name}.`;
      const { store } = await loadWeights(addon, module, checkpoint, {
        component: entry.name,
        device,
        rename: (key) => (key.startsWith(prefix) ? key.slice(prefix.length) : null),
      });
      store.bind(device);
      await store.place(-1);
      const g = new GraphBuilder(addon);
      const values = record(g, module, entry, checkpoint);
      const graph = g.compile(device, arena);
      try {
        const expected = fixture(checkpoint, `${entry.name}/output`);
        expect(graph.outputShape('output')).toEqual(expected.shape);
        const output = hidePadding(entry, await graph.runFloat32(values, 'output'), checkpoint);
        const tolerance = tolerances[entry.name] ?? tolerances[entry.layer] ?? plain;
        expect(largestDifference(output, expected.data)).toBeLessThan(tolerance[name]);
      } finally {
        graph.dispose();
        await store.dispose();
      }
    },
    testLimits[name],
  );
});
