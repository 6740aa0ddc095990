import { describe, expect, it } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { EcapaTdnn } from '../../nn/blocks/ecapa-tdnn.ts';
import type { DTypePolicy } from '../../nn/dtypes.ts';
import { addon, openTestDevice } from '../../nn/testing/devices.ts';
import { fixture, largestDifference } from '../../nn/testing/fixtures.ts';
import { itOnVulkan } from '../../nn/testing/suites.ts';
import { place, type Residency, tinyConfig, tinyFiles } from './codec-testing.ts';
import { SpeakerEncoding, speakerEncoderName } from './speaker-encoding.ts';
import { speakerMel } from './speaker-mel.ts';

const files = tinyFiles('model');

const lengths = [12000, 9001];

function numbersOf(samples: number, what: 'wave' | 'mel' | 'vector'): Float32Array {
  return fixture(files.numbers, `speaker_${samples}.${what}`).data as Float32Array;
}

async function withEncoder<T>(
  device: Device,
  body: (encoding: SpeakerEncoding) => Promise<T>,
  residency?: Residency,
  dtype?: DTypePolicy,
): Promise<T> {
  if (tinyConfig.model.tts_model_type !== 'base') throw new Error('tiny/base has a speaker encoder.');
  const module = new EcapaTdnn(tinyConfig.model.speaker_encoder_config);
  const store = await place(module, files.checkpoint, device, speakerEncoderName, residency, dtype);
  const encoding = new SpeakerEncoding({ addon, device, module });
  try {
    return await body(encoding);
  } finally {
    await encoding.dispose();
    await store.dispose();
  }
}

describe('mel spectrogram of the speaker encoder', () => {
  it.each(lengths)("of %i samples is upstream's", (samples) => {
    const { frames, mel } = speakerMel(numbersOf(samples, 'wave'));
    const expected = numbersOf(samples, 'mel');
    expect(frames).toBe(Math.floor(samples / 256));
    // Logarithms: a part in a thousand of the quietest band.
    expect(largestDifference(mel, expected)).toBeLessThan(1e-3);
  });
});

describe('speaker encoder on CPU', () => {
  it.each(lengths)('makes the vector of %i samples as upstream does', async (samples) => {
    const device = await openTestDevice('CPU');
    const vector = await withEncoder(device, (encoding) => encoding.encode(numbersOf(samples, 'wave')));
    const expected = numbersOf(samples, 'vector');
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(0.1);
    expect(largestDifference(vector, expected)).toBeLessThan(1e-4);
    await device.close();
  });

  it('is as exact on the bfloat16 weights of the checkpoint, which upstream widened here', async () => {
    const device = await openTestDevice('CPU');
    const wave = numbersOf(9001, 'wave');
    const vector = await withEncoder(device, (encoding) => encoding.encode(wave), 'resident', 'keep');
    expect(largestDifference(vector, numbersOf(9001, 'vector'))).toBeLessThan(1e-4);
    await device.close();
  });

  it('refuses what is too short for its convolutions', async () => {
    const device = await openTestDevice('CPU');
    await withEncoder(device, async (encoding) => {
      await expect(encoding.encode(new Float32Array(600))).rejects.toThrow('needs');
    });
    await device.close();
  });
});

describe('speaker encoder with little memory', () => {
  it('gives the bits of the plain CPU resident, half resident and streamed, as planned', async () => {
    const plain = await openTestDevice('CPU');
    const wave = numbersOf(9001, 'wave');
    const expected = await withEncoder(plain, (encoding) => encoding.encode(wave));
    await plain.close();
    for (const residency of ['resident', 'half', 'streamed'] as const) {
      const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
      await withEncoder(
        device,
        async (encoding) => {
          const planned = encoding.workingBytes(wave.length);
          device.resetPeak();
          expect(await encoding.encode(wave)).toEqual(expected);
          expect(device.memory().peakWorkingBytes).toBeLessThanOrEqual(planned);
          expect(device.memory().peakWorkingBytes).toBeGreaterThan(0.8 * planned);
        },
        residency,
      );
      expect(device.streamerStats().streamedBytes > 0).toBe(residency !== 'resident');
      await device.close();
    }
  });
});

describe('speaker encoder on Vulkan', () => {
  itOnVulkan('gives the same bits streamed and resident, close to upstream', async (device) => {
    const wave = numbersOf(9001, 'wave');
    const resident = await withEncoder(device, (encoding) => encoding.encode(wave));
    expect(largestDifference(resident, numbersOf(9001, 'vector'))).toBeLessThan(5e-2);
    const streamed = await withEncoder(device, (encoding) => encoding.encode(wave), 'streamed');
    expect(streamed).toEqual(resident);
    expect(device.streamerStats().streamedBytes).toBeGreaterThan(0);
  });
});
