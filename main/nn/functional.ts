import type { Tensor } from './tensor.ts';

/** Operations that need more than a tensor's own methods, named as in `torch.nn.functional`. */

/** `0.5 x (1 + erf(x / sqrt 2))`. */
export function gelu(x: Tensor): Tensor {
  return x.unary('gelu_erf');
}

/** The tanh approximation of GELU (`approximate='tanh'`). */
export function geluTanh(x: Tensor): Tensor {
  return x.unary('gelu_tanh');
}

export function silu(x: Tensor): Tensor {
  return x.unary('silu');
}

/** `silu(gate) * x`, both of one shape (Shazeer 2020). */
export function swiglu(gate: Tensor, x: Tensor): Tensor {
  return gate.record('swiglu_split', [gate.contiguous(), x.contiguous()], [], gate.shape);
}

export function sigmoid(x: Tensor): Tensor {
  return x.unary('sigmoid');
}

export function tanh(x: Tensor): Tensor {
  return x.unary('tanh');
}

export function relu(x: Tensor): Tensor {
  return x.unary('relu');
}

export function leakyRelu(x: Tensor, slope = 0.01): Tensor {
  return x.unary('leaky_relu', [slope]);
}

/** `x` above 0, `exp(x) - 1` below (alpha 1). */
export function elu(x: Tensor): Tensor {
  return x.unary('elu');
}

export function softplus(x: Tensor): Tensor {
  return x.unary('softplus');
}

/** `x tanh(softplus(x))` (Misra 2019). */
export function mish(x: Tensor): Tensor {
  return x.mul(tanh(softplus(x)));
}

/**
 * `x + sin(alpha x)^2 / (beta + 1e-9)` (Ziyin et al. 2020; `beta` of its own in BigVGAN).
 *
 * @param alpha broadcasts with `x`, as `beta` does.
 */
export function snake(x: Tensor, alpha: Tensor, beta: Tensor): Tensor {
  return x.elementwise('snake', [alpha, beta]);
}

/** Softmax over the last dimension of `scale * x + mask`; `mask` broadcasts over leading dimensions. */
export function softmax(x: Tensor, options: { scale?: number; mask?: Tensor } = {}): Tensor {
  const { scale = 1, mask } = options;
  const sources = mask === undefined ? [x.contiguous()] : [x.contiguous(), mask.contiguous()];
  return x.record('soft_max', sources, [scale, 0], x.shape);
}

export interface RopeOptions {
  /** `neox`: a value turns with the one half a head away (Llama and Qwen in transformers); `interleaved`: with its neighbour. */
  style: 'neox' | 'interleaved';
  /** Base of the frequencies. Default: 10000. */
  theta?: number;
  /** Values of each head that turn, from the first. Default: all. */
  dims?: number;
}

/**
 * Rotary position embedding (Su et al. 2021).
 *
 * @param x `[batch, positions, heads, head_dim]`
 * @param positions i32 `[positions]`
 */
export function rope(x: Tensor, positions: Tensor, options: RopeOptions): Tensor {
  const dims = options.dims ?? x.size(-1);
  const mode = options.style === 'neox' ? 2 : 0;
  const params = [dims, mode, 0, options.theta ?? 10000, 1, 0, 1, 32, 1];
  return x.record('rope', [x.contiguous(), positions], params, x.shape);
}

/**
 * `softmax(q k^T scale + mask) v` with as many query heads per key head as divide.
 *
 * @param q `[batch, heads, queries, head_dim]`
 * @param k `[batch, kv_heads, keys, head_dim]`, as `v`
 * @param options.mask f32 `[queries, keys]` or `[batch, 1, queries, keys]`, added to the scores.
 * @returns `[batch, queries, heads * head_dim]`
 */
export function attention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: { mask?: Tensor; scale?: number } = {},
): Tensor {
  const [batch, heads, queries, width] = [q.size(0), q.size(1), q.size(2), q.size(3)];
  const scale = options.scale ?? 1 / Math.sqrt(width);
  const scores = softmax(q.linear(k), { scale, mask: options.mask });
  const mixed = scores.linear(v.transpose(2, 3).contiguous());
  return mixed.permute(0, 2, 1, 3).reshape(batch, queries, heads * v.size(3));
}
