import { describe, expect, it } from 'vitest';
import type { Device } from '../../native/addon.ts';
import { RuntimeRig } from './testing/rig.ts';
import { TwoStageEngine } from './testing/two-stage-engine.ts';

async function isClosed(device: Device): Promise<boolean> {
  const { code } = await Promise.resolve()
    .then(() => device.createState([{ dtype: 'f32', shape: [1] }]))
    .then(
      () => ({ code: 'it works' }),
      (error: { code: string }) => error,
    );
  return code === 'Disposed' && Object.values(device.memory().held).every((bytes) => bytes === 0);
}

const card = { 'compute.simulate_vram_mb': 64, 'compute.vram_reserve_mb': 0 };

describe.each([
  ['the processor', {}],
  ['a simulated card', card],
])('closing while a stage runs on %s', (_, change) => {
  it.each([0, 5, 40])(
    'ends the request as cancelled and gives everything back (after %i ms)',
    async (delay) => {
      const rig = await RuntimeRig.open(change);
      const { device } = rig.book;
      const speech = rig.speak({ rows: 2000 }).catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await rig.close();
      expect(await speech).toMatchObject({ code: expect.stringMatching(/^cancelled$/i) });
      expect(rig.runtime.models.list()).toEqual([]);
      expect(rig.runtime.manager.handles).toEqual([]);
      await expect(isClosed(device)).resolves.toBe(true);
      await expect(rig.speak()).rejects.toMatchObject({ code: 'host_unreachable' });
      // Once closed, it stays so.
      await rig.close();
    },
  );
});

it('a signal that outlives a runtime is not spent by its end', async () => {
  const { signal } = new AbortController();
  const first = await RuntimeRig.open(card);
  const cut = first.speak({ rows: 2000, signal }).catch((error: unknown) => error);
  await expect.poll(() => first.book.active.size).toBe(1);
  await first.close();
  expect(await cut).toMatchObject({ code: expect.stringMatching(/^cancelled$/i) });
  const second = await RuntimeRig.open(card);
  expect((await second.speak({ signal })).samples).toBeGreaterThan(0);
  await second.close();
});

it('a request whose next value nobody asks for loses its device', async () => {
  const rig = await RuntimeRig.open(card);
  const lease = await rig.runtime.acquire(TwoStageEngine.source(rig.addon, rig.shape), rig.book);
  const about = { id: 'left', book: rig.book, settings: rig.settings, signal: new AbortController().signal };
  const stream = lease.value.speak(1, 6, rig.runtime.startRequest(about))[Symbol.asyncIterator]();
  expect((await stream.next()).done).toBe(false);
  await rig.runtime.close(100);
  await expect(isClosed(rig.book.device)).resolves.toBe(true);
  await expect(stream.next()).rejects.toThrow();
});
