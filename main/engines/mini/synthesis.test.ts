import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type MiniConfig, readMiniConfig } from './config.ts';
import { framePositions, framesFromLogDurations } from './durations.ts';
import { Excitation } from './excitation.ts';
import { Synthesis, SynthesisTables } from './synthesis.ts';
import { farthest, type Golden, readGoldens, voiceFolder } from './testing/golden.ts';

const goldens = readGoldens();
let config: MiniConfig;
let tables: SynthesisTables;
beforeAll(async () => {
  config = await readMiniConfig(voiceFolder);
  tables = new SynthesisTables(config);
});

/** Pitch, voicing and the very noise of a golden sentence. */
function goldenExcitation(golden: Golden): Excitation {
  const frames = golden.features.length / 82;
  let used = 0;
  return new Excitation(
    {
      logF0: Float64Array.from({ length: frames }, (_, t) => golden.features[t * 82 + 80]!),
      voicing: Float32Array.from({ length: frames }, (_, t) => golden.features[t * 82 + 81]!),
    },
    256,
    24000,
    (target) => {
      target.set(golden.noise.subarray(used, used + target.length));
      used += target.length;
    },
  );
}

function synthesize(golden: Golden, step: number): Float32Array {
  const synthesis = new Synthesis(tables, goldenExcitation(golden));
  const pieces: number[] = [];
  for (let at = 0; at < golden.head.length; at += step * 1026) {
    pieces.push(...synthesis.push(golden.head.subarray(at, at + step * 1026)));
  }
  pieces.push(...synthesis.finish());
  return Float32Array.from(pieces);
}

describe.each(goldens)('golden "$text"', (golden) => {
  test('frame counts from log-durations are equal', () => {
    expect(framesFromLogDurations(golden.log_durations)).toEqual(golden.frames);
  });

  test('harmonic part of the excitation, in pieces of any size', () => {
    for (const step of [100_000, 256, 77]) {
      const excitation = goldenExcitation(golden);
      const zeros = () => new Float64Array(excitation.length);
      const parts = { harmonic: zeros(), voicedNoise: zeros(), unvoicedNoise: zeros() };
      for (let at = 0; at < excitation.length; at += step) {
        excitation.next(parts, at, Math.min(step, excitation.length - at));
      }
      expect(farthest(parts.harmonic, golden.harmonic)).toBeLessThan(1e-4);
      const noise = parts.voicedNoise.map((value, i) => value + parts.unvoicedNoise[i]!);
      expect(farthest(noise, golden.noise)).toBe(0);
      expect(parts.voicedNoise.every((value, i) => value === 0 || parts.unvoicedNoise[i] === 0)).toBe(true);
    }
  });

  test('waveform from golden features, head and noise', () => {
    expect(farthest(synthesize(golden, 1_000), golden.waveform)).toBeLessThan(1e-5);
  });

  test('pieces of any size give the same samples', () => {
    const whole = synthesize(golden, 1_000);
    for (const step of [1, 2, 50]) expect(synthesize(golden, step)).toEqual(whole);
  });
});

test('excitation spectrum of the first golden sentence', () => {
  const golden = goldens[0]!;
  const frames = golden.features.length / 82;
  const synthesis = new Synthesis(tables, goldenExcitation(golden));
  const zero = golden.head.slice(0, 1026).fill(0);
  let worst = 0;
  for (let t = 0; t < frames; t++) {
    // A head of zeros is a filter of 1: the spectrum passes unchanged.
    synthesis.push(zero);
    const real = golden.excitation_spectrum!.subarray(t * 513, (t + 1) * 513);
    const imaginary = golden.excitation_spectrum!.subarray((frames + t) * 513, (frames + t + 1) * 513);
    worst = Math.max(worst, farthest(synthesis.re, real), farthest(synthesis.im, imaginary));
  }
  expect(worst).toBeLessThan(1e-3);
});

describe('excitation', () => {
  const tone = (logF0: number[], voicing: number[]) =>
    new Excitation(
      { logF0: Float64Array.from(logF0), voicing: Float32Array.from(voicing) },
      256,
      24000,
      (target) => target.fill(0.5),
    );
  const all = (excitation: Excitation) => {
    const zeros = () => new Float64Array(excitation.length);
    const parts = { harmonic: zeros(), voicedNoise: zeros(), unvoicedNoise: zeros() };
    excitation.next(parts, 0, excitation.length);
    return parts;
  };

  test('one frame is long enough', () => {
    const { harmonic, unvoicedNoise } = all(tone([Math.log(200)], [1]));
    expect(harmonic.some((value) => value !== 0)).toBe(true);
    expect(unvoicedNoise.every((value) => value === 0)).toBe(true);
  });

  test('pulses have unit power and the pitch asked for', () => {
    const { harmonic } = all(
      tone(new Array<number>(100).fill(Math.log(240)), new Array<number>(100).fill(1)),
    );
    const power = harmonic.reduce((sum, value) => sum + value * value, 0) / harmonic.length;
    expect(power).toBeCloseTo(1, 1);
    const peaks = harmonic.reduce((found, value) => found + (value > 8 ? 1 : 0), 0);
    expect(peaks).toBeGreaterThanOrEqual(Math.floor((25600 / 24000) * 240) - 1);
  });

  test('absurd pitch never gives what is not a number', () => {
    for (const logF0 of [-50, 0, 9.5, 12, 80]) {
      const { harmonic } = all(tone([logF0, logF0, 5], [1, 1, 1]));
      expect(harmonic.every(Number.isFinite)).toBe(true);
    }
  });
});

describe('durations', () => {
  test('speed divides, rounding never adds up, no phone vanishes', () => {
    const logs = new Float32Array(1000).fill(Math.log(7.3));
    const sum = (frames: Int32Array) => frames.reduce((total, value) => total + value, 0);
    expect(sum(framesFromLogDurations(logs))).toBe(7300);
    expect(sum(framesFromLogDurations(logs, 2))).toBe(3650);
    expect(framesFromLogDurations(new Float32Array([-9, -9, 2]), 4)).toEqual(new Int32Array([1, 1, 1]));
  });

  test('positions', () => {
    const { phone, features } = framePositions(new Int32Array([1, 2]));
    expect([...phone]).toEqual([0, 1, 1]);
    const expected = [0.5, 0.25, 0, 0.25, 0.0625, Math.log(2), 0.75, 0.5625, Math.log(2)];
    expect(farthest(features, expected)).toBeLessThan(1e-7);
  });
});

describe('config.json', () => {
  const change = async (edit: (config: MiniConfig) => void) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'mizuoto-voice-'));
    try {
      cpSync(path.join(voiceFolder, 'config.json'), path.join(folder, 'config.json'));
      const raw = JSON.parse(readFileSync(path.join(folder, 'config.json'), 'utf8'));
      edit(raw);
      writeFileSync(path.join(folder, 'config.json'), JSON.stringify(raw));
      return await readMiniConfig(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  test.each<[string, (config: MiniConfig) => void, string]>([
    ['another format', (raw) => Object.assign(raw, { format: 'x/2' }), 'format'],
    ['a rule that is not ours', (raw) => Object.assign(raw.block, { gelu: 'tanh' }), 'block.gelu'],
    ['an even kernel', (raw) => Object.assign(raw.vocoder, { kernel: 8 }), 'odd'],
    ['channels that do not meet', (raw) => Object.assign(raw.vocoder, { in_channels: 80 }), '82 and 80'],
    ['frames that do not tile', (raw) => Object.assign(raw.istft, { trim: 100 }), 'trim 100'],
  ])('%s is refused', async (_, edit, reason) => {
    const attempt = change(edit);
    await expect(attempt).rejects.toMatchObject({ code: 'checkpoint_invalid' });
    await expect(attempt).rejects.toThrow(reason);
  });

  test('missing or broken files are named', async () => {
    await expect(readMiniConfig(os.tmpdir())).rejects.toMatchObject({ code: 'checkpoint_missing' });
  });
});
