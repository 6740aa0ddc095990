import { bytesPerSample, type WavEncoding, type WavWriteEncoding } from './wav-format.ts';

/** Integer encodings map full scale to 2^(bits-1), so reading what was written changes nothing. */
const fullScale = { pcm16: 2 ** 15, pcm24: 2 ** 23, pcm32: 2 ** 31 } as const;

/**
 * Spread interleaved samples over channels.
 *
 * @param bytes `frames` sample frames, little-endian
 * @param out one array per channel, filled from `start`
 * @returns how many values were not finite (stored as 0)
 */
export function decodeSamples(
  bytes: Uint8Array,
  encoding: WavEncoding,
  out: Float32Array[],
  start: number,
  frames: number,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const step = bytesPerSample[encoding];
  const channels = out.length;
  const stride = step * channels;
  const sample = readers[encoding];
  let notFinite = 0;
  for (let channel = 0; channel < channels; channel++) {
    const target = out[channel]!;
    for (let i = 0, at = channel * step; i < frames; i++, at += stride) {
      const value = sample(view, at);
      if (Number.isFinite(value)) target[start + i] = value;
      else notFinite++;
    }
  }
  return notFinite;
}

const readers: Record<WavEncoding, (view: DataView, at: number) => number> = {
  pcm8: (view, at) => (view.getUint8(at) - 128) / 128,
  pcm16: (view, at) => view.getInt16(at, true) / fullScale.pcm16,
  pcm24: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 65536) / fullScale.pcm24,
  pcm32: (view, at) => view.getInt32(at, true) / fullScale.pcm32,
  float32: (view, at) => view.getFloat32(at, true),
  float64: (view, at) => view.getFloat64(at, true),
};

export interface Encoded {
  bytes: Uint8Array;
  /** Samples beyond full scale, cut to it (integer encodings only). */
  clipped: number;
  /** Samples that were NaN (written as 0) or infinite (cut like the others). */
  notFinite: number;
}

/** A source of uniform numbers in 0..1 for dither. */
export type Uniform = () => number;

/**
 * Interleave and encode. Rounds to the nearest step, ties to even.
 *
 * @param channels one array per channel, all of one length
 * @param dither adds triangular noise of two steps (TPDF) before rounding
 */
export function encodeSamples(
  channels: readonly Float32Array[],
  encoding: WavWriteEncoding,
  dither: Uniform | null = null,
): Encoded {
  const frames = channels[0]?.length ?? 0;
  const step = bytesPerSample[encoding];
  const bytes = new Uint8Array(frames * channels.length * step);
  const view = new DataView(bytes.buffer);
  let clipped = 0;
  let notFinite = 0;
  let at = 0;
  for (let i = 0; i < frames; i++) {
    for (const channel of channels) {
      let value = channel[i]!;
      if (!Number.isFinite(value)) {
        notFinite++;
        if (Number.isNaN(value)) value = 0;
      }
      if (encoding === 'float32') {
        view.setFloat32(at, value, true);
      } else {
        if (value > 1 || value < -1) clipped++;
        const scale = fullScale[encoding];
        const noise = dither ? dither() - dither() : 0;
        const rounded = roundHalfEven(value * scale + noise);
        writers[encoding](view, at, Math.max(-scale, Math.min(scale - 1, rounded)));
      }
      at += step;
    }
  }
  return { bytes, clipped, notFinite };
}

const writers = {
  pcm16: (view: DataView, at: number, value: number) => view.setInt16(at, value, true),
  pcm24: (view: DataView, at: number, value: number) => {
    view.setUint16(at, value & 0xffff, true);
    view.setInt8(at + 2, value >> 16);
  },
  pcm32: (view: DataView, at: number, value: number) => view.setInt32(at, value, true),
};

function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const fraction = value - below;
  if (fraction !== 0.5) return fraction < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

/** A small generator (xorshift32) for dither: quality beyond audibility is not needed. */
export function ditherSource(seed = 0x9e3779b9): Uniform {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
