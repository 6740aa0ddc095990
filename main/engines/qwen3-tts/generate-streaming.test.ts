import { expect, it, vi } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { Random } from '../../nn/random.ts';
import { addon } from '../../nn/testing/devices.ts';
import { itOnVulkan } from '../../nn/testing/suites.ts';
import {
  half,
  openTalkerFixtures,
  type Place,
  resident,
  streamed,
  type TalkerCase,
  TalkerRig,
  talkerCases,
} from './testing/talker-rig.ts';

/** Frames drawn by chance and scores after the last: to the bit, or not at all. */
async function speak(device: Device, entry: TalkerCase, place: Place, graphs: 'one' | 'two' | 'many') {
  const before = device.streamerStats().streamedBytes;
  const rig = await TalkerRig.open(device, entry.model, { place });
  const prompt = await rig.embedder.embed(entry.prompt);
  const drawing = { temperature: 1.1, top_k: 30 };
  const frames: number[][] = [];
  const options = { sampling: drawing, predictor: drawing, random: new Random(8), maxFrames: 12, graphs };
  for await (const frame of rig.generator().frames(prompt, options)) frames.push([...frame]);
  const bytes = device.streamerStats().streamedBytes - before;
  await rig.dispose();
  return { rows: prompt.rows, frames, bytes };
}

async function cases(): Promise<TalkerCase[]> {
  const fixtures = await openTalkerFixtures();
  const all = talkerCases(fixtures).filter(({ name }) => ['instruction', 'transcript, whole'].includes(name));
  fixtures.close();
  return all;
}

it.each(['one', 'two', 'many'] as const)(
  'gives the same frames streamed, half resident and resident on a simulated device, %s graph(s) a frame',
  async (graphs) => {
    vi.stubEnv('MIZUOTO_POISON_SLOTS', '1');
    for (const entry of await cases()) {
      const plain = await addon.openDevice({ name: 'CPU', threads: 1 });
      const expected = await speak(plain, entry, resident, 'two');
      expect(new Set(expected.frames.map(String)).size).toBeGreaterThan(6);
      for (const [name, place] of Object.entries({ resident, half, streamed })) {
        const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 48 * 2 ** 20 });
        const { rows, frames, bytes } = await speak(device, entry, place, graphs);
        expect(frames, `${entry.name}, ${name}`).toEqual(expected.frames);
        expect(rows).toEqual(expected.rows);
        expect(bytes > 0).toBe(name !== 'resident');
        await device.close();
      }
      await plain.close();
    }
    vi.unstubAllEnvs();
  },
);

itOnVulkan('gives the same frames streamed and resident on Vulkan', async (device) => {
  const entry = (await cases())[0]!;
  const expected = await speak(device, entry, resident, 'two');
  const { rows, frames, bytes } = await speak(device, entry, streamed, 'two');
  expect(frames).toEqual(expected.frames);
  expect(rows).toEqual(expected.rows);
  expect(bytes).toBeGreaterThan(0);
  expect((await speak(device, entry, resident, 'one')).frames).toEqual(expected.frames);
  expect((await speak(device, entry, half, 'many')).frames).toEqual(expected.frames);
});
