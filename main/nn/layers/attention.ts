import type { Addon, Device } from '../../../native/addon.ts';
import * as F from '../functional.ts';
import { GraphBuilder } from '../graph.ts';
import type { CacheView } from '../kv-cache.ts';
import { Module } from '../module.ts';
import type { Tensor } from '../tensor.ts';
import { Linear } from './linear.ts';
import { RMSNorm } from './norm.ts';

export interface AttentionConfig {
  hidden_size: number;
  num_attention_heads: number;
  /** Fewer than query heads: grouped-query attention. Default: as many. */
  num_key_value_heads?: number;
  /** Default: `hidden_size / num_attention_heads`. */
  head_dim?: number;
  /** Bias of the query, key and value layers. Default: false. */
  attention_bias?: boolean;
  /** Bias of the output layer. Default: as `attention_bias`. */
  output_bias?: boolean;
  /** Width of what keys and values are made from. Default: `hidden_size`. */
  context_size?: number;
  /** RMSNorm of each query and key head before they turn (Qwen3). */
  qk_norm?: boolean;
  rms_norm_eps?: number;
  /** Null: no rotary embedding. */
  rope?: F.RopeOptions | null;
  /**
   * One operation that never holds the scores (Dao et al. 2022), instead of products and a softmax: less scratch memory,
   * no copy of the values, fewer operations. It adds up in another order. Default: false. See `fuseWhereSupported`.
   */
  fused?: boolean;
}

export interface AttentionInputs {
  /** What keys and values come from, `[batch, keys, context_size]`. Default: `x` itself. */
  context?: Tensor;
  /** i32 `[queries]`: positions of `x`, needed with rotary embedding. */
  positions?: Tensor;
  /** i32 `[keys]`: positions of `context`. Default: `positions`. */
  contextPositions?: Tensor;
  /** Added to the scores; see `masks.ts`. A fused layer takes float16: cast it once for all layers. */
  mask?: Tensor;
  /** Keys and values of earlier positions; `x` is appended. */
  cache?: CacheView;
}

/** Multi-head attention, `[batch, queries, hidden_size]` in and out, with parameter names as in transformers. */
export class Attention extends Module {
  readonly q_proj: Linear;
  readonly k_proj: Linear;
  readonly v_proj: Linear;
  readonly o_proj: Linear;
  readonly q_norm: RMSNorm | null;
  readonly k_norm: RMSNorm | null;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly rope: F.RopeOptions | null;
  /** Whether one operation attends; see the configuration. */
  fused: boolean;

  constructor(config: AttentionConfig) {
    super();
    this.heads = config.num_attention_heads;
    this.kvHeads = config.num_key_value_heads ?? this.heads;
    this.headDim = config.head_dim ?? config.hidden_size / this.heads;
    if (!Number.isInteger(this.headDim) || this.heads % this.kvHeads !== 0) {
      throw new RangeError(
        `${this.heads} query heads and ${this.kvHeads} key heads of width ${this.headDim} do not fit together.`,
      );
    }
    const bias = config.attention_bias ?? false;
    const context = config.context_size ?? config.hidden_size;
    this.q_proj = new Linear(config.hidden_size, this.heads * this.headDim, { bias });
    this.k_proj = new Linear(context, this.kvHeads * this.headDim, { bias });
    this.v_proj = new Linear(context, this.kvHeads * this.headDim, { bias });
    this.o_proj = new Linear(this.heads * this.headDim, config.hidden_size, {
      bias: config.output_bias ?? bias,
    });
    const norm = { eps: config.rms_norm_eps ?? 1e-6 };
    this.q_norm = config.qk_norm === true ? new RMSNorm(this.headDim, norm) : null;
    this.k_norm = config.qk_norm === true ? new RMSNorm(this.headDim, norm) : null;
    this.rope = config.rope ?? null;
    this.fused = config.fused ?? false;
  }

  forward(g: GraphBuilder, x: Tensor, inputs: AttentionInputs = {}): Tensor {
    const context = inputs.context ?? x;
    let q = this.#split(this.q_proj.forward(g, x), this.heads);
    let k = this.#split(this.k_proj.forward(g, context), this.kvHeads);
    const v = this.#split(this.v_proj.forward(g, context), this.kvHeads);
    if (this.q_norm !== null) q = this.q_norm.forward(g, q);
    if (this.k_norm !== null) k = this.k_norm.forward(g, k);
    if (this.rope !== null) {
      const { positions } = inputs;
      if (positions === undefined) throw new Error('Attention with rotary embedding needs positions.');
      q = F.rope(q, positions, this.rope);
      k = F.rope(k, inputs.contextPositions ?? positions, this.rope);
    }
    const seen = inputs.cache === undefined ? { k, v } : inputs.cache.append(g, k, v);
    const attend = this.fused ? fusedAttention : F.attention;
    const y = attend(q.transpose(1, 2), seen.k.transpose(1, 2), seen.v.transpose(1, 2), {
      mask: inputs.mask,
    });
    return this.o_proj.forward(g, y);
  }

  /** `[batch, positions, heads, head_dim]` */
  #split(x: Tensor, heads: number): Tensor {
    return x.reshape(x.size(0), x.size(1), heads, this.headDim);
  }
}

/**
 * Leaves attention fused only where a device computes it (heads of some widths have no kernel). Say it before graphs are
 * recorded.
 */
export function fuseWhereSupported(addon: Addon, device: Device, root: Module): void {
  const known = new Map<number, boolean>();
  for (const [, module] of root.namedModules()) {
    if (!(module instanceof Attention) || !module.fused) continue;
    const supported = known.get(module.headDim) ?? supportsFused(addon, device, module.headDim);
    known.set(module.headDim, supported);
    module.fused = supported;
  }
}

function supportsFused(addon: Addon, device: Device, width: number): boolean {
  const g = new GraphBuilder(addon);
  const value = (name: string) => g.input(name, 'f32', [1, 1, 1, width]);
  g.output('y', fusedAttention(value('q'), value('k'), value('v'), { mask: g.input('mask', 'f32', [1, 1]) }));
  try {
    g.plan(device);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'UnsupportedOp') return false;
    throw error;
  }
}

/** As `F.attention`; the mask is cast to float16, which holds its zeros and infinities exactly. */
function fusedAttention(q: Tensor, k: Tensor, v: Tensor, options: { mask?: Tensor }): Tensor {
  const [batch, heads, queries, width] = [q.size(0), q.size(1), q.size(2), q.size(3)];
  const mask = options.mask === undefined ? [] : [options.mask.cast('f16')];
  const params = [1 / Math.sqrt(width), 0, 0, 1];
  return q
    .record('flash_attn_ext', [q, k, v, ...mask], params, [batch, queries, heads, width])
    .reshape(batch, queries, heads * width);
}
