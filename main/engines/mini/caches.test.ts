import { expect, test } from 'vitest';
import { goldenReader, Rig } from './testing/rig.ts';

test('kept graphs count as free memory, go when it is wanted, and are made again', async () => {
  const settings = { 'compute.device': 'auto', 'compute.simulate_vram_mb': 64 };
  const rig = await Rig.open(settings, { readText: goldenReader() });
  try {
    const book = await rig.runtime.deviceFor(rig.settings);
    const first = await rig.speak({ text: '0' });
    const { io } = book.device.memory().held;
    expect(io).toBeGreaterThan(0);
    expect(book.cachedBytes).toBe(io);
    expect(book.plannerDevice().scratchBytes).toBe(book.arenaBytes + io);
    expect(await book.trim()).toBeGreaterThanOrEqual(io);
    expect(book.cachedBytes).toBe(0);
    const again = await rig.speak({ text: '0' });
    expect(again.samples).toEqual(first.samples);
  } finally {
    await rig.close();
  }
});
