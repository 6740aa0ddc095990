import { describe, expect, it } from 'vitest';
import { fixture } from '../../nn/testing/fixtures.ts';
import { tinyFiles } from './codec-testing.ts';
import { resampled } from './reference.ts';

const files = tinyFiles('codec');

describe('reference audio at the rate of the networks', () => {
  // Upstream resamples by soxr (librosa's default), whose filter is another at the edge of the band; measured -33 to
  // -38 dB, of a signal with noise up to that edge. Ends, where filters see zeros, are left out.
  it.each([8000, 16000, 44100, 48000])('comes from %i Hz as upstream makes it', async (rate) => {
    const samples = fixture(files.numbers, `resample_${rate}.wave`).data as Float32Array;
    const expected = fixture(files.numbers, `resample_${rate}.at_24000`).data as Float32Array;
    const made = await resampled({ samples, sampleRate: rate }, 24_000);
    expect(made).toHaveLength(expected.length);
    let error = 0;
    let power = 0;
    for (let i = 240; i < expected.length - 240; i += 1) {
      error += (made[i]! - expected[i]!) ** 2;
      power += expected[i]! ** 2;
    }
    expect(10 * Math.log10(error / power)).toBeLessThan(-30);
  });
});
