import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { StbVorbis } from 'stb-vorbis';
import { describe, expect, it } from 'vitest';
import { StudioError } from '../../contract/errors.ts';
import { readWav, type WavAudio } from '../wav-reader.ts';
import { toWav } from './to-wav.ts';
import { decodeVorbis } from './vorbis.ts';

const folder = path.join(import.meta.dirname, 'fixtures');
const fixture = (name: string) => new Uint8Array(readFileSync(path.join(folder, name)));
const limits = { bytes: 4 * 2 ** 20 };

async function decode(bytes: Uint8Array, at = limits): Promise<WavAudio & { format: string | null }> {
  const { wav, format, warnings } = await toWav(bytes, 'voice', at);
  const audio = await readWav(wav);
  return { ...audio, warnings: [...warnings, ...audio.warnings], format };
}

/** Signal to noise of `heard` against `wanted`, in dB, where it fits best: codecs begin some samples later. */
function fidelity(wanted: Float32Array, heard: Float32Array, most = 3000): { ratio: number; delay: number } {
  const energy = wanted.reduce((sum, value) => sum + value * value, 0);
  let best = { ratio: Number.NEGATIVE_INFINITY, delay: 0 };
  for (let delay = 0; delay < most; delay++) {
    let error = 0;
    for (let n = 0; n < wanted.length && error < energy; n++)
      error += (wanted[n]! - (heard[n + delay] ?? 0)) ** 2;
    const ratio = 10 * Math.log10(energy / error);
    if (ratio > best.ratio) best = { ratio, delay };
  }
  return best;
}

describe('what is lossless comes out as it went in', () => {
  it.each([
    ['speech.flac', 'speech.wav', 'pcm16', 1],
    ['pair-24.flac', 'pair-24.wav', 'pcm24', 2],
  ])('%s', async (file, wav, encoding, channels) => {
    const wanted = await readWav(fixture(wav));
    const heard = await decode(fixture(file));
    expect(heard).toMatchObject({ format: 'FLAC', encoding, channels, warnings: [] });
    expect(heard.sampleRate).toBe(wanted.sampleRate);
    expect(heard.frames).toBe(wanted.frames);
    expect(heard.samples).toEqual(wanted.samples);
  });
});

describe('what is lossy comes out close', () => {
  it.each([
    // format, rate, least dB, delay of encoder and decoder in samples
    ['speech.mp3', 'MP3', 24_000, 14, 3],
    ['speech-vorbis.ogg', 'Ogg', 24_000, 10, 10],
  ])('%s', async (file, format, rate, least, delay) => {
    const wanted = await readWav(fixture('speech.wav'));
    const heard = await decode(fixture(file));
    expect(heard).toMatchObject({ format, sampleRate: rate, channels: 1, warnings: [] });
    const found = fidelity(wanted.samples[0]!, heard.samples[0]!);
    expect(found.ratio).toBeGreaterThan(least);
    expect(found.delay).toBeLessThan(delay);
    expect(Math.abs(heard.frames - wanted.frames)).toBeLessThan(1152);
  });

  it('Vorbis, in pieces of any length the samples that it gives at once', async () => {
    const bytes = fixture('speech-vorbis.ogg');
    await StbVorbis.ready;
    const [whole] = StbVorbis.decode(bytes).channels;
    const wanted = Int16Array.from(whole!, (value) => Math.round(value * 32_768));
    for (const packets of [1000, 32, 7, 1]) {
      const decoded = await decodeVorbis(bytes, limits, packets);
      expect(decoded).toMatchObject({ channels: 1, sampleRate: 24_000, warnings: [] });
      expect(new Int16Array(decoded!.pcm.buffer)).toEqual(wanted);
    }
  });

  it('Opus, at its own rate and without what is skipped at both ends', async () => {
    const wanted = await readWav(fixture('speech.wav'));
    const heard = await decode(fixture('speech.opus'));
    expect(heard).toMatchObject({ format: 'Ogg', sampleRate: 48_000, channels: 1, warnings: [] });
    expect(heard.frames).toBe(2 * wanted.frames);
    const half = heard.samples[0]!.filter((_, n) => n % 2 === 0);
    expect(fidelity(wanted.samples[0]!, half, 20).ratio).toBeGreaterThan(8);
  });

  it.each(['pair.mp3', 'pair.opus'])('both channels of %s', async (file) => {
    const { samples, channels } = await decode(fixture(file));
    expect(channels).toBe(2);
    const level = (values: Float32Array) =>
      Math.sqrt(values.reduce((sum, v) => sum + v * v, 0) / values.length);
    expect(level(samples[1]!) / level(samples[0]!)).toBeGreaterThan(0.55);
    expect(level(samples[1]!) / level(samples[0]!)).toBeLessThan(0.65);
  });

  it('an MP3 without its tag, and FLAC behind one', async () => {
    const mp3 = fixture('speech.mp3');
    const tag = 10 + mp3.subarray(6, 10).reduce((sum, byte) => sum * 128 + byte, 0);
    expect(String.fromCharCode(...mp3.subarray(0, 3))).toBe('ID3');
    const plain = await decode(mp3.subarray(tag));
    expect(plain.samples).toEqual((await decode(mp3)).samples);
    const flac = await decode(Buffer.concat([mp3.subarray(0, tag), fixture('speech.flac')]));
    expect(flac).toMatchObject({ format: 'FLAC', frames: 28_800 });
  });
});

describe('what is no such file', () => {
  it('MPEG audio of another layer is refused by name, not heard as silence', async () => {
    // 128 kbit/s at 44.1 kHz: 417 bytes.
    const bytes = new Uint8Array(10 * 417);
    for (let at = 0; at < bytes.length; at += 417) bytes.set([0xff, 0xfd, 0x80, 0], at);
    await expect(toWav(bytes, 'voice', limits)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringContaining('MPEG layer II, not MP3'),
    });
  });

  it('is left to the reader of WAV files', async () => {
    const wav = fixture('speech.wav');
    expect(await toWav(wav, 'voice', limits)).toEqual({ wav, format: null, warnings: [] });
    for (const file of ['speech.m4a', 'speech.aac']) {
      const bytes = fixture(file);
      expect((await toWav(bytes, 'voice', limits)).wav).toBe(bytes);
    }
  });
});

describe('limits', () => {
  it.each(['speech.flac', 'speech.mp3', 'speech.opus', 'speech-vorbis.ogg'])(
    '%s stops where it becomes too much',
    async (file) => {
      await expect(decode(fixture(file), { bytes: 20_000 })).rejects.toMatchObject({
        code: 'reference_unusable',
        params: { seconds: expect.any(Number), format: expect.any(String) },
      });
    },
  );

  it('hours of silence in a few kilobytes of FLAC cost no more than the limit', async () => {
    const before = process.memoryUsage().arrayBuffers;
    const bomb = silentFlac(20_000);
    expect(bomb.length).toBeLessThan(400_000);
    await expect(decode(bomb, { bytes: 8 * 2 ** 20 })).rejects.toThrow(/more than 9\d s of audio/);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
  });
});

describe('damage', () => {
  const files = readdirSync(folder).filter((name) => /\.(flac|mp3|opus|ogg)$/.test(name));

  it.each(files)('%s, cut short: what is there, or why not', async (file) => {
    const whole = fixture(file);
    for (const share of [0.02, 0.1, 0.35, 0.8, 0.99]) {
      const result = await attempt(whole.subarray(0, Math.floor(share * whole.length)));
      if (share > 0.5 && !file.endsWith('.flac')) expect(result).toBe('audio');
    }
  });

  it('FLAC with one bit turned: the part before it, and a warning', async () => {
    const bytes = fixture('speech.flac');
    bytes[bytes.length - 2000]! ^= 1;
    const heard = await decode(bytes);
    expect(heard.frames).toBeGreaterThan(10_000);
    expect(heard.frames).toBeLessThan(28_800);
    expect(heard.warnings).toEqual([
      expect.stringMatching(/damaged after \d\.\d+ s \(a block has a wrong checksum\)/),
    ]);
  });

  it.each(files)(
    '%s, with noise in it: audio or an error of the contract, never anything else',
    async (file) => {
      const whole = fixture(file);
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 20 }),
          fc.boolean(),
          async (changes, early) => {
            const bytes = whole.slice();
            for (const [at, value] of changes) bytes[early ? at % 200 : at] = value;
            await attempt(bytes);
          },
        ),
        { numRuns: 60 },
      );
    },
  );

  /** @throws whatever is neither audio nor an error that says what to do */
  async function attempt(bytes: Uint8Array): Promise<string> {
    try {
      const { seconds } = await decode(bytes);
      expect(seconds).toBeGreaterThanOrEqual(0);
      return 'audio';
    } catch (error) {
      if (!(error instanceof StudioError)) throw error;
      expect(['file_unreadable', 'reference_unusable']).toContain(error.code);
      return error.code;
    }
  }
});

/** Frames of 65,536 equal samples each: 15 bytes that stand for 1.4 seconds. */
function silentFlac(frames: number): Uint8Array {
  const info = Buffer.alloc(42);
  info.write('fLaC');
  info.writeUInt32BE(0x80000022, 4);
  // 44,100 Hz, one channel, 16 bits.
  info.writeUInt32BE((44_100 << 12) | (15 << 4), 18);
  // Block size in 16 bits (65,536), rate of the stream, one channel, depth of the stream, frame 0; then a constant.
  const header = [0xff, 0xf8, 0x70, 0x00, 0x00, 0xff, 0xff];
  const body = [...header, crc(header, 8, 0x07), 0x00, 0x00, 0x00];
  const check = crc(body, 16, 0x8005);
  const frame = Uint8Array.from([...body, check >> 8, check & 255]);
  return Buffer.concat([info, ...Array.from({ length: frames }, () => frame)]);
}

function crc(bytes: readonly number[], bits: number, polynomial: number): number {
  let rest = 0;
  for (const byte of bytes) {
    rest ^= byte << (bits - 8);
    for (let n = 0; n < 8; n++)
      rest = (rest & (1 << (bits - 1)) ? (rest << 1) ^ polynomial : rest << 1) & ((1 << bits) - 1);
  }
  return rest;
}
