import type { Addon, Device, State } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import type { Tensor } from './tensor.ts';

/**
 * - `dynamic` (`DynamicCache`): grows by blocks, one layer after the other: little memory, a new graph per block;
 * - `static` (`BufferCache`): doubles when full, all layers at once: fewest graphs, and attention over the whole capacity.
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
   * that attention sees, `[batch, keys, kv_heads, head_dim]`.
   */
  append(g: GraphBuilder, k: Tensor, v: Tensor): { k: Tensor; v: Tensor };
}

const block = 64;

/**
 * Keys and values of the positions so far, on the device.
 *
 *     await cache.reserve(tokens);                        // may grow: graphs recorded before are stale, and keep what
 *                                                         // they were recorded for from being freed: drop them first
 *     const graph = graphs.get(`${tokens}:${cache.capacity}`, (g) => {
 *       const slots = g.input('slots', 'i64', [tokens]);
 *       ... layer.forward(g, x, { cache: cache.view(index, slots), mask, positions }) ...
 *     });
 *     await graph.run({ slots: cache.slots(tokens), mask: causalMask(tokens, cache.capacity, cache.length), ... });
 *     cache.advance(tokens);
 *
 * What lies beyond `length` is whatever was there before; the mask hides it.
 */
export abstract class KVCache {
  abstract readonly kind: KVCacheKind;
  readonly batch: number;
  readonly layers: number;
  readonly dtype: 'f32' | 'f16';
  readonly #addon: Addon;
  readonly #device: Device;
  readonly #kvHeads: number;
  readonly #headDim: number;
  #length = 0;
  /** Each holds the keys and values of its layers in turn. */
  #groups: Group[] = [];

  protected constructor(addon: Addon, device: Device, options: KVCacheOptions) {
    this.#addon = addon;
    this.#device = device;
    this.batch = options.batch ?? 1;
    this.layers = options.layers;
    this.dtype = options.dtype ?? 'f32';
    this.#kvHeads = options.kvHeads;
    this.#headDim = options.headDim;
  }

  /** @throws NativeError `OutOfDeviceMemory` */
  static async create(addon: Addon, device: Device, options: KVCacheOptions): Promise<KVCache> {
    const Kind = options.kind === 'static' ? BufferCache : DynamicCache;
    const cache: KVCache = new Kind(addon, device, options);
    try {
      await cache.#grow(roundUp(options.capacity ?? block));
    } catch (error) {
      // The layers before the one that did not fit.
      cache.dispose();
      throw error;
    }
    return cache;
  }

  /** Layers that share one buffer, and grow together. */
  protected abstract get layersPerGroup(): number;

  /** Room, in positions, once `needed` are more than there is room for. */
  protected abstract grown(needed: number): number;

  /** Positions stored. */
  get length(): number {
    return this.#length;
  }

  /** Positions that there is room for: the number of keys that attention sees, and part of a graph's key. */
  get capacity(): number {
    return Math.min(...this.#groups.map(({ capacity }) => capacity));
  }

  get bytes(): number {
    return this.#groups.reduce((sum, { state }) => sum + state.bytes, 0);
  }

  /** Makes room for `count` more positions. On failure the stored positions are as before. */
  async reserve(count: number): Promise<void> {
    const needed = this.#length + count;
    if (needed <= this.capacity) return;
    await this.#grow(this.grown(needed));
  }

  /** Counts positions as stored after the graph that wrote them has run. */
  advance(count: number): void {
    if (this.#length + count > this.capacity) {
      throw new RangeError(`${this.#length} + ${count} positions exceed the capacity of ${this.capacity}.`);
    }
    this.#length += count;
  }

  /** Forgets the positions from `length` on. */
  truncate(length: number): void {
    if (length < 0 || length > this.#length)
      throw new RangeError(`There are ${this.#length} positions, not ${length}.`);
    this.#length = length;
  }

  /** Where the next `count` positions go: the value of the graph's `slots` input. */
  slots(count: number): BigInt64Array {
    return BigInt64Array.from({ length: count }, (_, index) => BigInt(this.#length + index));
  }

  /**
   * @param slots i64 `[new positions]`
   * @param keys positions that attention sees, where that is known while recording: no mask is needed for the others.
   *   Default: the capacity.
   */
  view(layer: number, slots: Tensor, keys = this.capacity): CacheView {
    const store = (g: GraphBuilder, part: 0 | 1, values: Tensor): Tensor =>
      this.#store(g, layer, part, slots, values)
        .narrow(1, 0, keys)
        .reshape(this.batch, keys, this.#kvHeads, this.#headDim);
    return { append: (g, k, v) => ({ k: store(g, 0, k), v: store(g, 1, v) }) };
  }

  dispose(): void {
    for (const { state } of this.#groups) state.dispose();
    this.#groups = [];
    this.#length = 0;
  }

  get #width(): number {
    return this.#kvHeads * this.#headDim;
  }

  #store(g: GraphBuilder, layer: number, part: 0 | 1, slots: Tensor, values: Tensor): Tensor {
    const { state, capacity } = this.#groups[Math.floor(layer / this.layersPerGroup)]!;
    const index = 2 * (layer % this.layersPerGroup) + part;
    const whole = g.state(state, index, this.dtype, [this.batch, capacity, this.#width]);
    const rows = values.reshape(this.batch, values.size(1), this.#width);
    return setRows(whole, rows, slots);
  }

  /** One group after the other, so that at most one group exists twice. */
  async #grow(capacity: number): Promise<void> {
    const groups = this.layers / this.layersPerGroup;
    const shape = [this.batch, capacity, this.#width];
    const specs = Array.from({ length: 2 * this.layersPerGroup }, () => ({ dtype: this.dtype, shape }));
    for (let index = 0; index < groups; index += 1) {
      const old = this.#groups[index];
      const grown: Group = { state: await this.#device.createState(specs), capacity };
      try {
        if (old !== undefined && this.#length > 0) await this.#copy(old, grown, specs.length);
      } catch (error) {
        grown.state.dispose();
        throw error;
      }
      this.#groups[index] = grown;
      old?.state.dispose();
    }
  }

  /** On the device, without a detour through host memory. */
  async #copy(old: Group, grown: Group, tensors: number): Promise<void> {
    const g = new GraphBuilder(this.#addon);
    const slots = g.input('slots', 'i64', [this.#length]);
    for (let index = 0; index < tensors; index += 1) {
      const from = g.state(old.state, index, this.dtype, [this.batch, old.capacity, this.#width]);
      const to = g.state(grown.state, index, this.dtype, [this.batch, grown.capacity, this.#width]);
      const rows = from.narrow(1, 0, this.#length).contiguous().cast('f32');
      g.output(`moved ${index}`, setRows(to, rows, slots).narrow(1, 0, 1).narrow(0, 0, 1));
    }
    const arena = this.#device.createArena();
    const graph = g.compile(this.#device, arena);
    try {
      const all = BigInt64Array.from({ length: this.#length }, (_, index) => BigInt(index));
      await graph.run({ slots: all }, { read: [] });
    } finally {
      graph.dispose();
      arena.dispose();
    }
  }
}

/** `static`: one buffer for all layers, made in advance, that doubles when it is full. */
export class BufferCache extends KVCache {
  readonly kind = 'static';

  /** Made by `KVCache.create`. */
  constructor(addon: Addon, device: Device, options: KVCacheOptions) {
    super(addon, device, options);
  }

  protected get layersPerGroup(): number {
    return this.layers;
  }

  protected grown(needed: number): number {
    return Math.max(2 * this.capacity, roundUp(needed));
  }
}

/** `dynamic`: a buffer per layer, which grows by as many blocks as are wanted. */
export class DynamicCache extends KVCache {
  readonly kind = 'dynamic';

  /** Made by `KVCache.create`. */
  constructor(addon: Addon, device: Device, options: KVCacheOptions) {
    super(addon, device, options);
  }

  protected get layersPerGroup(): number {
    return 1;
  }

  protected grown(needed: number): number {
    return roundUp(needed);
  }
}

interface Group {
  state: State;
  capacity: number;
}

function setRows(target: Tensor, rows: Tensor, slots: Tensor): Tensor {
  return target.record('set_rows', [target, rows.contiguous(), slots], [], target.shape, target.dtype);
}

function roundUp(positions: number): number {
  return Math.ceil(positions / block) * block;
}
