import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeWav } from '../audio/wav.ts';
import { referenceWav } from '../host/testing/reference-wav.ts';
import { Random } from '../nn/random.ts';
import { readReferenceAudio, referenceHash } from './reference-audio.ts';

const rate = 24_000;
const limits = { minimum: 1, maximum: 30 };
const wav = (channels: Float32Array[], options: Partial<Parameters<typeof encodeWav>[1]> = {}) =>
  encodeWav(channels, { sampleRate: rate, ...options }).bytes;
const tone = (seconds: number, level = 0.3, hertz = 140, sampleRate = rate) =>
  Float32Array.from(
    { length: Math.round(seconds * sampleRate) },
    (_, n) => level * Math.sin((2 * Math.PI * hertz * n) / sampleRate),
  );
/** Loud and soft by turns, three times a second, as syllables are. */
const hum = (seconds: number, level = 0.3, hertz = 140, sampleRate = rate) =>
  tone(seconds, level, hertz, sampleRate).map(
    (sample, n) => sample * (0.6 - 0.4 * Math.cos((6 * Math.PI * n) / sampleRate)),
  );
const noise = (seconds: number) => {
  const random = new Random(1);
  return Float32Array.from({ length: Math.round(seconds * rate) }, () => 0.2 * random.normal());
};
const codes = (warnings: { code: string }[]) => warnings.map(({ code }) => code);

describe('a usable recording', () => {
  it.each([
    [8000, 1, 'pcm16', ['reference_rate']],
    [11_025, 2, 'pcm24', ['reference_rate']],
    [16_000, 1, 'float32', []],
    [44_100, 2, 'pcm16', []],
    [48_000, 6, 'pcm32', []],
    [192_000, 2, 'float32', []],
  ] as const)('of %i Hz, %i channels, %s', async (sampleRate, channels, encoding, warnings) => {
    const samples = hum(2, 0.3, 140, sampleRate);
    const bytes = wav(
      Array.from({ length: channels }, () => samples),
      { sampleRate, encoding },
    );
    const read = await readReferenceAudio(bytes, limits);
    expect(read.sampleRate).toBe(sampleRate);
    expect(read.samples.length).toBe(samples.length);
    expect(read.seconds).toBeCloseTo(2, 6);
    expect(codes(read.warnings)).toEqual(warnings);
    for (let n = 0; n < samples.length; n += 997) expect(read.samples[n]).toBeCloseTo(samples[n]!, 3);
  });

  it('at a whisper is kept with a warning, so is one that mostly pauses', async () => {
    expect(codes((await readReferenceAudio(wav([hum(2, 0.01)]), limits)).warnings)).toEqual([
      'reference_quiet',
    ]);
    const pauses = new Float32Array(10 * rate);
    pauses.set(hum(2));
    const read = await readReferenceAudio(wav([pauses]), limits);
    expect(read.warnings).toMatchObject([{ code: 'reference_pauses', params: { seconds: 2 } }]);
    expect(read.samples.length).toBe(pauses.length);
  });

  it('of channels that cancel each other is read from one of them', async () => {
    const left = hum(2);
    const read = await readReferenceAudio(wav([left, left.map((sample) => -sample)]), limits);
    expect(codes(read.warnings)).toEqual(['reference_channels']);
    expect(read.samples[50]).toBeCloseTo(left[50]!, 3);
    // One silent channel cancels nothing.
    const half = await readReferenceAudio(wav([left, new Float32Array(left.length)]), limits);
    expect(half.warnings).toEqual([]);
    expect(half.samples[50]).toBeCloseTo(left[50]! / 2, 3);
  });

  it('beyond full scale is brought back to it', async () => {
    const read = await readReferenceAudio(wav([hum(2, 3)], { encoding: 'float32' }), limits);
    expect(Math.max(...read.samples)).toBeCloseTo(1, 5);
    expect(codes(read.warnings)).toContain('reference_level');
  });

  it('with numbers that are none, or without an end, says that it was repaired', async () => {
    const samples = hum(2);
    samples[100] = Number.NaN;
    const bytes = encodeWav([hum(2)], { sampleRate: rate, encoding: 'float32' }).bytes.slice();
    new DataView(bytes.buffer).setFloat32(bytes.length - 400, Number.NaN, true);
    expect(codes((await readReferenceAudio(bytes, limits)).warnings)).toEqual(['reference_repaired']);
  });

  it('a peak that touches full scale is no clipping', async () => {
    const samples = hum(3, 0.5, 200);
    for (let n = 0; n < samples.length; n += 1000) samples[n] = 1;
    expect((await readReferenceAudio(wav([samples]), limits)).warnings).toEqual([]);
  });
});

describe('a recording that cannot be used', () => {
  it.each<[string, Uint8Array, object, RegExp]>([
    ['too short', wav([hum(0.6)]), { seconds: 0.6, minimum: 1 }, /lasts 0.6 s; at least 1 s/],
    ['short by a sample', wav([hum(1).subarray(1)]), { seconds: 0.99 }, /lasts 0.99 s; at least 1 s/],
    ['empty', wav([new Float32Array(0)]), { seconds: 0, minimum: 1 }, /lasts 0 s/],
    ['too long', wav([hum(31)]), { seconds: 31, maximum: 30 }, /lasts 31 s; at most 30 s/],
    ['silent', wav([new Float32Array(2 * rate)]), { level_db: -120 }, /Nothing can be heard/],
    ['nearly silent', wav([hum(2, 0.002)]), { level_db: -54 }, /at -54 dBFS/],
    ['a tone', wav([tone(2)]), {}, /no speech: its level changes by 0(\.\d)? dB only/],
    ['noise', wav([noise(2)]), {}, /no speech: its level changes by 0(\.\d)? dB only/],
    ['a constant', wav([new Float32Array(2 * rate).fill(0.3)]), { variation_db: 0 }, /no speech/],
    ['a click', wav([clicks(2)]), { minimum: 0.4 }, /Only 0\.\d+ s .* hold sound/],
    [
      'clipped',
      wav([hum(2, 4).map((sample) => Math.max(-1, Math.min(1, sample)))]),
      {},
      /clipped: \d+(\.\d)?%/,
    ],
  ])('because it is %s', async (_, bytes, params, message) => {
    await expect(readReferenceAudio(bytes, limits)).rejects.toMatchObject({
      code: 'reference_unusable',
      message: expect.stringMatching(message),
      params,
    });
  });

  it('because a part of it is clipped is a warning', async () => {
    const samples = hum(3, 0.4);
    samples.fill(1, 100, 400);
    expect((await readReferenceAudio(wav([samples]), limits)).warnings).toMatchObject([
      { code: 'reference_clipped', params: { share: 0.4 } },
    ]);
  });

  it.each<[string, Uint8Array | string, RegExp]>([
    ['nothing', '', /is empty/],
    ['an MP3', `ID3\x04${'\0'.repeat(100)}`, /MP3/],
    ['a page', '<!doctype html><html></html>', /web page/],
    ['a pointer', 'version https://git-lfs.github.com/spec/v1\n', /Git LFS pointer/],
    ['half a header', referenceWav(2).subarray(0, 30), /bytes/],
  ])('because it is %s', async (_, content, message) => {
    const bytes = typeof content === 'string' ? new Uint8Array(Buffer.from(content, 'latin1')) : content;
    await expect(readReferenceAudio(bytes, limits)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringMatching(message),
    });
  });

  it('hours of audio in the header alone are refused before anything is decoded', async () => {
    const header = wav([hum(1)]).slice(0, 44);
    const sparse = new Uint8Array(40 * 1024 * 1024);
    sparse.set(header);
    new DataView(sparse.buffer).setUint32(40, sparse.length - 44, true);
    const begin = performance.now();
    await expect(readReferenceAudio(sparse, limits)).rejects.toMatchObject({ code: 'reference_unusable' });
    expect(performance.now() - begin).toBeLessThan(1000);
  });
});

it('of any bytes: audio within its limits, or an error of the contract', async () => {
  const base = referenceWav(1.2, { sampleRate: 8000 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { maxLength: 12 }),
      fc.nat(base.length),
      async (changes, length) => {
        const bytes = base.slice(0, Math.max(length, 40));
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        try {
          const { samples, seconds } = await readReferenceAudio(bytes, limits);
          expect(seconds).toBeGreaterThanOrEqual(1);
          expect(samples.every((sample) => Math.abs(sample) <= 1)).toBe(true);
        } catch (error) {
          expect(['file_unreadable', 'reference_unusable']).toContain((error as { code?: string }).code);
        }
      },
    ),
    { numRuns: 150 },
  );
});

it('its hash depends on samples, rate and words, and on nothing else', async () => {
  const samples = hum(1);
  const hash = (change: object = {}, text: string | null = null) =>
    referenceHash({ samples, sampleRate: rate, ...change }, text);
  const first = await hash();
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  expect(await hash({ samples: samples.slice() })).toBe(first);
  const others = [
    await hash({ sampleRate: 16_000 }),
    await hash({}, ''),
    await hash({}, 'none'),
    await hash({ samples: samples.subarray(1) }),
  ];
  expect(new Set([first, ...others]).size).toBe(5);
});

it('a long recording leaves turns for other work', async () => {
  const bytes = wav([hum(60, 0.3, 140, 48_000), hum(60, 0.2, 90, 48_000)], { sampleRate: 48_000 });
  let turns = 0;
  let busy = true;
  const count = () => {
    turns++;
    if (busy) setImmediate(count);
  };
  setImmediate(count);
  await referenceHash(await readReferenceAudio(bytes, { minimum: 1, maximum: 60 }), null);
  busy = false;
  // One for each block of a third of a second.
  expect(turns).toBeGreaterThan(170);
});

/** Ten clicks of one sample. */
function clicks(seconds: number): Float32Array {
  const samples = new Float32Array(seconds * rate);
  for (let n = 0; n < 10; n++) samples[n * 4000 + 7] = 0.8;
  return samples;
}
