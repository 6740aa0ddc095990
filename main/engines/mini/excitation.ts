import { fastSin } from '../../audio/fast-math.ts';

/** Pitch and voicing of an utterance, one value per frame. */
export interface PitchTrack {
  /** Natural logarithm of the pitch in Hz, as it shall sound; `[frames]`. */
  logF0: Float64Array;
  /** 0..1; `[frames]`. */
  voicing: Float32Array;
}

/** Samples of the three parts of an excitation: each is zero where another one is meant. */
export interface ExcitationParts {
  /** Pulse train where voiced. */
  harmonic: Float64Array;
  /** Noise where voiced. */
  voicedNoise: Float64Array;
  /** Noise where unvoiced. */
  unvoicedNoise: Float64Array;
}

/**
 * The signal that the vocoder's filter shapes: a band-limited pulse train of unit power where the speech is voiced,
 * noise elsewhere, sample by sample in order and in constant memory.
 *
 * Frame i is centred on sample i * hop + hop / 2; values between centres are interpolated, held at both ends. The
 * pulse train is the closed form of K equal cosines, K the harmonics below half the sample rate. Its phase is the
 * running sum of the pitch in float64: in float32 an error would grow audibly within seconds.
 */
export class Excitation {
  readonly #frames: number;
  #sample = 0;
  /** Phase in radians, 0..2 pi. */
  #phase = 0;

  constructor(
    private readonly track: PitchTrack,
    private readonly hop: number,
    private readonly sampleRate: number,
    /** Fills with independent Gaussian samples of variance 1, in the order in which they are used. */
    private readonly noise: (target: Float32Array) => void,
  ) {
    this.#frames = track.logF0.length;
  }

  /** Samples there are: frames * hop. */
  get length(): number {
    return this.#frames * this.hop;
  }

  /** The next `count` samples (at most what is left) into the arrays, from `offset` on. */
  next(parts: ExcitationParts, offset: number, count: number): void {
    const noise = new Float32Array(count);
    this.noise(noise);
    const end = Math.min(this.length, this.#sample + count);
    let out = offset;
    while (this.#sample < end) {
      const segmentEnd = Math.min(end, this.#segmentEnd());
      this.#segment(parts, out, segmentEnd - this.#sample, noise, out - offset);
      out += segmentEnd - this.#sample;
      this.#sample = segmentEnd;
    }
  }

  /** The sample before which the same two frame centres are interpolated. */
  #segmentEnd(): number {
    const half = this.hop / 2;
    if (this.#sample < half) return Math.ceil(half);
    const segment = Math.floor((this.#sample - half) / this.hop);
    return segment >= this.#frames - 1 ? this.length : Math.ceil((segment + 1) * this.hop + half);
  }

  #segment(parts: ExcitationParts, out: number, count: number, noise: Float32Array, noiseAt: number): void {
    const { logF0, voicing } = this.track;
    const { hop, sampleRate } = this;
    const { harmonic, voicedNoise, unvoicedNoise } = parts;
    const position = (this.#sample - hop / 2) / hop;
    const left = Math.min(Math.max(Math.floor(position), 0), this.#frames - 1);
    const right = position < 0 ? left : Math.min(left + 1, this.#frames - 1);
    const start = position < 0 || left === right ? 0 : position - left;
    const step = left === right ? 0 : 1 / hop;
    const [lf0, lf0Slope] = [logF0[left]!, logF0[right]! - logF0[left]!];
    const [voice, voiceSlope] = [voicing[left]!, voicing[right]! - voicing[left]!];
    const radians = (2 * Math.PI) / sampleRate;
    // The pitch is exponential between two centres: one multiplication per sample instead of one exponential.
    let f0 = Math.exp(lf0 + lf0Slope * start);
    const growth = Math.exp(lf0Slope * step);
    let phase = this.#phase;
    let harmonics = 0;
    let gain = 0;
    for (let n = 0; n < count; n++) {
      phase += radians * f0;
      phase -= 2 * Math.PI * Math.floor(phase / (2 * Math.PI));
      const white = noise[noiseAt + n]!;
      if (voice + voiceSlope * (start + n * step) > 0.5) {
        const wanted = Math.floor(sampleRate / 2 / f0);
        if (wanted !== harmonics) {
          harmonics = wanted;
          gain = harmonics > 0 ? Math.sqrt(2 / harmonics) : 0;
        }
        harmonic[out + n] = gain * cosineSum(harmonics, phase);
        voicedNoise[out + n] = white;
        unvoicedNoise[out + n] = 0;
      } else {
        harmonic[out + n] = 0;
        voicedNoise[out + n] = 0;
        unvoicedNoise[out + n] = white;
      }
      f0 *= growth;
    }
    this.#phase = phase;
  }
}

/** cos(phase) + cos(2 phase) + ... + cos(count phase). */
function cosineSum(count: number, phase: number): number {
  const half = fastSin(phase / 2);
  if (Math.abs(half) < 1e-6) return count;
  return 0.5 * (fastSin((count + 0.5) * phase) / half - 1);
}
