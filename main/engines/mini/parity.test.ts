import { afterAll, describe, expect, test } from 'vitest';
import { readMiniConfig } from './config.ts';
import { framesFromLogDurations } from './durations.ts';
import { MiniNetworks } from './networks.ts';
import { farthest, readGoldens, voiceFolder } from './testing/golden.ts';
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
  ['Vulkan, float16 weights', { device: vulkan, dtype: 'keep', tolerance: 5e-3 }],
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

test('windows give what one pass over everything gives', async () => {
  const config = await readMiniConfig(voiceFolder);
  const rig = await Rig.open();
  const book = await rig.runtime.deviceFor(rig.settings);
  const ids = Int32Array.from(
    Array.from({ length: 10 }, () => goldens.map(({ phone_ids }) => [...phone_ids])).flat(2),
  );
  const starts = ids.map((_, i) => Number(i % 4 === 0));
  await rig.withNetworks(async ({ acoustic, vocoder }, signal) => {
    const make = (phones: number, frames: number) =>
      new MiniNetworks(addon, book, config, acoustic, vocoder, { phones, frames });
    const [whole, cut] = [make(1000, 10_000), make(110, 150)];
    const one = await whole.encode(ids, starts, signal);
    const many = await cut.encode(ids, starts, signal);
    expect(farthest(many.encoder, one.encoder)).toBeLessThan(1e-5);
    expect(farthest(many.logDurations, one.logDurations)).toBeLessThan(1e-5);
    const frames = framesFromLogDurations(one.logDurations.subarray(0, 100));
    const features = await whole.decode(one.encoder, frames, signal);
    expect(farthest(await cut.decode(one.encoder, frames, signal), features)).toBeLessThan(1e-4);
    const total = features.length / 82;
    const windows = cut.vocoderWindows(total);
    expect(windows.length).toBeGreaterThan(5);
    const head = await whole.vocode(features, whole.vocoderWindows(total)[0]!, signal);
    for (const window of windows) {
      const part = head.subarray(window.start * 1026, window.end * 1026);
      expect(farthest(await cut.vocode(features, window, signal), part)).toBeLessThan(1e-4);
    }
    await whole.dispose();
    await cut.dispose();
  });
  await rig.close();
});
