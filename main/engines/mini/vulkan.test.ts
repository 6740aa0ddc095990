import { expect, test } from 'vitest';
import { peak } from '../../audio/level.ts';
import type { Settings } from '../../contract/settings.ts';
import { addon, goldenReader, Rig } from './testing/rig.ts';

const vulkan = addon.devices().find(({ name }) => name.startsWith('Vulkan'))?.name ?? null;

async function speakOn(mode: Settings['compute.vram_mode']) {
  const rig = await Rig.open(
    { 'compute.device': vulkan!, 'compute.vram_mode': mode },
    { readText: goldenReader() },
  );
  try {
    const { samples, ctx } = await rig.speak({ text: '0' });
    return { samples, streamed: ctx.report().streamed_mb };
  } finally {
    await rig.close();
  }
}

test.runIf(vulkan !== null)('on Vulkan, streaming changes nothing', async () => {
  const resident = await speakOn('high');
  const streamed = await speakOn('none');
  expect(resident.streamed).toBe(0);
  expect(streamed.streamed).toBeGreaterThan(5);
  expect(Buffer.from(streamed.samples.buffer).equals(Buffer.from(resident.samples.buffer))).toBe(true);
  expect(peak(resident.samples)).toBeGreaterThan(0.1);
});
