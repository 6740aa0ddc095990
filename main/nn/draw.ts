import type { Addon, Device } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import type { SamplingOptions } from './sampling.ts';
import type { Tensor } from './tensor.ts';

/**
 * Drawing by noise (Gumbel-max, Maddison et al. 2014): `argmax(logits / temperature + Gumbel noise)` is a draw from the
 * softmax. It needs products, sums and comparisons of float32 alone, so a graph and the host draw the same token from
 * the same logits and noise, and a model whose every token decides the next one's input can be one graph.
 */
export type DrawOptions = Pick<SamplingOptions, 'do_sample' | 'temperature' | 'top_k'>;

/** Larger than any score that is in. */
const out = -1e30;

/** `1 / temperature` as the graph multiplies with it. */
function slope(options: DrawOptions): number {
  return Math.fround(1 / (options.temperature ?? 1));
}

/**
 * Draws a token within a graph.
 *
 * @param logits `[1, tokens]`
 * @param noise standard Gumbel, `[1, tokens]`; not read where `do_sample` is false.
 * @returns i32 `[1]`, the first of equals.
 */
export function drawToken(
  g: GraphBuilder,
  logits: Tensor,
  noise: Tensor | null,
  options: DrawOptions,
): Tensor {
  if (options.do_sample === false) return firstLargest(g, logits);
  if (noise === null) throw new Error('A draw needs noise.');
  const tokens = logits.size(1);
  const { top_k = 0 } = options;
  const scores = logits.affine(slope(options), 0);
  const noisy = scores.add(noise);
  if (top_k === 0 || top_k >= tokens) return firstLargest(g, noisy);
  const best = scores.record('top_k', [scores], [top_k], [top_k], 'i32');
  const kept = rows(scores, best).reshape(1, top_k);
  const smallest = rows(kept, largest(kept.neg()));
  // 1 where below the smallest that is kept.
  const below = scores.sub(smallest.reshape(1, 1)).neg().unary('step');
  return firstLargest(g, noisy.add(below.affine(out, 0)));
}

/** Whether a device draws within a graph: some find the k largest of short rows only. */
export function drawsOn(addon: Addon, device: Device, tokens: number, options: DrawOptions): boolean {
  const g = new GraphBuilder(addon);
  const row = (name: string): Tensor => g.input(name, 'f32', [1, tokens]);
  const noise = options.do_sample === false ? null : row('noise');
  g.output('token', drawToken(g, row('logits'), noise, options));
  try {
    g.plan(device);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'UnsupportedOp') return false;
    throw error;
  }
}

/** `drawToken` on the host: the same token, to the bit. */
export function drawTokenOnHost(
  logits: Float32Array,
  noise: Float32Array | null,
  options: DrawOptions,
): number {
  const sampled = options.do_sample !== false;
  if (sampled && noise === null) throw new Error('A draw needs noise.');
  const factor = sampled ? slope(options) : 1;
  const scores = logits.map((logit) => logit * factor);
  const { top_k = 0 } = options;
  const cut = sampled && top_k > 0 && top_k < scores.length;
  const smallest = cut ? scores.toSorted()[scores.length - top_k]! : Number.NEGATIVE_INFINITY;
  let token = -1;
  let best = Number.NEGATIVE_INFINITY;
  for (const [index, score] of scores.entries()) {
    if (score < smallest) continue;
    const noisy = sampled ? Math.fround(score + noise![index]!) : score;
    if (token >= 0 && !(noisy > best)) continue;
    token = index;
    best = noisy;
  }
  return token;
}

/** Backends differ in which of equals their argmax finds: this is the first. `[1, n]` to i32 `[1]`. */
function firstLargest(g: GraphBuilder, x: Tensor): Tensor {
  const n = x.size(1);
  const maximum = rows(x, largest(x)).reshape(1, 1);
  const rank = g.constant(`rank:${n}`, 'f32', [1, n], () =>
    Float32Array.from({ length: n }, (_, i) => n - i),
  );
  // 1 where smaller than the largest.
  const smaller = x.sub(maximum).neg().unary('step');
  return largest(rank.sub(smaller.affine(2 * n, 0)));
}

function largest(x: Tensor): Tensor {
  return x.record('argmax', [x], [], [1], 'i32');
}

/** Single values of `[1, n]` by position: `[k, 1]`. */
function rows(x: Tensor, ids: Tensor): Tensor {
  const table = x.reshape(x.size(1), 1);
  return table.record('get_rows', [table, ids], [], [ids.elements, 1], 'f32');
}
