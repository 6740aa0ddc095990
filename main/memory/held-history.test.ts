import { describe, expect, it } from 'vitest';
import { HeldHistory } from './held-history.ts';
import { MiB } from './policy.ts';
import { FakeDevice, fakeComponent } from './testing/fake-device.ts';
import { testManager } from './testing/managers.ts';

async function course(options: { capacity?: number } = {}) {
  const { manager, device, book } = testManager({ totalMiB: 4096 });
  const { handle } = fakeComponent(device, { component: 'main', units: Array<number>(4).fill(100) });
  manager.register(handle);
  const clock = { now: 1000 };
  const history = new HeldHistory({ restMs: 50, now: () => clock.now, ...options });
  const look = (after: number): boolean => {
    clock.now += after;
    return history.look(book, manager.handles);
  };
  return { manager, device, book, handle, history, look, clock };
}

describe('the course of memory', () => {
  it('holds what changed and when, by purpose and component', async () => {
    const { manager, handle, history, look } = await course();
    expect(look(0)).toBe(true);
    (await manager.load([handle], 0, { name: 'main' })).release();
    expect(look(100)).toBe(true);
    expect(history.samples()).toMatchObject([
      { at: 1000, weights: 0, components: [] },
      { at: 1100, weights: 400 * MiB, components: [['test:main', 400 * MiB]] },
    ]);
    expect(history.samples(1000)).toHaveLength(1);
    await handle.leave();
    expect(look(100)).toBe(true);
    expect(history.samples().at(-1)).toMatchObject({ weights: 0, components: [] });
  });

  it('does not look again at once, and keeps nothing where nothing changed', async () => {
    const { manager, handle, device, history, look } = await course();
    look(0);
    (await manager.load([handle], 0, { name: 'main' })).release();
    expect(look(49)).toBe(false);
    expect(look(1)).toBe(true);
    expect(look(1000)).toBe(false);
    // Other programs breathe.
    device.setForeignBytes(10 * MiB);
    expect(look(1000)).toBe(false);
    device.setForeignBytes(100 * MiB);
    expect(look(1000)).toBe(true);
    expect(history.samples()).toHaveLength(3);
    expect(history.samples().at(-1)!.others).toBe(100 * MiB);
  });

  it('forgets the oldest first', async () => {
    const { device, history, look } = await course({ capacity: 3 });
    for (const mib of [100, 200, 300, 400]) {
      device.setForeignBytes(mib * MiB);
      look(100);
    }
    expect(history.samples().map(({ others }) => others / MiB)).toEqual([200, 300, 400]);
  });
});

it('weights that lie in main memory as they are count as held there', () => {
  const { manager } = testManager({ totalMiB: 4096 });
  const cpu = new FakeDevice({ name: 'CPU', totalMiB: 4096, isHost: true });
  const book = manager.addDevice(cpu);
  const { handle } = fakeComponent(cpu, { component: 'main', units: [100, 100] });
  manager.register(handle);
  const history = new HeldHistory({ now: () => 1 });
  history.look(book, manager.handles);
  const [sample] = history.samples();
  expect(sample!.weights).toBe(handle.loadedBytes);
  expect(sample!.weights).toBeGreaterThanOrEqual(200 * MiB);
  expect(sample!.components).toEqual([[handle.id, handle.loadedBytes]]);
});
