import { afterAll, describe, expect, test } from 'vitest';
import { framesFromLogDurations } from './durations.ts';
import type { MiniNetworks } from './networks.ts';
import { farthest, readGoldens } from './testing/golden.ts';
import { addon, Rig } from './testing/rig.ts';

const goldens = readGoldens();
const vulkan = addon.devices().find(({ name }) => name.startsWith('Vulkan'))?.name ?? null;

interface Case {
  device: string | null;
  dtype: 'f32' | 'keep';
  /** Largest absolute difference per stage, each fed the golden input of that stage. */
  tolerance: number;
}

const cases: [string, Case][] = [
  ['CPU, float32 weights', { device: 'CPU', dtype: 'f32', tolerance: 1e-4 }],
  ['CPU, float16 weights', { device: 'CPU', dtype: 'keep', tolerance: 1e-3 }],
  ['Vulkan, float16 weights', { device: vulkan, dtype: 'keep', tolerance: 2e-2 }],
];

describe.each(cases)('%s', (_, { device, dtype, tolerance }) => {
  const runs = test.runIf(device !== null);
  const rig = device === null ? null : Rig.open({ 'compute.device': device }, { dtype });
  afterAll(async () => (await rig)?.close());
  // The software Vulkan device is slow: one sentence shows what three would.
  const sentences = device === 'CPU' ? goldens : goldens.slice(0, 1);

  runs.each(sentences)('"$text": each stage from the golden input of that stage', async (golden) => {
    await (await rig!).withNetworks(async (networks: MiniNetworks, signal) => {
      const encoded = await networks.encode(golden.phone_ids, golden.word_start, signal);
      expect(farthest(encoded.encoder, golden.encoder)).toBeLessThan(tolerance);
      expect(farthest(encoded.logDurations, golden.log_durations)).toBeLessThan(tolerance);
      expect(framesFromLogDurations(encoded.logDurations)).toEqual(golden.frames);
      const features = await networks.decode(golden.encoder, golden.frames, signal);
      expect(farthest(features, golden.features)).toBeLessThan(tolerance);
      const [window] = networks.vocoderWindows(golden.features.length / 82);
      const head = await networks.vocode(golden.features, window!, signal);
      expect(farthest(head, golden.head)).toBeLessThan(tolerance);
    });
  });
});
