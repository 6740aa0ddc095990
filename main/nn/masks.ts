/**
 * Additive attention masks: 0 where a query may look, -Infinity where not. `keys` may exceed the positions in use
 * (a cache's capacity).
 */

/** Row `i` stands at position `start + i` and sees positions up to its own: `[queries, keys]`. */
export function causalMask(queries: number, keys: number, start = 0): Float32Array {
  return fill(queries, keys, (query) => start + query + 1);
}

/** Every query sees the first `length` keys: `[queries, keys]`. */
export function lengthMask(queries: number, keys: number, length: number): Float32Array {
  return fill(queries, keys, () => length);
}

/**
 * Rows of different length, padded at their ends: `[batch, 1, queries, keys]`. With `causal`, queries and keys are
 * the same positions.
 */
export function paddingMask(
  lengths: readonly number[],
  queries: number,
  keys: number,
  causal = false,
): Float32Array {
  const mask = new Float32Array(lengths.length * queries * keys);
  for (const [row, length] of lengths.entries()) {
    if (length < 1) throw new RangeError('A row of length 0 has nothing to attend to.');
    const seen = (query: number): number => (causal ? Math.min(length, query + 1) : length);
    mask.set(fill(queries, keys, seen), row * queries * keys);
  }
  return mask;
}

function fill(queries: number, keys: number, seen: (query: number) => number): Float32Array {
  const mask = new Float32Array(queries * keys).fill(Number.NEGATIVE_INFINITY);
  for (let query = 0; query < queries; query += 1) {
    mask.fill(0, query * keys, query * keys + Math.min(keys, seen(query)));
  }
  return mask;
}
