import { Stft, type StftOptions } from './stft.ts';

export interface MelFilterbankOptions {
  sampleRate: number;
  nFft: number;
  nMels: number;
  /** Hz; default 0. */
  fMin?: number;
  /** Hz; default half the sample rate. */
  fMax?: number;
  /** `htk`: 2595 log10(1 + f / 700), torchaudio's default; `slaney`: linear below 1 kHz, librosa's default. */
  scale?: 'htk' | 'slaney';
  /** `slaney`: filters of equal area (librosa's default); null: of peak 1 (torchaudio's default). */
  norm?: 'slaney' | null;
}

/** Triangular filters, `[nMels, bins]` row by row, equal to torchaudio.functional.melscale_fbanks and librosa.filters.mel. */
export function melFilterbank(options: MelFilterbankOptions): Float64Array {
  const { sampleRate, nFft, nMels, fMin = 0, fMax = sampleRate / 2, scale = 'htk', norm = null } = options;
  const { toMel, toHz } = scales[scale];
  const bins = Math.floor(nFft / 2) + 1;
  const [low, high] = [toMel(fMin), toMel(fMax)];
  const edges = Array.from({ length: nMels + 2 }, (_, i) => toHz(low + ((high - low) * i) / (nMels + 1)));
  const weights = new Float64Array(nMels * bins);
  for (let m = 0; m < nMels; m++) {
    const [left, centre, right] = [edges[m]!, edges[m + 1]!, edges[m + 2]!];
    const area = norm === 'slaney' ? 2 / (right - left) : 1;
    for (let k = 0; k < bins; k++) {
      const hz = (k * sampleRate) / nFft;
      const value = Math.min((hz - left) / (centre - left), (right - hz) / (right - centre));
      weights[m * bins + k] = Math.max(0, value) * area;
    }
  }
  return weights;
}

const slaneyStep = Math.log(6.4) / 27;

const scales = {
  htk: {
    toMel: (hz: number) => 2595 * Math.log10(1 + hz / 700),
    toHz: (mel: number) => 700 * (10 ** (mel / 2595) - 1),
  },
  slaney: {
    toMel: (hz: number) => (hz < 1000 ? (3 * hz) / 200 : 15 + Math.log(hz / 1000) / slaneyStep),
    toHz: (mel: number) => (mel < 15 ? (200 * mel) / 3 : 1000 * Math.exp(slaneyStep * (mel - 15))),
  },
};

export interface MelOptions extends StftOptions, Omit<MelFilterbankOptions, 'nFft'> {
  /** 1: magnitude, 2: power (torchaudio's default). */
  power?: 1 | 2;
  /** Added to re^2 + im^2 before the root or power; BigVGAN's family uses 1e-9. Default 0. */
  epsilon?: number;
  /** Default `none`. */
  log?: 'none' | 'ln' | 'log10';
  /** Values below are raised to it before the logarithm. Default 1e-5. */
  clamp?: number;
}

/** Mel spectrogram with all its conventions spelt out. */
export class MelSpectrogram {
  readonly nMels: number;
  readonly stft: Stft;
  readonly #filters: { first: number; weights: Float64Array }[];
  readonly #options: Required<Pick<MelOptions, 'power' | 'epsilon' | 'log' | 'clamp'>>;

  constructor(options: MelOptions) {
    const { power = 2, epsilon = 0, log = 'none', clamp = 1e-5 } = options;
    this.stft = new Stft(options);
    this.nMels = options.nMels;
    this.#filters = nonZeroRanges(melFilterbank(options), options.nMels, this.stft.bins);
    this.#options = { power, epsilon, log, clamp };
  }

  /** @returns `[nMels, frames]` row by row, and the number of frames */
  transform(signal: Float32Array | Float64Array): { frames: number; mel: Float32Array } {
    const { power, epsilon, log, clamp } = this.#options;
    const frames = this.stft.frames(signal.length);
    const mel = new Float32Array(this.nMels * frames);
    const spectrum = new Float64Array(this.stft.bins);
    this.stft.analyse(signal, (t, re, im) => {
      for (let k = 0; k < spectrum.length; k++) {
        const value = re[k]! * re[k]! + im[k]! * im[k]! + epsilon;
        spectrum[k] = power === 1 ? Math.sqrt(value) : value;
      }
      for (const [m, { first, weights }] of this.#filters.entries()) {
        let sum = 0;
        for (let k = 0; k < weights.length; k++) sum += weights[k]! * spectrum[first + k]!;
        if (log !== 'none') sum = Math.max(sum, clamp);
        mel[m * frames + t] = log === 'ln' ? Math.log(sum) : log === 'log10' ? Math.log10(sum) : sum;
      }
    });
    return { frames, mel };
  }
}

/** Most of a filterbank is zero: keep each filter's span. */
function nonZeroRanges(bank: Float64Array, nMels: number, bins: number) {
  return Array.from({ length: nMels }, (_, m) => {
    const row = bank.subarray(m * bins, (m + 1) * bins);
    const first = Math.max(
      0,
      row.findIndex((value) => value > 0),
    );
    const last = row.findLastIndex((value) => value > 0);
    return { first, weights: row.slice(first, last + 1) };
  });
}
