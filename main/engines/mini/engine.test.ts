import { afterEach, describe, expect, test } from 'vitest';
import { findSilences, peak, rms } from '../../audio/level.ts';
import type { Settings } from '../../contract/settings.ts';
import { farthest } from './testing/golden.ts';
import { goldenReader, longReader, Rig } from './testing/rig.ts';
import type { TextReader } from './utterances.ts';

const readText = goldenReader();
const open: Rig[] = [];
const rig = async (settings: Partial<Settings> = {}, options: Parameters<typeof Rig.open>[1] = {}) => {
  const made = await Rig.open(settings, { readText, ...options });
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const made of open.splice(0)) await made.close();
});

const equal = (a: Float32Array, b: Float32Array) => Buffer.from(a.buffer).equals(Buffer.from(b.buffer));

describe('speaking', () => {
  test('a chunk per sentence, in order, joined without a click, at a sane level', async () => {
    const { chunks, samples, progress, ctx } = await (await rig()).speak({ text: '012' });
    expect(chunks.map(({ text }) => text)).toEqual(['0', '1', '2']);
    expect(samples.length / 24000).toBeGreaterThan(4);
    expect(samples.every(Number.isFinite)).toBe(true);
    expect(peak(samples)).toBeGreaterThan(0.1);
    expect(peak(samples)).toBeLessThan(0.9);
    expect(rms(samples)).toBeGreaterThan(0.02);
    let at = 0;
    for (const chunk of chunks) {
      const jump = at === 0 ? 0 : Math.abs(samples[at]! - samples[at - 1]!);
      expect(jump).toBeLessThan(1e-3);
      at += chunk.samples.length;
    }
    expect(findSilences(samples, { sampleRate: 24000, thresholdDb: -45 }).length).toBeGreaterThanOrEqual(2);
    expect(progress.at(-1)).toBe(1);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(ctx.applied).toMatchObject({ voice: 'mini', seed: 1, speed: 1, pitch: 1 });
    expect(ctx.warnings).toEqual([]);
  });

  test('chunks own their memory, so that they can be handed to another thread', async () => {
    const { chunks } = await (await rig()).speak({ text: '01' });
    for (const { samples } of chunks) expect(samples.buffer.byteLength).toBe(samples.byteLength);
  });

  test('the same seed gives the same bytes, another seed other noise only', async () => {
    const made = await rig();
    const first = await made.speak({ text: '01', seed: 7 });
    const again = await made.speak({ text: '01', seed: 7 });
    const other = await made.speak({ text: '01', seed: 8 });
    expect(equal(first.samples, again.samples)).toBe(true);
    expect(equal(first.samples, other.samples)).toBe(false);
    expect(other.samples.length).toBe(first.samples.length);
    expect(Math.abs(rms(other.samples) / rms(first.samples) - 1)).toBeLessThan(0.02);
  });

  test('a sentence sounds the same at any speed of asking: its noise depends on seed and place alone', async () => {
    const made = await rig();
    const [alone, both] = [await made.speak({ text: '0' }), await made.speak({ text: '01' })];
    expect(equal(both.chunks[0]!.samples, alone.samples)).toBe(true);
    const [one, two] = await Promise.all([made.speak({ text: '0' }), made.speak({ text: '01' })]);
    expect(equal(one.samples, alone.samples)).toBe(true);
    expect(equal(two.samples, both.samples)).toBe(true);
  });

  test('speed changes length, pitch does not', async () => {
    const made = await rig();
    const plain = (await made.speak({ text: '0' })).samples;
    const fast = (await made.speak({ text: '0', speed: 1.5 })).samples;
    const slow = (await made.speak({ text: '0', speed: 0.7 })).samples;
    const high = (await made.speak({ text: '0', pitch: 1.25 })).samples;
    expect(fast.length / plain.length).toBeCloseTo(1 / 1.5, 1);
    expect(slow.length / plain.length).toBeCloseTo(1 / 0.7, 1);
    expect(high.length).toBe(plain.length);
    expect(fundamental(high) / fundamental(plain)).toBeCloseTo(1.25, 1);
  });

  test('a question rises at its end and nowhere else', async () => {
    const made = await rig();
    const statement = (await made.speak({ text: '2' })).samples;
    const question = (await made.speak({ text: '2?' })).samples;
    expect(question.length).toBe(statement.length);
    const end = lastSound(statement);
    const ratio = (from: number, to: number) =>
      fundamental(question.subarray(end - from, end - to)) /
      fundamental(statement.subarray(end - from, end - to));
    expect(ratio(3000, 500)).toBeGreaterThan(1.1);
    const early = end - Math.round(0.45 * 24000);
    expect(farthest(question.subarray(0, early), statement.subarray(0, early))).toBeLessThan(1e-6);
  });

  test('extreme values are spoken with a warning and without clipping, absurd ones are refused', async () => {
    const made = await rig();
    const low = await made.speak({ text: '0', pitch: 0.5, speed: 3.9 });
    expect(low.ctx.warnings).toHaveLength(2);
    expect(peak(low.samples)).toBeLessThanOrEqual(1);
    await expect(made.speak({ text: '0', speed: 9 })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('text without anything to say is an error, not silence', async () => {
    await expect((await rig()).speak({ text: '...' })).rejects.toMatchObject({ code: 'text_not_speakable' });
  });

  test('a cancel ends the request at once, and the next one works', async () => {
    const made = await rig();
    let chunks = 0;
    const cancelled = made.speak(
      { text: '0'.repeat(50) },
      {
        onChunk: (_, abort) => {
          chunks++;
          if (chunks === 2) abort.abort();
        },
      },
    );
    await expect(cancelled).rejects.toSatisfy((error: { code: string }) =>
      ['cancelled', 'Cancelled'].includes(error.code),
    );
    expect(chunks).toBe(2);
    expect((await made.speak({ text: '0' })).samples.length).toBeGreaterThan(20_000);
  });
});

describe('long texts', () => {
  test('are read as they are spoken: at most two sentences ahead, whatever the length', async () => {
    let read = 0;
    const endless: TextReader = (text) => {
      const { utterances, warnings } = readText(text);
      return {
        warnings,
        *utterances() {
          for (;;) {
            read++;
            yield* utterances();
          }
        },
      };
    };
    const made = await rig({}, { readText: endless });
    const ahead: number[] = [];
    const spoken = made.speak(
      { text: '0' },
      {
        onChunk: (_, abort) => {
          ahead.push(read - ahead.length);
          if (ahead.length === 6) abort.abort();
        },
      },
    );
    await expect(spoken).rejects.toBeDefined();
    expect(ahead).toHaveLength(6);
    expect(Math.max(...ahead)).toBeLessThanOrEqual(3);
  });
});

describe('out of memory', () => {
  test.each([1, 3, 6])(
    'allocation %i fails once: the same samples, and the output says so',
    async (failAllocation) => {
      const settings: Partial<Settings> = { 'compute.device': 'auto', 'compute.simulate_vram_mb': 64 };
      const made = await rig(settings);
      const plain = await made.speak({ text: '0' });
      const hurt = await rig(settings);
      const { device } = await hurt.runtime.deviceFor(hurt.settings);
      device.setFaults({ failAllocation });
      const spoken = await hurt.speak({ text: '0' });
      expect(equal(spoken.samples, plain.samples)).toBe(true);
      const retries = Number(spoken.ctx.applied.oom_retries ?? 0);
      expect(retries > 0).toBe(spoken.ctx.warnings.length > 0);
    },
  );
});

describe('long utterances', () => {
  test('come in several chunks that are one sound: no seam where windows meet', async () => {
    const made = await rig({}, { readText: longReader(12), dtype: 'f32' });
    const { chunks, samples } = await made.speak({ text: 'all' });
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.map(({ text }) => text)).toEqual(['all', ...chunks.slice(1).map(() => '')]);
    let at = 0;
    for (const chunk of chunks.slice(0, -1)) {
      at += chunk.samples.length;
      // As smooth at a border as anywhere near it.
      const steps = Array.from({ length: 401 }, (_, i) =>
        Math.abs(samples[at - 200 + i]! - samples[at - 201 + i]!),
      );
      expect(steps[200]!).toBeLessThanOrEqual(Math.max(...steps.slice(0, 195), ...steps.slice(206)) + 1e-3);
    }
  });
});

describe('streaming changes nothing', () => {
  const text = '01';
  test.each<[string, Partial<Settings>]>([
    ['every unit streams', { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' }],
    ['room for half', { 'compute.simulate_vram_mb': 9 }],
    ['room for everything', { 'compute.simulate_vram_mb': 64 }],
    ['low', { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'low' }],
    [
      'no prefetch',
      { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none', 'compute.async_offload': 0 },
    ],
  ])('%s', async (_, settings) => {
    const plain = await (await rig()).speak({ text });
    const streamed = await (
      await rig({ 'compute.device': 'auto', 'compute.vram_reserve_mb': 1, ...settings })
    ).speak({ text });
    expect(equal(streamed.samples, plain.samples)).toBe(true);
    const { streamed_mb } = streamed.ctx.report();
    if (settings['compute.vram_mode'] === 'none') expect(streamed_mb).toBeGreaterThan(5);
  });
});

/** Frequency in Hz of the strongest self-similarity between 80 and 500 Hz. */
function fundamental(samples: Float32Array): number {
  let best = 0;
  let bestLag = 1;
  for (let lag = 48; lag <= 300; lag++) {
    let product = 0;
    let energy = 1e-9;
    for (let i = lag; i < samples.length; i++) {
      product += samples[i]! * samples[i - lag]!;
      energy += samples[i]! * samples[i]! + samples[i - lag]! * samples[i - lag]!;
    }
    const likeness = (2 * product) / energy;
    if (likeness > best) [best, bestLag] = [likeness, lag];
  }
  return 24000 / bestLag;
}

/** Index behind the last window of 10 ms louder than -40 dB. */
function lastSound(samples: Float32Array): number {
  const silences = findSilences(samples, { sampleRate: 24000, thresholdDb: -40, minSeconds: 0.05 });
  const [start, end] = silences.at(-1) ?? [samples.length, samples.length];
  return end === samples.length ? start : samples.length;
}
