import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { StudioError } from '../contract/errors.ts';
import { encodeWav, readWav, readWavFile, WavFileWriter, type WavWriteEncoding, wavHeader } from './wav.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'mizuoto-wav-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ascii = (text: string) => [...text].map((char) => char.charCodeAt(0));
const u16 = (value: number) => [value & 255, (value >> 8) & 255];
const u32 = (value: number) => [value & 255, (value >>> 8) & 255, (value >>> 16) & 255, (value >>> 24) & 255];
const u64 = (value: number) => [...u32(value % 2 ** 32), ...u32(Math.floor(value / 2 ** 32))];
const chunk = (id: string, body: number[], size = body.length) => [...ascii(id), ...u32(size), ...body];
const fmt = (
  tag: number,
  channels: number,
  rate: number,
  bits: number,
  extra: number[] = [],
  align?: number,
) =>
  chunk('fmt ', [
    ...u16(tag),
    ...u16(channels),
    ...u32(rate),
    ...u32((rate * channels * bits) / 8),
    ...u16(align ?? (channels * bits) / 8),
    ...u16(bits),
    ...extra,
  ]);
const riff = (...chunks: number[][]) => {
  const body = chunks.flat();
  return new Uint8Array([...ascii('RIFF'), ...u32(4 + body.length), ...ascii('WAVE'), ...body]);
};
const pcm16 = fmt(1, 1, 24000, 16);
const three = [0, 0x40, 0, 0xc0, 0xff, 0x7f];
const threeValues = [0.5, -0.5, 32767 / 32768];

describe('reading', () => {
  test('8-bit is unsigned, 16, 24 and 32 bits are signed', async () => {
    const cases: [number, number[], number[]][] = [
      [8, [0, 128, 192], [-1, 0, 0.5]],
      [16, [0, 0x80, 0, 0, 0, 0x40], [-1, 0, 0.5]],
      [24, [0, 0, 0x80, 0, 0, 0, 0, 0, 0x40, 1, 0, 0], [-1, 0, 0.5, 2 ** -23]],
      [32, [0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x40], [-1, 0, 0.5]],
    ];
    for (const [bits, data, values] of cases) {
      const audio = await readWav(riff(fmt(1, 1, 8000, bits), chunk('data', data)));
      expect([...audio.samples[0]!]).toEqual(values);
      expect(audio).toMatchObject({ encoding: `pcm${bits}`, sampleRate: 8000, warnings: [] });
    }
  });

  test('32- and 64-bit float, beyond full scale too; what is not a number becomes silence', async () => {
    const f32 = new Uint8Array(new Float32Array([1.5, Number.NaN, -0.25, Number.POSITIVE_INFINITY]).buffer);
    const audio = await readWav(riff(fmt(3, 1, 44100, 32), chunk('data', [...f32])));
    expect([...audio.samples[0]!]).toEqual([1.5, 0, -0.25, 0]);
    expect(audio.warnings).toEqual(['2 samples were not numbers (NaN or infinite) and became silence.']);
    const f64 = new Uint8Array(new Float64Array([0.1, -2]).buffer);
    const long = await readWav(riff(fmt(3, 1, 44100, 64), chunk('data', [...f64])));
    expect([...long.samples[0]!]).toEqual([Math.fround(0.1), -2]);
  });

  test('channels are taken apart', async () => {
    const audio = await readWav(riff(fmt(1, 2, 8000, 16), chunk('data', [...three, 0, 0])));
    expect(audio.samples.map((channel) => [...channel])).toEqual([
      [0.5, 32767 / 32768],
      [-0.5, 0],
    ]);
  });

  test('WAVE_FORMAT_EXTENSIBLE, with 20 bits in a container of 24', async () => {
    const guid = [...u16(1), 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];
    const extra = [...u16(22), ...u16(20), ...u32(4), ...guid];
    const audio = await readWav(riff(fmt(0xfffe, 1, 48000, 24, extra), chunk('data', [0, 0, 0x40])));
    expect(audio).toMatchObject({ encoding: 'pcm24', frames: 1 });
    expect([...audio.samples[0]!]).toEqual([0.5]);
  });

  test('other chunks around the audio, odd ones with and without padding', async () => {
    const padded = [...chunk('LIST', [1, 2, 3]), 0];
    const bare = chunk('junk', [1, 2, 3, 4, 5]);
    for (const odd of [padded, bare]) {
      const audio = await readWav(riff(odd, pcm16, odd, chunk('data', three), chunk('id3 ', [9, 9])));
      expect([...audio.samples[0]!]).toEqual(threeValues);
      expect(audio.warnings).toEqual([]);
    }
  });

  test('audio before its format', async () => {
    const audio = await readWav(riff(chunk('data', three), pcm16));
    expect([...audio.samples[0]!]).toEqual(threeValues);
  });

  test.each([
    ['announces more than is there', chunk('data', three, 1000), 'announces 1000 bytes of audio, but only 6'],
    ['length left open by a stream', chunk('data', three, 0xffffffff), 'does not say how long'],
    ['length never completed', chunk('data', three, 0), 'never completed'],
  ])('%s: what is there is read', async (_, data, warning) => {
    const audio = await readWav(riff(pcm16, data));
    expect([...audio.samples[0]!]).toEqual(threeValues);
    expect(audio.warnings.join()).toContain(warning);
  });

  test('an honest length of 0 before another chunk is silence, not audio', async () => {
    const audio = await readWav(riff(pcm16, chunk('data', []), chunk('LIST', [1, 2, 3, 4])));
    expect(audio).toMatchObject({ frames: 0, seconds: 0, warnings: [] });
  });

  test('a part of a sample at the end is left out', async () => {
    const audio = await readWav(riff(pcm16, chunk('data', [...three, 1])));
    expect(audio.frames).toBe(3);
    expect(audio.warnings.join()).toContain('last 1 bytes');
  });

  test('RF64 takes the length from ds64', async () => {
    const body = [...chunk('ds64', [...u64(80), ...u64(6), ...u64(3), ...u32(0)]), ...pcm16];
    const rest = [...chunk('data', three, 0xffffffff), ...chunk('LIST', [1, 2])];
    const bytes = new Uint8Array([...ascii('RF64'), ...u32(0xffffffff), ...ascii('WAVE'), ...body, ...rest]);
    const audio = await readWav(bytes);
    expect([...audio.samples[0]!]).toEqual(threeValues);
    expect(audio.warnings).toEqual([]);
  });

  test.each<[string, Uint8Array | number[], string]>([
    ['nothing', [], 'it is empty'],
    ['four bytes', [1, 2, 3, 4], 'only 4 bytes'],
    ['an MP3 with a tag', ascii(`ID3${'x'.repeat(60)}`), 'MP3'],
    ['a bare MP3 frame', [0xff, 0xfb, 0x90, 0x44, ...new Array<number>(60).fill(0)], 'MP3'],
    ['Ogg', ascii(`OggS${'x'.repeat(60)}`), 'Ogg'],
    ['M4A', ascii(`\0\0\0 ftypM4A ${'x'.repeat(60)}`), 'M4A'],
    ['a web page', ascii(`<!DOCTYPE html><html>${'x'.repeat(60)}`), 'web page'],
    [
      'an LFS pointer',
      ascii(`version https://git-lfs.github.com/spec/v1\noid sha256:1${'x'.repeat(60)}`),
      'Git LFS',
    ],
    [
      'AVI',
      [...ascii('RIFF'), ...u32(100), ...ascii('AVI '), ...new Array<number>(60).fill(0)],
      'no WAVE audio',
    ],
    ['no format', riff(chunk('data', three)), '"fmt " chunk'],
    ['no data', riff(pcm16), 'no "data" chunk'],
    [
      'a short format',
      riff(chunk('fmt ', [1, 0, 1, 0]), chunk('data', three)),
      '4 bytes instead of at least 16',
    ],
    ['no channels', riff(fmt(1, 0, 8000, 16), chunk('data', three)), '0 channels'],
    ['absurd channels', riff(fmt(1, 65535, 8000, 16, [], 2), chunk('data', three)), '65535 channels'],
    ['rate 0', riff(fmt(1, 1, 0, 16), chunk('data', three)), '0 Hz'],
    ['0 bits', riff(fmt(1, 1, 8000, 0), chunk('data', three)), '0-bit PCM'],
    ['16-bit float', riff(fmt(3, 1, 8000, 16), chunk('data', three)), '16-bit float'],
    ['ADPCM', riff(fmt(17, 1, 8000, 4), chunk('data', three)), 'IMA ADPCM'],
    ['an unknown codec', riff(fmt(4321, 1, 8000, 16), chunk('data', three)), 'format 4321'],
  ])('%s is refused with its reason', async (_, bytes, reason) => {
    const attempt = readWav(new Uint8Array(bytes), 'song.wav');
    await expect(attempt).rejects.toMatchObject({ code: 'file_unreadable' });
    await expect(attempt).rejects.toThrow(reason);
    await expect(attempt).rejects.toThrow('"song.wav"');
  });

  test('damaged files give audio or a StudioError, nothing else', async () => {
    const whole = riff(chunk('LIST', [1, 2, 3]), pcm16, chunk('data', three), chunk('junk', [1]));
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(whole.length), async (changes, length) => {
        const bytes = whole.slice();
        for (const [at, value] of changes) bytes[at] = value;
        try {
          const audio = await readWav(bytes.subarray(0, length));
          expect(audio.samples.every((channel) => channel.every(Number.isFinite))).toBe(true);
          expect(audio.samples[0]!.length).toBe(audio.frames);
        } catch (error) {
          expect(error).toBeInstanceOf(StudioError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('files: missing, a folder, only the beginning', async () => {
    await expect(readWavFile(path.join(folder, 'none.wav'))).rejects.toMatchObject({
      code: 'file_not_found',
    });
    await expect(readWavFile(folder)).rejects.toMatchObject({ code: 'file_unreadable' });
    writeFileSync(path.join(folder, 'three.wav'), riff(pcm16, chunk('data', three)));
    const audio = await readWavFile(path.join(folder, 'three.wav'), 2);
    expect([...audio.samples[0]!]).toEqual([0.5, -0.5]);
    expect(audio.frames).toBe(2);
  });
});

const encodings: WavWriteEncoding[] = ['pcm16', 'pcm24', 'pcm32', 'float32'];
const steps = { pcm16: 2 ** -15, pcm24: 2 ** -23, pcm32: 2 ** -31, float32: 0 };

describe('writing', () => {
  test.each(encodings)('%s: what is read back is nearest to what was written', async (encoding) => {
    const left = Float32Array.from({ length: 1001 }, (_, i) => Math.sin(i) * 0.99);
    const right = left.map((value) => -value / 3);
    const { bytes, report } = encodeWav([left, right], { sampleRate: 44100, encoding });
    expect(report).toEqual({ frames: 1001, bytes: bytes.length, clipped: 0, notFinite: 0 });
    const audio = await readWav(bytes);
    expect(audio).toMatchObject({ sampleRate: 44100, channels: 2, encoding, warnings: [] });
    for (let i = 0; i < 1001; i++) {
      expect(Math.abs(audio.samples[0]![i]! - left[i]!)).toBeLessThanOrEqual(steps[encoding] / 2 + 2 ** -25);
    }
    const again = encodeWav(audio.samples, { sampleRate: 44100, encoding });
    expect(Buffer.from(again.bytes).equals(Buffer.from(bytes))).toBe(true);
  });

  test('rounds to the nearest step, ties to even, and counts what it cuts', async () => {
    const step = 2 ** -15;
    const values = Float32Array.from([
      0.5 * step,
      1.5 * step,
      -0.5 * step,
      2.4 * step,
      1,
      -1,
      1.01,
      -3,
      Number.NaN,
    ]);
    const { bytes, report } = encodeWav([values], { sampleRate: 24000 });
    const written = new Int16Array(bytes.slice(44).buffer);
    expect([...written]).toEqual([0, 2, 0, 2, 32767, -32768, 32767, -32768, 0]);
    expect(report).toMatchObject({ clipped: 2, notFinite: 1 });
  });

  test('dither is triangular noise of two steps, the same each time', () => {
    const quiet = new Float32Array(20000).fill(0.3 * 2 ** -15);
    const first = encodeWav([quiet], { sampleRate: 24000, dither: true }).bytes;
    const written = [...new Int16Array(first.slice(44).buffer)];
    expect(encodeWav([quiet], { sampleRate: 24000, dither: true }).bytes).toEqual(first);
    const mean = written.reduce((sum, value) => sum + value, 0) / written.length;
    expect(mean).toBeCloseTo(0.3, 1);
    expect(new Set(written)).toEqual(new Set([-1, 0, 1]));
  });

  test('plain headers are 44 bytes; the field sizes are those of the format', () => {
    const header = wavHeader(2, 10, { sampleRate: 48000 });
    expect([...header]).toEqual([
      ...ascii('RIFF'),
      ...u32(76),
      ...ascii('WAVE'),
      ...fmt(1, 2, 48000, 16),
      ...ascii('data'),
      ...u32(40),
    ]);
    expect(wavHeader(1, 10, { sampleRate: 48000, encoding: 'float32' })).toHaveLength(58);
    expect(() => wavHeader(0, 10, { sampleRate: 48000 })).toThrow(StudioError);
    expect(() => wavHeader(1, 10, { sampleRate: 0.5 })).toThrow(StudioError);
  });

  test('an odd number of bytes is padded', async () => {
    const { bytes } = encodeWav([new Float32Array(3)], { sampleRate: 8000, encoding: 'pcm24' });
    expect(bytes.length).toBe(44 + 10);
    expect((await readWav(bytes)).frames).toBe(3);
  });

  test('a header of open length is read up to the end', async () => {
    const header = wavHeader(1, null, { sampleRate: 24000 });
    const audio = await readWav(new Uint8Array([...header, ...three]));
    expect([...audio.samples[0]!]).toEqual(threeValues);
  });

  test('streams to disk in pieces, byte for byte as in one piece', async () => {
    const all = Float32Array.from({ length: 5000 }, (_, i) => Math.sin(i / 7) * 1.2);
    for (const encoding of encodings) {
      const target = path.join(folder, `${encoding}.wav`);
      const writer = await WavFileWriter.create(target, 1, { sampleRate: 24000, encoding });
      for (let i = 0; i < 5000; i += 777) await writer.append([all.subarray(i, i + 777)]);
      expect(readdirSync(folder)).not.toContain(`${encoding}.wav`);
      const report = await writer.finish();
      const whole = encodeWav([all], { sampleRate: 24000, encoding });
      expect(readFileSync(target).equals(Buffer.from(whole.bytes))).toBe(true);
      expect(report).toEqual(whole.report);
      await writer.abort();
      expect(readdirSync(folder)).toContain(`${encoding}.wav`);
    }
  });

  test('becomes RF64 above the limit, and the reader agrees', async () => {
    const all = Float32Array.from({ length: 30_000 }, (_, i) => (i % 256) / 256);
    const target = path.join(folder, 'long.wav');
    const writer = await WavFileWriter.create(target, 1, { sampleRate: 24000, riffLimit: 50_000 });
    await writer.append([all]);
    await writer.finish();
    const bytes = readFileSync(target);
    expect(bytes.subarray(0, 4).toString()).toBe('RF64');
    const audio = await readWavFile(target);
    expect(audio).toMatchObject({ frames: 30_000, warnings: [] });
    expect(Math.max(...audio.samples[0]!.map((value, i) => Math.abs(value - all[i]!)))).toBe(0);
    const header = wavHeader(1, 3e9, { sampleRate: 24000 });
    expect(header).toHaveLength(80);
    expect([...header.subarray(20, 44)]).toEqual([...u64(6e9 + 72), ...u64(6e9), ...u64(3e9)]);
  });

  test('giving up leaves nothing', async () => {
    const before = readdirSync(folder);
    const writer = await WavFileWriter.create(path.join(folder, 'given-up.wav'), 1, { sampleRate: 24000 });
    await writer.append([new Float32Array(100)]);
    await writer.abort();
    expect(readdirSync(folder)).toEqual(before);
    await expect(
      WavFileWriter.create(path.join(folder, 'no', 'x.wav'), 1, { sampleRate: 24000 }),
    ).rejects.toMatchObject({ code: 'output_not_writable' });
  });

  test.runIf(process.platform === 'linux')('a full disk is disk_full', async () => {
    const writer = await WavFileWriter.create('/dev/null', 1, { sampleRate: 24000 });
    await writer.append([new Float32Array(10)]);
    expect(await writer.finish()).toMatchObject({ frames: 10, bytes: 64 });
    await expect(WavFileWriter.create('/dev/full', 1, { sampleRate: 24000 })).rejects.toMatchObject({
      code: 'disk_full',
    });
  });
});
