import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { MelSpectrogram, melFilterbank } from './mel.ts';
import { OverlapAdd } from './overlap-add.ts';
import { kaiserBest, type ResampleOptions, Resampler, resample } from './resample.ts';
import { Stft, type StftOptions } from './stft.ts';
import { makeWindow, type WindowName } from './windows.ts';

/** Numbers of torch, torchaudio and librosa: fixtures/make_fixtures.py. */
const reference = JSON.parse(readFileSync(path.join(import.meta.dirname, 'fixtures/audio.json'), 'utf8'));

/** The same signal as in make_fixtures.py. */
const signal = (length: number) =>
  Float32Array.from(
    { length },
    (_, i) =>
      0.4 * Math.sin(0.05 * i) + 0.3 * Math.sin(0.0003 * i * i) + 0.1 * (((i * 7919) % 1000) / 1000 - 0.5),
  );

const farthest = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length);
  return Math.max(0, ...Array.from(a, (value, i) => Math.abs(value - b[i]!)));
};

test('the test signal is the one of the fixtures', () => {
  expect(
    farthest(
      signal(2000).filter((_, i) => i % 100 === 0),
      reference.signal,
    ),
  ).toBeLessThan(1e-7);
});

describe('Stft against torch.stft', () => {
  interface Case {
    name: string;
    samples: number;
    window: WindowName;
    zeros: number | null;
    frames: number;
    rows: number[];
    re: number[];
    im: number[];
    options: {
      n_fft: number;
      hop_length?: number;
      win_length?: number;
      center?: boolean;
      normalized?: boolean;
      pad_mode?: 'constant';
    };
    inverse?: number[];
    inverse_length?: number;
  }
  const make = ({ options, window, zeros }: Case) => {
    const made: StftOptions = { nFft: options.n_fft, window };
    if (options.hop_length) made.hopLength = options.hop_length;
    if (options.win_length) made.winLength = options.win_length;
    if (options.center === false) made.padding = zeros ?? 0;
    if (zeros !== null || options.pad_mode) made.padMode = 'constant';
    if (options.normalized) made.normalized = true;
    return new Stft(made);
  };

  test.each(reference.stft as Case[])('$name', (expected) => {
    const stft = make(expected);
    const spectrum = stft.forward(signal(expected.samples));
    expect(spectrum.frames).toBe(expected.frames);
    const pick = (part: Float32Array) =>
      expected.rows.flatMap((row) => [...part.subarray(row * stft.bins, (row + 1) * stft.bins)]);
    expect(farthest(pick(spectrum.re), expected.re)).toBeLessThan(1e-5);
    expect(farthest(pick(spectrum.im), expected.im)).toBeLessThan(1e-5);
  });

  test.each((reference.stft as Case[]).filter((one) => one.inverse))('inverse: $name', (expected) => {
    const stft = make(expected);
    const spectrum = stft.forward(signal(expected.samples));
    for (let i = 0; i < spectrum.re.length; i++) {
      const gain = 0.5 + (0.5 * (i % stft.bins)) / (stft.bins - 1);
      spectrum.re[i]! *= gain;
      spectrum.im[i]! *= gain;
    }
    const out = stft.inverse(spectrum);
    expect(out.length).toBe(expected.inverse_length);
    expect(
      farthest(
        out.filter((_, i) => i % 37 === 0),
        expected.inverse!,
      ),
    ).toBeLessThan(1e-5);
  });

  test('the inverse gives the signal back, up to a chosen length', () => {
    const stft = new Stft({ nFft: 256, hopLength: 64 });
    const input = signal(2000);
    const out = stft.inverse(stft.forward(input), 2100);
    expect(farthest(out.subarray(0, 1980), input.subarray(0, 1980))).toBeLessThan(1e-6);
    expect(out.subarray(2048 + 64).every((value) => value === 0)).toBe(true);
    expect(
      stft.inverse({ frames: 0, bins: 129, re: new Float32Array(0), im: new Float32Array(0) }),
    ).toHaveLength(0);
  });

  test('a signal shorter than its reflection is refused, with zeros it is not', () => {
    expect(() => new Stft({ nFft: 64 }).forward(signal(20))).toThrow(RangeError);
    expect(new Stft({ nFft: 64, padMode: 'constant' }).forward(signal(20)).frames).toBe(2);
    expect(new Stft({ nFft: 64, padMode: 'replicate' }).forward(signal(20)).frames).toBe(2);
    expect(new Stft({ nFft: 64, padding: 0 }).forward(signal(20)).frames).toBe(0);
  });

  test('nonsense is refused', () => {
    expect(() => new Stft({ nFft: 64, winLength: 65 })).toThrow(RangeError);
    expect(() => new Stft({ nFft: 64, hopLength: 0 })).toThrow(RangeError);
    expect(() => new Stft({ nFft: 64, window: new Float64Array(63) })).toThrow(RangeError);
    expect(() => new OverlapAdd(new Float64Array(8), 9)).toThrow(RangeError);
  });
});

test('windows: periodic and symmetric', () => {
  expect([...makeWindow('hann', 4)]).toEqual([0, expect.closeTo(0.5, 12), 1, expect.closeTo(0.5, 12)]);
  expect([...makeWindow('hann', 3, false)]).toEqual([0, 1, 0]);
  expect([...makeWindow('ones', 3)]).toEqual([1, 1, 1]);
  expect(makeWindow('povey', 4)[1]).toBeCloseTo(0.5 ** 0.85, 12);
  expect(makeWindow('hann', 1, false)).toEqual(new Float64Array([1]));
});

describe('mel against torchaudio and librosa', () => {
  interface Bank {
    name: string;
    rate: number;
    n_fft: number;
    n_mels: number;
    f_min: number;
    f_max: number;
    scale: 'htk' | 'slaney';
    norm: 'slaney' | null;
    sum: number;
    rows: number[];
    values: [number, number][][];
  }
  test.each(reference.banks as Bank[])('filterbank: $name', (bank) => {
    const weights = melFilterbank({
      sampleRate: bank.rate,
      nFft: bank.n_fft,
      nMels: bank.n_mels,
      fMin: bank.f_min,
      fMax: bank.f_max,
      scale: bank.scale,
      norm: bank.norm,
    });
    const bins = bank.n_fft / 2 + 1;
    const sum = weights.reduce((total, value) => total + value, 0);
    expect(Math.abs(sum / bank.sum - 1)).toBeLessThan(1e-5);
    for (const [i, row] of bank.rows.entries()) {
      const expected = new Float64Array(bins);
      for (const [k, value] of bank.values[i]!) expected[k] = value;
      const scale = Math.max(...expected);
      expect(farthest(weights.subarray(row * bins, (row + 1) * bins), expected) / scale).toBeLessThan(2e-5);
    }
  });

  interface Mel {
    name: string;
    options: ConstructorParameters<typeof MelSpectrogram>[0];
    shape: [number, number];
    values: number[];
  }
  test.each(reference.mels as Mel[])('spectrogram: $name', ({ options, shape, values }) => {
    const { frames, mel } = new MelSpectrogram(options).transform(signal(6000));
    expect([options.nMels, frames]).toEqual(shape);
    const scale = Math.max(1, ...values);
    expect(farthest(mel, values) / scale).toBeLessThan(1e-5);
  });
});

describe('Resampler against torchaudio', () => {
  interface Case {
    name: string;
    samples: number;
    orig: number;
    new: number;
    length: number;
    step: number;
    values: number[];
    tail: number[];
    options: { lowpass_filter_width?: number; rolloff?: number; resampling_method?: string; beta?: number };
  }
  const translate = (options: Case['options']): ResampleOptions => ({
    lowpassFilterWidth: options.lowpass_filter_width,
    rolloff: options.rolloff,
    window: options.resampling_method ? 'kaiser' : 'hann',
    beta: options.beta,
  });

  test.each(reference.resample as Case[])('$name', (one) => {
    const out = resample(signal(one.samples), one.orig, one.new, translate(one.options));
    expect(out.length).toBe(one.length);
    expect(
      farthest(
        out.filter((_, i) => i % one.step === 0),
        one.values,
      ),
    ).toBeLessThan(1e-6);
    expect(farthest(out.subarray(-5), one.tail)).toBeLessThan(1e-6);
  });

  test('pieces of any size give the same samples, and the object can be used again', () => {
    for (const [from, to] of [
      [44100, 24000],
      [16000, 24000],
      [24000, 24000],
      [44100, 44101],
    ] as const) {
      const input = signal(3000);
      const whole = resample(input, from, to);
      const resampler = new Resampler(from, to);
      for (const step of [1, 7, 160, 2999]) {
        const pieces: number[] = [];
        for (let at = 0; at < input.length; at += step)
          pieces.push(...resampler.push(input.subarray(at, at + step)));
        pieces.push(...resampler.flush());
        expect(Float32Array.from(pieces)).toEqual(whole);
      }
    }
  });

  test('a tone below the cut-off stays, one above it goes', () => {
    const tone = (hz: number) =>
      Float32Array.from({ length: 48000 }, (_, i) => Math.sin((2 * Math.PI * hz * i) / 48000));
    const middle = (samples: Float32Array) => Math.max(...samples.subarray(4000, 12000).map(Math.abs));
    expect(middle(resample(tone(3000), 48000, 16000))).toBeCloseTo(1, 2);
    expect(middle(resample(tone(11000), 48000, 16000))).toBeLessThan(0.01);
    expect(middle(resample(tone(8400), 48000, 16000, kaiserBest))).toBeLessThan(1e-4);
  });

  test('nothing gives nothing; broken rates are refused', () => {
    expect(resample(new Float32Array(0), 44100, 24000)).toHaveLength(0);
    expect(() => new Resampler(0, 24000)).toThrow(RangeError);
    expect(() => new Resampler(44100.5, 24000)).toThrow(RangeError);
  });
});
