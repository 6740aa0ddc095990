export interface ResampleOptions {
  /** Zero crossings of the sinc on each side: more is sharper and slower. Default 6. */
  lowpassFilterWidth?: number;
  /** Cut-off as a share of the lower Nyquist frequency. Default 0.99. */
  rolloff?: number;
  /** Window over the sinc. Default `hann`. */
  window?: 'hann' | 'kaiser';
  /** Shape of the Kaiser window. Default 14.769656459379492. */
  beta?: number;
}

/** What `torchaudio.transforms.Resample` documents as the setting nearest to librosa's `kaiser_best`. */
export const kaiserBest: ResampleOptions = {
  lowpassFilterWidth: 64,
  rolloff: 0.9475937167399596,
  window: 'kaiser',
  beta: 14.769656459379492,
};

/** Resample a whole signal; length ceil(samples * to / from). See `Resampler`. */
export function resample(
  signal: Float32Array,
  from: number,
  to: number,
  options: ResampleOptions = {},
): Float32Array {
  const resampler = new Resampler(from, to, options);
  const body = resampler.push(signal);
  const tail = resampler.flush();
  const out = new Float32Array(body.length + tail.length);
  out.set(body);
  out.set(tail, body.length);
  return out;
}

interface Phase {
  /** First tap relative to the block's first input sample. */
  offset: number;
  taps: Float64Array;
}

/**
 * Band-limited resampling by a windowed sinc, the method and defaults of torchaudio.functional.resample, in pieces of
 * any size: what comes out does not depend on how the signal was cut.
 *
 * Sums in float64. Rates are whole numbers of Hz. Phases are computed when first used, so that odd pairs of rates
 * (44100 to 44101) cost no more memory than the audio needs.
 */
export class Resampler {
  readonly #from: number;
  readonly #to: number;
  readonly #options: Required<ResampleOptions>;
  /** Reach of the filter on each side, in input samples. */
  readonly #width: number;
  readonly #phases = new Map<number, Phase>();
  #buffer = new Float32Array(0);
  /** Index in the whole signal of the buffer's first sample. */
  #start = 0;
  #received = 0;
  #produced = 0;

  constructor(from: number, to: number, options: ResampleOptions = {}) {
    for (const rate of [from, to]) {
      if (!Number.isInteger(rate) || rate < 1) throw new RangeError(`a sample rate of ${rate} Hz`);
    }
    const divisor = gcd(from, to);
    this.#from = from / divisor;
    this.#to = to / divisor;
    this.#options = {
      lowpassFilterWidth: options.lowpassFilterWidth ?? 6,
      rolloff: options.rolloff ?? 0.99,
      window: options.window ?? 'hann',
      beta: options.beta ?? 14.769656459379492,
    };
    this.#width = Math.ceil((this.#options.lowpassFilterWidth * this.#from) / this.#cutoff());
  }

  /** Feed samples; returns what can be computed without knowing more. */
  push(samples: Float32Array): Float32Array {
    if (this.#from === this.#to) return samples.slice();
    const joined = new Float32Array(this.#buffer.length + samples.length);
    joined.set(this.#buffer);
    joined.set(samples, this.#buffer.length);
    this.#buffer = joined;
    this.#received += samples.length;
    // Output block b (`to` samples) reads inputs up to b * from + width + from - 1.
    const blocks = Math.floor((this.#received - this.#width) / this.#from);
    return this.#produce(Math.max(this.#produced, blocks * this.#to));
  }

  /** The rest; the object is then as new. */
  flush(): Float32Array {
    const out = this.#produce(Math.ceil((this.#received * this.#to) / this.#from));
    this.#buffer = new Float32Array(0);
    this.#start = 0;
    this.#received = 0;
    this.#produced = 0;
    return out;
  }

  #cutoff(): number {
    return Math.min(this.#from, this.#to) * this.#options.rolloff;
  }

  #produce(end: number): Float32Array {
    const out = new Float32Array(Math.max(0, end - this.#produced));
    for (let i = 0; i < out.length; i++) {
      const index = this.#produced + i;
      const { offset, taps } = this.#phase(index % this.#to);
      const first = Math.floor(index / this.#to) * this.#from + offset - this.#start;
      let sum = 0;
      const lowest = Math.max(0, -first);
      const highest = Math.min(taps.length, this.#buffer.length - first);
      for (let k = lowest; k < highest; k++) sum += taps[k]! * this.#buffer[first + k]!;
      out[i] = sum;
    }
    this.#produced += out.length;
    const keepFrom = Math.floor(this.#produced / this.#to) * this.#from - this.#width;
    const drop = Math.max(0, Math.min(keepFrom - this.#start, this.#buffer.length));
    this.#buffer = this.#buffer.slice(drop);
    this.#start += drop;
    return out;
  }

  #phase(phase: number): Phase {
    const known = this.#phases.get(phase);
    if (known) return known;
    const { lowpassFilterWidth, window, beta } = this.#options;
    const cutoff = this.#cutoff();
    const values: number[] = [];
    let offset: number | null = null;
    for (let n = -this.#width; n < this.#width + this.#from; n++) {
      const t = (n / this.#from - phase / this.#to) * cutoff;
      if (Math.abs(t) >= lowpassFilterWidth) continue;
      offset ??= n;
      const shape =
        window === 'hann'
          ? Math.cos((t * Math.PI) / lowpassFilterWidth / 2) ** 2
          : bessel0(beta * Math.sqrt(1 - (t / lowpassFilterWidth) ** 2)) / bessel0(beta);
      const sinc = t === 0 ? 1 : Math.sin(Math.PI * t) / (Math.PI * t);
      values.push((sinc * shape * cutoff) / this.#from);
    }
    const made = { offset: offset ?? 0, taps: Float64Array.from(values) };
    this.#phases.set(phase, made);
    return made;
  }
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Modified Bessel function of the first kind, order 0, by its power series. */
function bessel0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
