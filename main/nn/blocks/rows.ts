import type { GraphBuilder } from '../graph.ts';
import type { Tensor } from '../tensor.ts';

/**
 * Signals as rows: `[frames, channels]`, channels last. Convolutions gather the rows under their taps and multiply
 * once; nothing is transposed between layers, and a piece of a signal is a view.
 */

/**
 * The rows under each tap, side by side: `[rows, channels] -> [outRows, taps * channels]`.
 *
 * @param key names `rowOf` within the graph: equal keys share their table of indices.
 * @param rowOf row of `x` under a tap of an output row.
 */
export function gatherTaps(
  g: GraphBuilder,
  x: Tensor,
  key: string,
  outRows: number,
  taps: number,
  rowOf: (row: number, tap: number) => number,
): Tensor {
  const ids = g.constant(`taps ${key} ${outRows} ${taps}`, 'i32', [outRows * taps], () => {
    const table = new Int32Array(outRows * taps);
    for (let row = 0; row < outRows; row += 1) {
      for (let tap = 0; tap < taps; tap += 1) table[row * taps + tap] = rowOf(row, tap);
    }
    return table;
  });
  const channels = x.size(1);
  const gathered = x
    .contiguous()
    .record('get_rows', [x.contiguous(), ids], [], [outRows * taps, channels], 'f32');
  return gathered.reshape(outRows, taps * channels);
}

/** Views of at most `most` rows each, as equal as can be. */
export function splitRows(x: Tensor, most: number): Tensor[] {
  const rows = x.size(0);
  const parts = Math.ceil(rows / Math.max(1, most));
  return Array.from({ length: parts }, (_, index) => {
    const start = Math.floor((index * rows) / parts);
    return x.narrow(0, start, Math.floor(((index + 1) * rows) / parts) - start);
  });
}

/** Pieces joined until each has at least `least` rows, but for the last. */
export function joinRows(pieces: readonly Tensor[], least: number): Tensor[] {
  const joined: Tensor[] = [];
  let group: Tensor[] = [];
  let rows = 0;
  for (const [index, piece] of pieces.entries()) {
    group.push(piece);
    rows += piece.size(0);
    if (rows < least && index < pieces.length - 1) continue;
    joined.push(group.reduce((whole, part) => whole.concat(part, 0)));
    [group, rows] = [[], 0];
  }
  return joined;
}
