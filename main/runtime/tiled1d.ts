export interface Tiling {
  /** Frames decoded at a time. Default: 256. */
  tile?: number;
  /** Frames that neighbouring tiles share and that are cross-faded. Default: 32. */
  overlap?: number;
}

/**
 * Decodes a long sequence tile by tile and cross-fades what neighbours share: an engine's cheaper way (`fallback`) when
 * the whole does not fit. It changes the result: near a tile's ends the network does not see what lies beyond. Not for
 * codecs that already decode in pieces without a difference, and never for a vocoder that carries phase.
 *
 * @param frames frames in all
 * @param decode values of frames `from` to `to`, `[to - from, width]` in one array, the same width at every call
 * @returns `[frames, width]`
 * @throws RangeError where the tiling or a tile's length is impossible
 */
export async function tiled1d(
  frames: number,
  decode: (from: number, to: number) => Promise<Float32Array>,
  { tile = 256, overlap = 32 }: Tiling = {},
): Promise<Float32Array> {
  if (!(Number.isInteger(tile) && Number.isInteger(overlap) && overlap >= 0 && overlap < tile)) {
    throw new RangeError(`Tiles of ${tile} frames cannot overlap by ${overlap}.`);
  }
  let out = new Float32Array(0);
  let width = 0;
  for (let from = 0; from === 0 || from + overlap < frames; from += tile - overlap) {
    const to = Math.min(frames, from + tile);
    const values = await decode(from, to);
    if (from === 0) {
      width = to === 0 ? 0 : values.length / to;
      out = new Float32Array(frames * width);
    }
    if (!Number.isInteger(width) || values.length !== (to - from) * width) {
      throw new RangeError(
        `Frames ${from} to ${to} became ${values.length} values; ${(to - from) * width} belong there.`,
      );
    }
    const shared = from === 0 ? 0 : overlap;
    for (let frame = 0; frame < shared; frame++) {
      const weight = (frame + 0.5) / shared;
      for (let at = frame * width; at < (frame + 1) * width; at++) {
        const before = out[from * width + at]!;
        out[from * width + at] = before + weight * (values[at]! - before);
      }
    }
    out.set(values.subarray(shared * width), (from + shared) * width);
  }
  return out;
}
