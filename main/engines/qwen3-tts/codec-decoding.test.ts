import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { randomWeights } from '../../nn/random-weights.ts';
import { addon, openTestDevice } from '../../nn/testing/devices.ts';
import { fixture, largestDifference } from '../../nn/testing/fixtures.ts';
import { unitsOf } from '../../nn/testing/stack.ts';
import { itOnVulkan } from '../../nn/testing/suites.ts';
import { CodecDecoder, codecDecoderName } from './codec-decoder.ts';
import { CodecDecoding } from './codec-decoding.ts';
import { codecTensors } from './codec-tensors.ts';
import { place, placeUnits, type Residency, tinyConfig, tinyFiles } from './codec-testing.ts';
import type { CodecDecoderConfig } from './config.ts';

const files = tinyFiles('codec');

function codesOf(frames: number): Int32Array {
  return fixture(files.numbers, `decode_${frames}.codes`).data as Int32Array;
}

async function withDecoder<T>(
  device: Device,
  body: (decoding: CodecDecoding, module: CodecDecoder) => Promise<T>,
  residency: Residency = 'resident',
): Promise<T> {
  const module = new CodecDecoder(tinyConfig.codec.decoder_config, codecTensors(files.checkpoint));
  const store = await place(module, files.checkpoint, device, codecDecoderName, residency);
  const decoding = new CodecDecoding({ addon, device, module });
  try {
    return await body(decoding, module);
  } finally {
    await decoding.dispose();
    await store.dispose();
  }
}

/** Pushes frames in pieces of these lengths, again and again, and joins what comes out. */
async function streamed(
  decoding: CodecDecoding,
  codes: Int32Array,
  lengths: number[],
): Promise<Float32Array> {
  const width = decoding.quantizers;
  const stream = await decoding.start();
  const parts: Float32Array[] = [];
  for (let at = 0, turn = 0; at < codes.length; turn += 1) {
    const end = at + lengths[turn % lengths.length]! * width;
    parts.push(await stream.push(codes.subarray(at, end)));
    at = end;
  }
  parts.push(await stream.finish());
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

describe('codec decoder on CPU', () => {
  let device: Device;
  beforeAll(async () => {
    device = await openTestDevice('CPU');
  });
  afterAll(() => device.close());

  it.each([1, 7, 40])('decodes %i frames as upstream does in one pass', async (frames) => {
    const expected = fixture(files.numbers, `decode_${frames}.samples`).data;
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(0.1);
    await withDecoder(device, async (decoding) => {
      const samples = await decoding.decode(codesOf(frames));
      expect(largestDifference(samples, expected)).toBeLessThan(5e-6);
    });
  });

  it('gives the same bits however the frames arrive', async () => {
    const codes = codesOf(40);
    await withDecoder(device, async (decoding) => {
      const whole = await decoding.decode(codes);
      for (const lengths of [[1], [2, 3], [7], [40], [11, 1, 1, 5]]) {
        expect(await streamed(decoding, codes, lengths)).toEqual(whole);
      }
    });
  });

  it('decodes two streams at a time without mixing them', async () => {
    const width = tinyConfig.codec.decoder_config.num_quantizers;
    const codes = codesOf(40);
    const other = codes.slice().reverse();
    await withDecoder(device, async (decoding) => {
      const alone = await decoding.decode(codes.subarray(0, 20 * width));
      const [a, b] = [await decoding.start(), await decoding.start()];
      const parts: number[] = [];
      for (let at = 0; at < 20 * width; at += width) {
        const [mine] = await Promise.all([
          a.push(codes.subarray(at, at + width)),
          b.push(other.subarray(at, at + width)),
        ]);
        parts.push(...mine);
      }
      parts.push(...(await a.finish()));
      b.close();
      expect(Float32Array.from(parts)).toEqual(alone);
    });
  });

  it('begins early: the first chunk is one frame, and a signal of none is empty', async () => {
    const width = tinyConfig.codec.decoder_config.num_quantizers;
    await withDecoder(device, async (decoding) => {
      const stream = await decoding.start();
      expect(stream.wanted).toBe(1);
      const first = await stream.push(codesOf(7).subarray(0, width));
      expect(first).toHaveLength(decoding.samplesPerFrame);
      expect(stream.wanted).toBe(2);
      stream.close();
      expect(await decoding.decode(new Int32Array(0))).toHaveLength(0);
    });
  });

  it('stops when it is cancelled, and decodes the next signal as if nothing had been', async () => {
    await withDecoder(device, async (decoding) => {
      const signal = addon.createCancelToken();
      const stream = await decoding.start();
      await stream.push(codesOf(40).subarray(0, 5 * decoding.quantizers), signal);
      signal.cancel();
      await expect(stream.push(codesOf(40).subarray(20), signal)).rejects.toMatchObject({
        code: 'Cancelled',
      });
      stream.close();
      const samples = await decoding.decode(codesOf(7));
      expect(largestDifference(samples, fixture(files.numbers, 'decode_7.samples').data)).toBeLessThan(5e-6);
      decoding.trim();
      expect(await decoding.decode(codesOf(7))).toEqual(samples);
    });
  });

  it('refuses codes that no codebook has, and half frames', async () => {
    await withDecoder(device, async (decoding) => {
      const width = decoding.quantizers;
      const bad = new Int32Array(2 * width);
      bad[width + 1] = tinyConfig.codec.decoder_config.codebook_size;
      await expect(decoding.decode(bad)).rejects.toThrow('Code 64 of frame 1 is not below 64');
      await expect(decoding.decode(new Int32Array(width).fill(-1))).rejects.toThrow('Code -1');
      await expect(decoding.decode(new Int32Array(width + 1))).rejects.toThrow('no whole frames');
      const stream = await decoding.start();
      stream.close();
      await expect(stream.push(new Int32Array(width))).rejects.toThrow('has ended');
      // A refused signal leaves nothing behind.
      const samples = await decoding.decode(codesOf(7));
      expect(largestDifference(samples, fixture(files.numbers, 'decode_7.samples').data)).toBeLessThan(5e-6);
    });
  });
});

describe('codec decoder with little memory', () => {
  it('gives the bits of the plain CPU resident, half resident and streamed', async () => {
    const plain = await openTestDevice('CPU');
    const codes = codesOf(40);
    const expected = await withDecoder(plain, (decoding) => decoding.decode(codes));
    await plain.close();
    for (const residency of ['resident', 'half', 'streamed'] as const) {
      const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
      const samples = await withDecoder(device, (decoding) => decoding.decode(codes), residency);
      expect(samples).toEqual(expected);
      expect(device.streamerStats().streamedBytes > 0).toBe(residency !== 'resident');
      await device.close();
    }
  });

  it('plans its working memory exactly', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
    for (const frames of [1, 7, 40]) {
      await withDecoder(device, async (decoding) => {
        const planned = decoding.workingBytes(frames);
        expect(device.memory().held.compute + device.memory().held.io + device.memory().held.state).toBe(0);
        device.resetPeak();
        await decoding.decode(codesOf(frames));
        const used = device.memory().peakWorkingBytes;
        expect(used).toBeLessThanOrEqual(planned);
        expect(used).toBeGreaterThan(0.9 * planned);
      });
      expect(device.memory().peakWorkingBytes).toBeGreaterThan(0);
    }
    await device.close();
  });
});

describe('codec decoder with a block too large to move whole', () => {
  /** One block of 42 MB, whose parts are units of their own, over signals that it takes in several pieces. */
  const config: CodecDecoderConfig = {
    ...tinyConfig.codec.decoder_config,
    decoder_dim: 1024,
    upsampling_ratios: [2],
    upsample_rates: [5],
  };
  const frames = 14;
  const codes = Int32Array.from({ length: frames * config.num_quantizers }, (_, index) => (index * 37) % 64);

  async function decode(device: Device, steady: number, residency: Residency): Promise<Float32Array> {
    const module = new CodecDecoder(config);
    const units = module.memoryUnits();
    expect(units.length).toBeGreaterThan(7);
    const store = randomWeights(addon, module, {
      component: 'codec',
      seed: 9,
      unitOf: unitsOf(units),
      unitModules: units,
    });
    await placeUnits(store, device, residency);
    const decoding = new CodecDecoding({ addon, device, module, chunks: { first: [], steady } });
    const samples = await decoding.decode(codes);
    await decoding.dispose();
    await store.dispose();
    return samples;
  }

  it('decodes the same in one chunk of several pieces and frame by frame; streams it to the bit', async () => {
    const plain = await openTestDevice('CPU');
    const whole = await decode(plain, frames, 'resident');
    expect(Math.max(...whole.map(Math.abs))).toBeGreaterThan(0.05);
    const single = await decode(plain, 1, 'resident');
    // Sums over 3584 products, in another order.
    expect(largestDifference(single, whole)).toBeLessThan(5e-5);
    await plain.close();
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 256 * 2 ** 20 });
    expect(await decode(device, frames, 'streamed')).toEqual(whole);
    // Each unit once: pieces do not fetch their weights again.
    const { copies } = device.streamerStats();
    expect(copies).toBeLessThan(16);
    await device.close();
  });
});

describe('codec decoder on Vulkan', () => {
  itOnVulkan('gives the same bits streamed and resident, close to upstream', async (device) => {
    const codes = codesOf(7);
    const resident = await withDecoder(device, (decoding) => decoding.decode(codes));
    const expected = fixture(files.numbers, 'decode_7.samples').data;
    expect(largestDifference(resident, expected)).toBeLessThan(2e-2);
    const streamed = await withDecoder(device, (decoding) => decoding.decode(codes), 'streamed');
    expect(streamed).toEqual(resident);
    expect(device.streamerStats().streamedBytes).toBeGreaterThan(0);
  });
});
