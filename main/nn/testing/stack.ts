import type { GraphBuilder } from '../graph.ts';
import type { CacheView } from '../kv-cache.ts';
import { Attention } from '../layers/attention.ts';
import { ConvNeXtBlock } from '../layers/convnext.ts';
import { Linear } from '../layers/linear.ts';
import { SwiGLUMLP } from '../layers/mlp.ts';
import { RMSNorm } from '../layers/norm.ts';
import { Module, ModuleList } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

export const width = 32;

/** A decoder layer in small: grouped-query attention with rotary embedding, and a gated MLP. */
export class DecoderLayer extends Module {
  readonly input_layernorm = new RMSNorm(width);
  readonly self_attn = new Attention({
    hidden_size: width,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    qk_norm: true,
    rope: { style: 'neox' },
  });
  readonly post_attention_layernorm = new RMSNorm(width);
  readonly mlp = new SwiGLUMLP({ hidden_size: width, intermediate_size: 48 });

  forward(
    g: GraphBuilder,
    x: Tensor,
    inputs: { positions: Tensor; mask: Tensor; cache?: CacheView },
  ): Tensor {
    const attended = x.add(this.self_attn.forward(g, this.input_layernorm.forward(g, x), inputs));
    return attended.add(this.mlp.forward(g, this.post_attention_layernorm.forward(g, attended)));
  }
}

/** Decoder layers, then ConvNeXt blocks and a head: `[1, positions, width]` in, `[1, positions, 5]` out. */
export class Stack extends Module {
  readonly layers: ModuleList<DecoderLayer>;
  readonly blocks: ModuleList<ConvNeXtBlock>;
  readonly head = new Linear(width, 5);

  constructor(layers = 3, blocks = 2) {
    super();
    this.layers = new ModuleList(Array.from({ length: layers }, () => new DecoderLayer()));
    this.blocks = new ModuleList(
      Array.from({ length: blocks }, () => new ConvNeXtBlock(width, { kernel_size: 5, mult: 2 })),
    );
  }

  override memoryUnits(): Module[] {
    return [...this.layers, ...this.blocks];
  }

  forward(
    g: GraphBuilder,
    x: Tensor,
    inputs: { positions: Tensor; mask: Tensor; caches?: (layer: number) => CacheView },
  ): Tensor {
    const { positions, mask, caches } = inputs;
    let y = x;
    for (const [index, layer] of [...this.layers].entries()) {
      y = layer.forward(g, y, { positions, mask, cache: caches?.(index) });
    }
    if (this.blocks.length > 0) {
      let frames = y.transpose(1, 2);
      for (const block of this.blocks) frames = block.forward(g, frames);
      y = frames.transpose(1, 2);
    }
    return this.head.forward(g, y);
  }
}

/** Every streamable parameter of each module of `units` moves with it. */
export function unitsOf(units: readonly Module[]): Map<Parameter, number> {
  const unitOf = new Map<Parameter, number>();
  for (const [unit, module] of units.entries()) {
    for (const { parameter } of module.namedParameters()) {
      if (parameter.streamable) unitOf.set(parameter, unit);
    }
  }
  return unitOf;
}
