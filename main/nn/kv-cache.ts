import type { Addon, Device, State } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import type { Tensor } from './tensor.ts';

/**
 * - `dynamic`: grows by blocks, one layer after the other: little memory, a new graph per block;
 * - `static`: doubles when full, all layers at once: fewest graphs, and attention over the whole capacity.
 */
export type KVCacheKind = 'dynamic' | 'static';

export interface KVCacheOptions {
  layers: number;
  kvHeads: number;
  headDim: number;
  /** Rows that are generated together (classifier-free guidance: 2). Default: 1. */
  batch?: number;
  kind?: KVCacheKind;
  /** Positions that fit before it grows for the first time. Default: one block. */
  capacity?: number;
  /** Default: `f32`. */
  dtype?: 'f32' | 'f16';
}

/** What one attention layer needs of the cache while a graph is recorded. */
export interface CacheView {
  /**
   * Stores keys and values `[batch, new positions, kv_heads, head_dim]` and answers with those of all positions
   * up to the capacity, `[batch, capacity, kv_heads, head_dim]`.
   */
  append(g: GraphBuilder, k: Tensor, v: Tensor): { k: Tensor; v: Tensor };
}

const block = 64;

/**
 * Keys and values of the positions so far, on the device. A step is: `reserve` room (graphs recorded for another
 * capacity are stale), run a graph whose layers `append`, then `advance`.
 *
 * Graphs take the positions to write as an i64 input of the name given to `view`; the mask hides what lies beyond.
 */
export class KVCache {
  readonly kind: KVCacheKind;
  readonly batch: number;
  readonly layers: number;
  readonly dtype: 'f32' | 'f16';
  #length = 0;
  #capacity: number;
  #states: State[];
  readonly #width: number;

  private constructor(
    readonly addon: Addon,
    readonly device: Device,
    readonly options: KVCacheOptions,
    states: State[],
    capacity: number,
  ) {
    this.kind = options.kind ?? 'dynamic';
    this.batch = options.batch ?? 1;
    this.layers = options.layers;
    this.dtype = options.dtype ?? 'f32';
    this.#width = options.kvHeads * options.headDim;
    this.#states = states;
    this.#capacity = capacity;
  }
}
