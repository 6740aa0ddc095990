import { describe, expect, test } from 'vitest';
import { peak } from '../../audio/level.ts';
import { limitPeaks } from './limiter.ts';
import { type Ending, pitchTrack } from './prosody.ts';

const options = { pitch: 1, speed: 1, ending: 'statement' as Ending, framesPerSecond: 93.75 };

/** ln F0 of 5 everywhere; voiced except for `silent` frames at the end. */
function features(frames: number, silent: number): Float32Array {
  const out = new Float32Array(frames * 3);
  for (let t = 0; t < frames; t++) out.set([0, 5, t < frames - silent ? 0.9 : 0.1], t * 3);
  return out;
}

const semitones = (logF0: number) => ((logF0 - 5) * 12) / Math.LN2;

describe('pitch', () => {
  test('the factor moves every frame', () => {
    const { logF0, voicing } = pitchTrack(features(50, 10), 3, { ...options, pitch: 1.25 });
    expect([...logF0].every((value) => Math.abs(value - 5 - Math.log(1.25)) < 1e-12)).toBe(true);
    expect(voicing[0]).toBeCloseTo(0.9, 6);
  });

  test('a statement stays as it is', () => {
    const { logF0 } = pitchTrack(features(50, 10), 3, options);
    expect(logF0.every((value) => value === 5)).toBe(true);
  });

  test.each([
    ['question', 3.5],
    ['wh_question', 1.5],
  ] as const)('a %s rises by %f semitones over the last 300 ms that sound', (ending, amount) => {
    const { logF0 } = pitchTrack(features(100, 20), 3, { ...options, ending });
    const rise = [...logF0].map(semitones);
    expect(rise[79]).toBeCloseTo(amount, 6);
    expect(rise.slice(0, 52).every((value) => value === 0)).toBe(true);
    expect(rise[52]).toBeGreaterThan(0);
    for (let t = 53; t < 100; t++) expect(rise[t]).toBeGreaterThanOrEqual(rise[t - 1]! - 1e-12);
    expect(Math.max(...rise)).toBeLessThanOrEqual(amount + 1e-9);
  });

  test('the rise is shorter in faster speech, fits a short utterance, needs a voice', () => {
    const rising = (frames: number, silent: number, speed = 1) =>
      [...pitchTrack(features(frames, silent), 3, { ...options, speed, ending: 'question' }).logF0].map(
        semitones,
      );
    expect(rising(100, 0, 2).filter((value) => value > 0)).toHaveLength(14);
    expect(rising(10, 0).at(-1)).toBeCloseTo(3.5, 6);
    expect(rising(10, 10).every((value) => value === 0)).toBe(true);
    expect(rising(1, 0)).toHaveLength(1);
  });
});

describe('limiter', () => {
  test('speech passes untouched, peaks never reach beyond full scale and keep their order', () => {
    const samples = Float32Array.from([0, 0.48, -0.9, 0.95, 1, 2, -50]);
    const before = samples.slice();
    limitPeaks(samples);
    expect(samples.subarray(0, 3)).toEqual(before.subarray(0, 3));
    expect(peak(samples)).toBeLessThanOrEqual(1);
    expect(samples[3]!).toBeGreaterThan(0.9);
    expect(samples[4]!).toBeGreaterThan(samples[3]!);
    expect(samples[6]!).toBeLessThan(-0.99);
  });
});
