import type { GraphBuilder } from '../graph.ts';
import type { CacheView } from '../kv-cache.ts';
import type { Module } from '../module.ts';
import type { Tensor } from '../tensor.ts';
import type { Stream } from './stream.ts';

/**
 * Keys and values of the last `window - 1` positions, kept by a stream: what sliding-window attention sees besides
 * its own chunk. Its mask is `windowMask`.
 */
export class WindowCache implements CacheView {
  readonly #owner: Module;
  readonly #window: number;
  readonly #stream: Stream;

  constructor(owner: Module, window: number, stream: Stream) {
    this.#owner = owner;
    this.#window = window;
    this.#stream = stream;
  }

  /** `[1, positions, heads, head_dim] -> [1, window - 1 + positions, heads, head_dim]` */
  append(g: GraphBuilder, k: Tensor, v: Tensor): { k: Tensor; v: Tensor } {
    return { k: this.#join(g, 'keys', k), v: this.#join(g, 'values', v) };
  }

  #join(g: GraphBuilder, part: string, rows: Tensor): Tensor {
    const before = this.#window - 1;
    if (before === 0) return rows;
    const [positions, heads, width] = [rows.size(1), rows.size(2), rows.size(3)];
    const shape = [before, heads * width];
    const all = this.#stream
      .recall(g, this.#owner, part, shape)
      .concat(rows.reshape(positions, heads * width), 0);
    this.#stream.keep(this.#owner, part, all.narrow(0, positions, before));
    return all.reshape(1, before + positions, heads, width);
  }
}

/**
 * Mask for `WindowCache`: position `start + i` sees itself and the `window - 1` positions before it,
 * `[positions, window - 1 + positions]`.
 */
export function windowMask(positions: number, window: number, start: number): Float32Array {
  const keys = window - 1 + positions;
  const mask = new Float32Array(positions * keys).fill(Number.NEGATIVE_INFINITY);
  for (let query = 0; query < positions; query += 1) {
    const from = Math.max(query, window - 1 - start);
    mask.fill(0, query * keys + from, query * keys + query + window);
  }
  return mask;
}
