import type { GraphBuilder } from '../graph.ts';
import type { CacheView } from '../kv-cache.ts';
import { Attention } from '../layers/attention.ts';
import { SwiGLUMLP } from '../layers/mlp.ts';
import { RMSNorm } from '../layers/norm.ts';
import { Module, ModuleList } from '../module.ts';
import type { Tensor } from '../tensor.ts';

/** Names as in transformers' `Qwen3Config`. */
export interface Qwen3Config {
  hidden_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  /** Independent of `hidden_size`. */
  head_dim: number;
  intermediate_size: number;
  rms_norm_eps: number;
  rope_theta: number;
  attention_bias?: boolean | null;
}

export interface Qwen3Inputs {
  /** i32 `[positions]` */
  positions: Tensor;
  /** Added to the scores, `[queries, keys]`; absent: every query sees every key. See `masks.ts`. */
  mask?: Tensor;
  /** Keys and values of each layer. */
  caches?: (layer: number) => CacheView;
}

/**
 * Pre-norm decoder layer of Qwen3 (Yang et al. 2025): grouped-query attention with a norm for each query and key head,
 * rotary positions over halves, a gated MLP, no biases. `[batch, positions, hidden_size]` in and out.
 */
export class Qwen3DecoderLayer extends Module {
  readonly input_layernorm: RMSNorm;
  readonly self_attn: Attention;
  readonly post_attention_layernorm: RMSNorm;
  readonly mlp: SwiGLUMLP;

  constructor(config: Qwen3Config) {
    super();
    const norm = { eps: config.rms_norm_eps };
    this.input_layernorm = new RMSNorm(config.hidden_size, norm);
    this.self_attn = new Attention({
      hidden_size: config.hidden_size,
      num_attention_heads: config.num_attention_heads,
      num_key_value_heads: config.num_key_value_heads,
      head_dim: config.head_dim,
      attention_bias: config.attention_bias ?? false,
      qk_norm: true,
      rms_norm_eps: config.rms_norm_eps,
      rope: { style: 'neox', theta: config.rope_theta },
      fused: true,
    });
    this.post_attention_layernorm = new RMSNorm(config.hidden_size, norm);
    this.mlp = new SwiGLUMLP(config);
  }

  forward(
    g: GraphBuilder,
    x: Tensor,
    inputs: { positions: Tensor; mask?: Tensor; cache?: CacheView },
  ): Tensor {
    const attended = x.add(this.self_attn.forward(g, this.input_layernorm.forward(g, x), inputs));
    return attended.add(this.mlp.forward(g, this.post_attention_layernorm.forward(g, attended)));
  }
}

/** The layers and the final norm: from embeddings to hidden states. Heads and tables are the models' own. */
export class Qwen3Decoder extends Module {
  readonly layers: ModuleList<Qwen3DecoderLayer>;
  readonly norm: RMSNorm;

  constructor(config: Qwen3Config) {
    super();
    this.layers = new ModuleList(
      Array.from({ length: config.num_hidden_layers }, () => new Qwen3DecoderLayer(config)),
    );
    this.norm = new RMSNorm(config.hidden_size, { eps: config.rms_norm_eps });
  }

  /** `[batch, positions, hidden_size]` in and out, normalised. */
  forward(g: GraphBuilder, x: Tensor, inputs: Qwen3Inputs): Tensor {
    const { positions, caches } = inputs;
    const mask = inputs.mask?.cast('f16');
    let y = x;
    for (const [index, layer] of [...this.layers].entries()) {
      y = layer.forward(g, y, { positions, mask, cache: caches?.(index) });
    }
    return this.norm.forward(g, y);
  }
}
