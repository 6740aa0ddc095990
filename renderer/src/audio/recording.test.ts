import { describe, expect, it } from 'vitest';
import { AudioLibrary } from './library.ts';
import { PcmStore } from './pcm-store.ts';
import { Recording } from './recording.ts';
import { readWav } from './wav.ts';

const chunk = (start: number, samples: Float32Array<ArrayBuffer>, index = 0) => ({
  job_id: 'job',
  index,
  sample_rate: 24000,
  start,
  samples,
  text: `chunk ${index}`,
});
const ramp = (from: number, count: number) =>
  Float32Array.from({ length: count }, (_, i) => (((from + i) % 20000) - 10000) / 32768);

/** Element by element: vitest's own comparison takes seconds for arrays of this length. */
const same = (a: Float32Array, b: Float32Array): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);

/** A WAV file as the host writes it. */
function wav(
  samples: Float32Array,
  options: { rate?: number; channels?: number; bits?: number; junk?: boolean } = {},
) {
  const { rate = 24000, channels = 1, bits = 16, junk = false } = options;
  const extra = junk ? 10 : 0;
  const bytes = new Uint8Array(44 + extra + samples.length * 2);
  const view = new DataView(bytes.buffer);
  const tag = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  tag(0, 'RIFF');
  view.setUint32(4, bytes.length - 8, true);
  tag(8, 'WAVE');
  tag(12, 'fmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, rate, true);
  view.setUint16(34, bits, true);
  if (junk) {
    tag(36, 'LIST');
    // An odd length: the next block stands on the next even byte.
    view.setUint32(40, 1, true);
  }
  tag(36 + extra, 'data');
  view.setUint32(40 + extra, samples.length * 2, true);
  for (const [i, sample] of samples.entries())
    view.setInt16(44 + extra + 2 * i, Math.round(sample * 32768), true);
  return bytes;
}

describe('samples of any length', () => {
  it('come back as a 16-bit file holds them, across blocks', async () => {
    const store = new PcmStore();
    const total = 2 ** 18 * 2 + 5000;
    for (let at = 0; at < total; at += 60_000) store.append(ramp(at, Math.min(60_000, total - at)));
    expect(store.frames).toBe(total);
    for (const [start, count] of [
      [0, 1000],
      [2 ** 18 - 500, 1000],
      [2 ** 19 - 10, 5010],
      [123_456, 300_000],
    ] as const) {
      expect(same(await store.read(start, count), ramp(start, count))).toBe(true);
    }
    expect(await store.read(total - 3, 100)).toHaveLength(3);
    expect(await store.read(total + 5, 100)).toHaveLength(0);
  });

  it('stay within 16 bits, whatever comes', async () => {
    const store = new PcmStore();
    store.append(Float32Array.of(2, -2, Number.NaN, 1, -1, Number.NEGATIVE_INFINITY));
    expect([...(await store.read(0, 6))]).toEqual([32767 / 32768, -1, 0, 32767 / 32768, -1, -1]);
  });
});

describe('a recording', () => {
  it('takes chunks in order and leaves repeated ones out', async () => {
    const recording = new Recording(24000);
    recording.add(chunk(0, ramp(0, 100), 0));
    recording.add(chunk(100, ramp(100, 50), 1));
    recording.add(chunk(100, ramp(100, 50), 1));
    expect(recording.frames).toBe(150);
    expect(recording.chunks).toBe(2);
    expect(recording.marks.map((mark) => mark.start)).toEqual([0, 100]);
    expect(await recording.read(0, 150)).toEqual(ramp(0, 150));
    expect(recording.gap).toBe(false);
  });

  it('takes nothing more after a missing chunk', () => {
    const recording = new Recording(24000);
    recording.add(chunk(0, ramp(0, 100)));
    recording.add(chunk(200, ramp(200, 100), 2));
    recording.add(chunk(100, ramp(100, 100), 1));
    expect(recording.gap).toBe(true);
    expect(recording.frames).toBe(100);
  });

  it('is the same when read back from a file', async () => {
    const samples = ramp(0, 70_000);
    const recording = Recording.fromWav(wav(samples, { junk: true }), [{ start: 0, text: 'all' }]);
    expect(recording.isComplete).toBe(true);
    expect(recording.sampleRate).toBe(24000);
    expect(same(await recording.read(0, 70_000), samples)).toBe(true);
  });

  it('refuses what is not a mono 16-bit WAV file', () => {
    expect(() => readWav(new Uint8Array(10))).toThrow('Not a WAV file');
    expect(() => readWav(wav(ramp(0, 4), { channels: 2 }))).toThrow('2 channels');
    expect(() => readWav(wav(ramp(0, 4), { bits: 24 }))).toThrow('24 bits');
    expect(() => readWav(wav(ramp(0, 4)).slice(0, 36))).toThrow('without data');
    // A file cut short gives what it has.
    expect(readWav(wav(ramp(0, 400)).slice(0, 244)).frames).toBe(100);
  });
});

describe('the library', () => {
  const complete = (frames: number) => {
    const recording = new Recording(24000);
    recording.add(chunk(0, new Float32Array(frames)));
    recording.complete();
    return recording;
  };

  it('lets the longest unused go first, never the newest nor one that grows', () => {
    const library = new AudioLibrary(10_000);
    const growing = new Recording(24000);
    growing.add(chunk(0, new Float32Array(2000)));
    library.set('growing', growing);
    library.set('old', complete(1500));
    library.set('used', complete(1500));
    library.get('old');
    library.set('new', complete(1500));
    library.trim();
    expect(['growing', 'old', 'used', 'new'].filter((id) => library.peek(id) !== undefined)).toEqual([
      'growing',
      'old',
      'new',
    ]);
    library.set('huge', complete(50_000));
    library.trim();
    expect(library.peek('huge')).toBeDefined();
    expect(library.peek('growing')).toBeDefined();
    expect(library.peek('old')).toBeUndefined();
  });
});
