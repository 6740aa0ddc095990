import { fastCos, fastExp, fastSin } from '../../audio/fast-math.ts';
import { RealFft } from '../../audio/fft.ts';
import { OverlapAdd } from '../../audio/overlap-add.ts';
import { makeWindow } from '../../audio/windows.ts';
import type { MiniConfig } from './config.ts';
import type { Excitation, ExcitationParts } from './excitation.ts';

/** Least divisor of the overlap-add: the window's edges are not blown up at the ends of an utterance. */
const normFloor = 1e-3;

/** Tables shared by all utterances of a voice. */
export class SynthesisTables {
  readonly window: Float64Array;
  readonly fft: RealFft;
  /** Amplitude of pulses and of noise in voiced sound, per bin. */
  readonly pulseGain: Float64Array;
  readonly noiseGain: Float64Array;

  constructor(readonly config: MiniConfig) {
    const { n_fft: nFft } = config.istft;
    const { start_hz: start, end_hz: end, top } = config.excitation.voiced_noise;
    this.window = makeWindow('hann', nFft);
    this.fft = new RealFft(nFft);
    const share = Float64Array.from({ length: this.fft.bins }, (_, bin) => {
      const hz = (bin * config.sample_rate) / nFft;
      return top * Math.min(1, Math.max(0, (hz - start) / (end - start)));
    });
    this.pulseGain = share.map((value) => Math.sqrt(1 - value));
    this.noiseGain = share.map(Math.sqrt);
  }
}

/**
 * Filters the excitation of one utterance by the vocoder's head, frame by frame: spectrum of the excitation times
 * exp(log-magnitude) e^(i phase), inverse transform, overlap-add. T frames become T * hop samples.
 */
export class Synthesis {
  readonly #adder: OverlapAdd;
  readonly #parts: ExcitationParts;
  readonly #frame: Float64Array;
  readonly #piece: Float64Array;
  readonly #partRe: Float64Array;
  readonly #partIm: Float64Array;
  /** Spectrum of the current frame. */
  readonly re: Float64Array;
  readonly im: Float64Array;
  #frames = 0;

  constructor(
    private readonly tables: SynthesisTables,
    private readonly excitation: Excitation,
  ) {
    const { n_fft: nFft, hop } = tables.config.istft;
    this.#adder = new OverlapAdd(tables.window, hop, normFloor);
    this.#parts = {
      harmonic: new Float64Array(nFft),
      voicedNoise: new Float64Array(nFft),
      unvoicedNoise: new Float64Array(nFft),
    };
    this.#frame = new Float64Array(nFft);
    this.#piece = new Float64Array(nFft);
    const { bins } = tables.fft;
    [this.#partRe, this.#partIm] = [new Float64Array(bins), new Float64Array(bins)];
    [this.re, this.im] = [new Float64Array(bins), new Float64Array(bins)];
  }

  /**
   * @param head log-magnitudes, then phases, of the next frames; `[frames, 2 * bins]`
   * @returns the samples that are finished by them; the last of an utterance come from `finish`
   */
  push(head: Float32Array): Float32Array {
    const { fft, config } = this.tables;
    const row = 2 * fft.bins;
    const count = head.length / row;
    const { trim, hop } = config.istft;
    const out = new Float32Array(count * hop);
    let length = 0;
    for (let t = 0; t < count; t++) {
      this.exciteFrame();
      this.#filter(head, t * row);
      fft.inverse(this.re, this.im, this.#frame);
      const made = this.#adder.add(this.#frame, this.#piece);
      length += this.#emit(out, length, made, this.#frames * hop - trim);
      this.#frames++;
    }
    return out.subarray(0, length);
  }

  /** The rest, once every frame of the utterance was pushed. */
  finish(): Float32Array {
    const { trim, hop, n_fft: nFft } = this.tables.config.istft;
    const out = new Float32Array(nFft);
    if (this.#frames === 0) return out.subarray(0, 0);
    const made = this.#adder.flush(this.#piece) - trim;
    const length = this.#emit(out, 0, made, this.#frames * hop - trim);
    return out.subarray(0, length);
  }

  /** Copy finished samples, of which the first lies at `start` of the utterance: those before it are padding. */
  #emit(out: Float32Array, at: number, count: number, start: number): number {
    const skip = Math.min(count, Math.max(0, -start));
    for (let n = skip; n < count; n++) out[at + n - skip] = this.#piece[n]!;
    return count - skip;
  }

  /** Put the excitation's spectrum of the next frame into `re` and `im`. */
  exciteFrame(): void {
    const { fft, pulseGain, noiseGain, config } = this.tables;
    const { hop, n_fft: nFft, trim } = config.istft;
    // Zeros before the first and behind the last sample, `trim` of each.
    const known = this.#frames === 0 ? trim : nFft - hop;
    for (const part of Object.values(this.#parts) as Float64Array[]) {
      if (this.#frames > 0) part.copyWithin(0, hop);
      part.fill(0, known);
    }
    const reached = this.#frames === 0 ? 0 : this.#frames * hop - trim + known;
    const left = this.excitation.length - reached;
    this.excitation.next(this.#parts, known, Math.max(0, Math.min(left, nFft - known)));
    const { re, im } = this;
    re.fill(0);
    im.fill(0);
    const { harmonic, voicedNoise, unvoicedNoise } = this.#parts;
    for (const [part, gain] of [
      [harmonic, pulseGain],
      [voicedNoise, noiseGain],
      [unvoicedNoise, null],
    ] as const) {
      if (!this.#windowed(part)) continue;
      fft.forward(this.#frame, this.#partRe, this.#partIm);
      for (let k = 0; k < fft.bins; k++) {
        const scale = gain ? gain[k]! : 1;
        re[k]! += scale * this.#partRe[k]!;
        im[k]! += scale * this.#partIm[k]!;
      }
    }
  }

  /** False where the part is silent over the whole frame: its transform can be left out. */
  #windowed(part: Float64Array): boolean {
    const { window } = this.tables;
    let sounding = false;
    for (let n = 0; n < part.length; n++) {
      const value = part[n]!;
      if (value !== 0) sounding = true;
      this.#frame[n] = value * window[n]!;
    }
    return sounding;
  }

  #filter(head: Float32Array, row: number): void {
    const { fft, config } = this.tables;
    const { log_magnitude_max: most } = config.vocoder;
    const { re, im } = this;
    for (let k = 0; k < fft.bins; k++) {
      const magnitude = fastExp(Math.min(head[row + k]!, most));
      const phase = head[row + fft.bins + k]!;
      const cos = magnitude * fastCos(phase);
      const sin = magnitude * fastSin(phase);
      const real = re[k]!;
      re[k] = real * cos - im[k]! * sin;
      im[k] = real * sin + im[k]! * cos;
    }
  }
}
