import type { GraphBuilder } from './graph.ts';
import type { CacheView, KVCacheKind, KVCacheOptions } from './kv-cache.ts';
import type { Tensor } from './tensor.ts';

/** Positions by which a cache grows, as `KVCache` does. */
const block = 64;
/** A tensor begins where the device wants it to. */
const padding = 256;

export interface PeakOptions {
  /** Rows that are generated together. Default: 1. */
  rows?: number;
  /** Positions reserved at first (the prompt). Default: one block. */
  first?: number;
}

/** Positions that a `KVCache` has room for once it has `positions` of them: what attention sees at the end. */
export function finalCapacity(positions: number, kind: KVCacheKind, first = block): number {
  const wanted = roundUp(positions);
  let capacity = roundUp(first);
  if (kind === 'dynamic') return Math.max(capacity, wanted);
  while (capacity < wanted) capacity *= 2;
  return capacity;
}

/**
 * Most bytes that a growing `KVCache` holds until it has `positions` positions.
 * - `dynamic`: all layers, and one layer's copy while it grows;
 * - `static`: the doubled buffer, and the old one while growing.
 *
 * @param positionBytes keys and values of one position of one layer and row: `2 * kvHeads * headDim * bytes per element`.
 */
export function peakBytes(
  positionBytes: number,
  layers: number,
  positions: number,
  kind: KVCacheKind,
  { rows = 1, first = block }: PeakOptions = {},
): number {
  const layerPosition = positionBytes * rows;
  const capacity = finalCapacity(positions, kind, first);
  if (capacity <= roundUp(first)) return layers * capacity * layerPosition;
  if (kind === 'dynamic') return (layers + 1) * capacity * layerPosition;
  return 1.5 * layers * capacity * layerPosition;
}

/**
 * Stands in for a `KVCache` while a graph is planned, so that its scratch memory is known before there is a cache. The
 * recorded graph is for `GraphBuilder.plan` alone: it has inputs and outputs where the real one reads and writes the
 * cache.
 *
 *     const cache = new PlannedCache({ layers, kvHeads, headDim }, keys);
 *     const plan = graphs.plan(`plan ${keys}`, (g) => record(g, (layer) => cache.view(layer)));
 *     const { computeBytes, ioBytes } = cache.without(plan);
 *     const working = computeBytes + ioBytes + peakBytes(positionBytes, layers, keys, 'dynamic');
 */
export class PlannedCache {
  readonly #options: KVCacheOptions;
  readonly #tensors: number[] = [];
  /** New positions. */
  #count = 0;

  /** @param keys positions that attention sees: the capacity of the real cache. */
  constructor(
    options: KVCacheOptions,
    readonly keys: number,
  ) {
    this.#options = options;
  }

  view(layer: number): CacheView {
    return {
      append: (g, k, v) => ({
        k: this.#store(g, `keys ${layer}`, k),
        v: this.#store(g, `values ${layer}`, v),
      }),
    };
  }

  /** The planned graph without what stands for the cache, and with its `slots`. */
  without(plan: { computeBytes: number; ioBytes: number }): { computeBytes: number; ioBytes: number } {
    const standIns = this.#tensors.reduce((sum, bytes) => sum + bytes, 0);
    const slots = this.#count * 8 + padding;
    return { computeBytes: plan.computeBytes, ioBytes: Math.max(0, plan.ioBytes - standIns) + slots };
  }

  #store(g: GraphBuilder, name: string, values: Tensor): Tensor {
    const { batch = 1, kvHeads, headDim, dtype = 'f32' } = this.#options;
    const past = g.input(name, dtype, [batch, this.keys, kvHeads * headDim]);
    g.output(`new ${name}`, values);
    this.#count = values.size(1);
    this.#tensors.push(past.elements * (dtype === 'f16' ? 2 : 4), values.elements * 4);
    return past.reshape(batch, this.keys, kvHeads, headDim);
  }
}

function roundUp(positions: number): number {
  return Math.ceil(Math.max(1, positions) / block) * block;
}
