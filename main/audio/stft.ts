import { RealFft } from './fft.ts';
import { OverlapAdd } from './overlap-add.ts';
import { makeWindow, type WindowName } from './windows.ts';

export type PadMode = 'reflect' | 'constant' | 'replicate';

export interface StftOptions {
  nFft: number;
  /** Default: floor(nFft / 4). */
  hopLength?: number;
  /** Default: nFft. A shorter window is centred in the frame with zeros around it, as torch does. */
  winLength?: number;
  /** Periodic window by name (default `hann`), or `winLength` values. */
  window?: WindowName | Float64Array;
  /**
   * Samples added on both sides. Default: floor(nFft / 2), torch's `center=True`; 0 is `center=False`;
   * (nFft - hopLength) / 2 gives one frame per hop, as many vocoders use.
   */
  padding?: number;
  /** Default: `reflect`. */
  padMode?: PadMode;
  /** Divide the spectrum by sqrt(nFft). Default: false. */
  normalized?: boolean;
}

/** One-sided complex spectrum, `[frames, bins]` row by row (torch.stft gives `[bins, frames]`). */
export interface Spectrogram {
  frames: number;
  bins: number;
  re: Float32Array;
  im: Float32Array;
}

/** Short-time Fourier transform and its inverse with the conventions of torch.stft and torch.istft. Computes in float64. */
export class Stft {
  readonly nFft: number;
  readonly hopLength: number;
  readonly bins: number;
  readonly padding: number;
  readonly padMode: PadMode;
  /** The window as applied: `nFft` values. */
  readonly window: Float64Array;
  readonly #fft: RealFft;
  readonly #scale: number;
  readonly #frame: Float64Array;
  readonly #re: Float64Array;
  readonly #im: Float64Array;

  constructor(options: StftOptions) {
    const { nFft, winLength = nFft, window = 'hann' } = options;
    const { hopLength = Math.floor(nFft / 4), padding = Math.floor(nFft / 2), padMode = 'reflect' } = options;
    if (winLength < 1 || winLength > nFft)
      throw new RangeError(`a window of ${winLength} in frames of ${nFft}`);
    if (hopLength < 1 || padding < 0) throw new RangeError(`hop ${hopLength}, padding ${padding}`);
    const values = typeof window === 'string' ? makeWindow(window, winLength) : window;
    if (values.length !== winLength) throw new RangeError(`${values.length} window values for ${winLength}`);
    this.nFft = nFft;
    this.hopLength = hopLength;
    this.padding = padding;
    this.padMode = padMode;
    this.window = new Float64Array(nFft);
    this.window.set(values, Math.floor((nFft - winLength) / 2));
    this.#fft = new RealFft(nFft);
    this.bins = this.#fft.bins;
    this.#scale = options.normalized ? 1 / Math.sqrt(nFft) : 1;
    this.#frame = new Float64Array(nFft);
    this.#re = new Float64Array(this.bins);
    this.#im = new Float64Array(this.bins);
  }

  /** Frames of a signal of `samples`; 0 where it is shorter than one frame. */
  frames(samples: number): number {
    return Math.max(0, 1 + Math.floor((samples + 2 * this.padding - this.nFft) / this.hopLength));
  }

  /** Call `visit` with each frame's spectrum. The arrays are reused: copy what you keep. */
  analyse(
    signal: Float32Array | Float64Array,
    visit: (frame: number, re: Float64Array, im: Float64Array) => void,
  ): void {
    const sample = padded(signal, this.padding, this.padMode);
    const frame = this.#frame;
    const count = this.frames(signal.length);
    for (let t = 0; t < count; t++) {
      const start = t * this.hopLength - this.padding;
      for (let n = 0; n < this.nFft; n++) frame[n] = sample(start + n) * this.window[n]! * this.#scale;
      this.#fft.forward(frame, this.#re, this.#im);
      visit(t, this.#re, this.#im);
    }
  }

  forward(signal: Float32Array | Float64Array): Spectrogram {
    const frames = this.frames(signal.length);
    const re = new Float32Array(frames * this.bins);
    const im = new Float32Array(frames * this.bins);
    this.analyse(signal, (t, frameRe, frameIm) => {
      re.set(frameRe, t * this.bins);
      im.set(frameIm, t * this.bins);
    });
    return { frames, bins: this.bins, re, im };
  }

  /**
   * Overlap-add, divided by the overlap-added squared window; the padding is cut off at both ends.
   *
   * @param length samples wanted; default (frames - 1) * hopLength + nFft - 2 * padding. Beyond the last frame: zeros.
   */
  inverse(spectrum: Spectrogram, length?: number): Float32Array {
    const { frames, bins } = spectrum;
    if (bins !== this.bins)
      throw new RangeError(`a spectrum of ${bins} bins for a transform of ${this.bins}`);
    const covered = frames === 0 ? 0 : (frames - 1) * this.hopLength + this.nFft;
    const out = new Float32Array(length ?? Math.max(0, covered - 2 * this.padding));
    const adder = new OverlapAdd(this.window, this.hopLength);
    const piece = new Float64Array(this.nFft);
    let at = -this.padding;
    const store = (count: number) => {
      for (let n = 0; n < count; n++, at++) if (at >= 0 && at < out.length) out[at] = piece[n]!;
    };
    for (let t = 0; t < frames; t++) {
      this.#re.set(spectrum.re.subarray(t * bins, (t + 1) * bins));
      this.#im.set(spectrum.im.subarray(t * bins, (t + 1) * bins));
      this.#fft.inverse(this.#re, this.#im, this.#frame);
      for (let n = 0; n < this.nFft; n++) this.#frame[n]! /= this.#scale;
      store(adder.add(this.#frame, piece));
    }
    if (frames > 0) store(adder.flush(piece));
    return out;
  }
}

/** Read a signal beyond its ends. */
function padded(
  signal: Float32Array | Float64Array,
  padding: number,
  mode: PadMode,
): (index: number) => number {
  const last = signal.length - 1;
  if (mode === 'reflect' && padding > last && padding > 0) {
    throw new RangeError(`a signal of ${signal.length} samples cannot be reflected by ${padding}`);
  }
  return (index) => {
    if (index >= 0 && index <= last) return signal[index]!;
    if (mode === 'constant') return 0;
    if (mode === 'replicate') return signal[index < 0 ? 0 : last] ?? 0;
    return signal[index < 0 ? -index : 2 * last - index]!;
  };
}
