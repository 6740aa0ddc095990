import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { addon, openTestDevice } from '../../nn/testing/devices.ts';
import { fixture } from '../../nn/testing/fixtures.ts';
import { itOnVulkan } from '../../nn/testing/suites.ts';
import { CodecEncoder, codecEncoderName } from './codec-encoder.ts';
import { CodecEncoding } from './codec-encoding.ts';
import { codecTensors } from './codec-tensors.ts';
import { place, type Residency, tinyConfig, tinyFiles } from './codec-testing.ts';

const files = tinyFiles('codec');

/** Whole frames, one sample more, a part of the last stride, less than a frame. */
const lengths = [2400, 2401, 1717, 55];

function waveOf(samples: number): Float32Array {
  return fixture(files.numbers, `encode_${samples}.wave`).data as Float32Array;
}

function codesOf(samples: number): Int32Array {
  return fixture(files.numbers, `encode_${samples}.codes`).data as Int32Array;
}

async function withEncoder<T>(
  device: Device,
  body: (encoding: CodecEncoding) => Promise<T>,
  options: { residency?: Residency; chunkFrames?: number } = {},
): Promise<T> {
  const module = new CodecEncoder(tinyConfig.codec, codecTensors(files.checkpoint));
  const store = await place(module, files.checkpoint, device, codecEncoderName, options.residency);
  const encoding = new CodecEncoding({ addon, device, module, ...options });
  try {
    return await body(encoding);
  } finally {
    await encoding.dispose();
    await store.dispose();
  }
}

describe('codec encoder on CPU', () => {
  let device: Device;
  beforeAll(async () => {
    device = await openTestDevice('CPU');
  });
  afterAll(() => device.close());

  it.each(lengths)('codes %i samples as upstream does', async (samples) => {
    const expected = codesOf(samples);
    // The fixture is no test if a few codes answer everything.
    expect(new Set(expected).size).toBeGreaterThan(Math.min(20, expected.length / 2));
    await withEncoder(device, async (encoding) => {
      const codes = await encoding.encode(waveOf(samples));
      expect(codes).toEqual(expected);
      expect(codes).toHaveLength(encoding.frames(samples) * tinyConfig.codec.encoder_valid_num_quantizers);
    });
  });

  it.each([1, 3, 30, 1000])('gives the same codes in chunks of %i frames', async (chunkFrames) => {
    await withEncoder(
      device,
      async (encoding) => {
        for (const samples of lengths)
          expect(await encoding.encode(waveOf(samples))).toEqual(codesOf(samples));
      },
      { chunkFrames },
    );
  });

  it('encodes two references at a time without mixing them', async () => {
    await withEncoder(device, async (encoding) => {
      const both = await Promise.all([encoding.encode(waveOf(2400)), encoding.encode(waveOf(1717))]);
      expect(both).toEqual([codesOf(2400), codesOf(1717)]);
    });
  });

  it('stops when it is cancelled, and leaves nothing behind', async () => {
    await withEncoder(device, async (encoding) => {
      const signal = addon.createCancelToken();
      signal.cancel();
      await expect(encoding.encode(waveOf(2400), signal)).rejects.toMatchObject({ code: 'Cancelled' });
      expect(await encoding.encode(waveOf(55))).toEqual(codesOf(55));
    });
  });

  it('refuses silence of no length', async () => {
    await withEncoder(device, async (encoding) => {
      await expect(encoding.encode(new Float32Array(0))).rejects.toThrow('no samples');
    });
  });
});

describe('codec encoder with little memory', () => {
  it('gives the same codes resident, half resident and streamed', async () => {
    for (const residency of ['resident', 'half', 'streamed'] as const) {
      const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
      const codes = await withEncoder(device, (encoding) => encoding.encode(waveOf(1717)), { residency });
      expect(codes).toEqual(codesOf(1717));
      expect(device.streamerStats().streamedBytes > 0).toBe(residency !== 'resident');
      await device.close();
    }
  });

  it('plans its working memory exactly, and gives it back', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
    for (const samples of lengths) {
      await withEncoder(device, async (encoding) => {
        const planned = encoding.workingBytes(samples);
        device.resetPeak();
        await encoding.encode(waveOf(samples));
        const used = device.memory().peakWorkingBytes;
        expect(used).toBeLessThanOrEqual(planned);
        expect(used).toBeGreaterThan(0.8 * planned);
        // What a signal held is freed on the device's own thread.
        await expect.poll(() => device.memory().held.io + device.memory().held.state).toBe(0);
      });
    }
    await device.close();
  });
});

describe('codec encoder on Vulkan', () => {
  itOnVulkan('gives the same codes streamed and resident', async (device) => {
    const resident = await withEncoder(device, (encoding) => encoding.encode(waveOf(55)));
    const streamed = await withEncoder(device, (encoding) => encoding.encode(waveOf(55)), {
      residency: 'streamed',
    });
    expect(streamed).toEqual(resident);
    // Products round to float16 here: a code next to the border may fall on the other side.
    const expected = codesOf(55);
    const equal = resident.filter((code, index) => code === expected[index]).length;
    expect(equal).toBeGreaterThanOrEqual(expected.length - 1);
    expect(device.streamerStats().streamedBytes).toBeGreaterThan(0);
  });
});
