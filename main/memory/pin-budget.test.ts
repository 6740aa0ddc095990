import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PinBudget } from './pin-budget.ts';
import { MiB } from './policy.ts';
import { FakeDevice, type FakeStore, fakeComponent } from './testing/fake-device.ts';
import { testManager } from './testing/managers.ts';

const sizes = (count: number, size: number): number[] => Array<number>(count).fill(size);
const mib = (bytes: number): number => bytes / MiB;

describe('host copies of a component that is whole', () => {
  const whole = (options: Partial<Parameters<typeof fakeComponent>[1]> = {}, policy = {}, device = {}) => {
    const made = testManager({ totalMiB: 8000, ...device }, policy);
    const { handle, store } = fakeComponent(made.device, {
      component: 'main',
      fixed: 50,
      units: sizes(4, 100),
      ...options,
    });
    made.manager.register(handle);
    const load = async () => (await made.manager.load([handle], MiB, { name: 'main' })).release();
    return {
      ...made,
      handle,
      store,
      load,
      log: () => made.device.log.splice(0).filter((line) => line[0] !== 's'),
    };
  };

  it('are pinned before they are copied from, once, and stay when the component leaves the device', async () => {
    const { manager, handle, load, log } = whole();
    await load();
    expect(log()).toEqual(
      [-1, ...handle.placementOrder].flatMap((unit) => [`!main[${unit}]`, `+main[${unit}]`]),
    );
    expect(mib(manager.pins.bytes)).toBe(450);
    await load();
    expect(log()).toEqual([]);
    await handle.leave();
    expect(mib(manager.pins.bytes)).toBe(450);
    log();
    await load();
    expect(log()).toEqual([-1, ...handle.placementOrder].map((unit) => `+main[${unit}]`));
    await manager.unregister(handle);
    expect(manager.pins.bytes).toBe(0);
  });

  it('lie in their file where the device uses them so: nothing is pinned, unless it can be where it lies', async () => {
    const buffers = whole({ inFile: true });
    await buffers.load();
    expect(buffers.manager.pins.bytes).toBe(0);
    const inPlace = whole({ inFile: true }, {}, { locksHostMemory: true });
    await inPlace.load();
    expect(mib(inPlace.manager.pins.bytes)).toBe(450);
  });

  it('are pinned as far as the budget goes', async () => {
    const { manager, handle, store, load } = whole({}, { maxPinnedBytes: 260 * MiB });
    await load();
    expect([...store.pinned]).toEqual([-1, ...handle.placementOrder.slice(0, 2)]);
    expect(mib(manager.pins.bytes)).toBe(250);
  });

  it('are not pinned where none are kept, or where less host memory is free than is to stay so', async () => {
    const off = whole({}, { hostCopies: 'off' });
    await off.load();
    expect(off.manager.pins.bytes).toBe(0);
    expect(off.store.ownedHostBytes).toBe(0);
    const hostMemory = () => ({ totalBytes: 8192 * MiB, availableBytes: 2300 * MiB });
    const short = testManager({ totalMiB: 8000 }, { ramReserveBytes: 2048 * MiB }, { hostMemory });
    const { handle } = fakeComponent(short.device, { component: 'main', units: sizes(4, 100) });
    short.manager.register(handle);
    (await short.manager.load([handle], MiB, { name: 'main' })).release();
    expect(mib(short.manager.pins.bytes)).toBe(200);
  });

  it('are dropped with their pinned memory, and pinned again when they are placed again', async () => {
    const { manager, handle, store, load } = whole();
    await load();
    expect(mib(await manager.dropHost(handle))).toBe(450);
    expect([manager.pins.bytes, store.pinned.size, store.ownedHostBytes]).toEqual([0, 0, 0]);
    await load();
    expect(manager.pins.bytes).toBe(0);
    await handle.leave();
    await load();
    expect(mib(manager.pins.bytes)).toBe(450);
  });

  it('give their pinned memory to what streams, least recently used first', async () => {
    const { manager, device } = testManager(
      { totalMiB: 1000 },
      { maxPinnedBytes: 900 * MiB, reserveBytes: 0 },
    );
    const make = (model: string, count: number) => {
      const made = fakeComponent(device, { model, component: 'main', units: sizes(count, 100) });
      manager.register(made.handle);
      return { ...made, load: async () => (await manager.load([made.handle], 0, { name: model })).release() };
    };
    const [old, recent, large] = [make('old', 3), make('recent', 3), make('large', 16)];
    await old.load();
    await recent.load();
    expect(mib(manager.pins.bytes)).toBe(600);
    await large.load();
    const streamed = large.handle.unitCount - large.handle.placementOrder.length;
    expect(large.store.pinned.size).toBe(streamed);
    expect(old.store.pinned.size).toBe(0);
    expect(recent.store.pinned.size).toBe(Math.min(3, 9 - streamed));
    expect(manager.pins.bytes).toBeLessThanOrEqual(900 * MiB);
    // What is allowed from now on holds at once.
    manager.pins.limit(250 * MiB);
    expect(recent.store.pinned.size).toBe(0);
    expect(large.store.pinned.size).toBe(2);
  });
});

describe('a pin', () => {
  const budget = 1000 * MiB;

  it('that the device refuses is not counted', async () => {
    const pins = new PinBudget();
    const { handle, store } = fakeComponent(new FakeDevice(), { component: 'main', units: [10, 10] });
    store.pin = async () => 0;
    await pins.settle(handle, [0, 1], budget, true);
    expect([pins.bytes, pins.sourceOf(handle, [0, 1])]).toEqual([0, false]);
    store.pin = async () => Promise.reject(new Error('lost'));
    await expect(pins.settle(handle, [0], budget, true)).rejects.toThrow('lost');
    expect(pins.bytes).toBe(0);
  });

  it('that was released while it was made is not counted twice', async () => {
    const pins = new PinBudget();
    const { handle, store } = fakeComponent(new FakeDevice(), { component: 'main', units: [10] });
    handle.store.bind(new FakeDevice());
    const settling = pins.settle(handle, [0], budget, true);
    expect(mib(pins.bytes)).toBe(10);
    expect(mib(pins.release(handle))).toBe(10);
    await settling;
    expect(pins.bytes).toBe(0);
    store.disposed = true;
    await pins.settle(handle, [0], budget, true);
    expect(pins.bytes).toBe(0);
  });

  it('counts what is pinned, stays within the budget and puts what streams first, whatever happens', async () => {
    const step = fc.record({
      component: fc.nat(2),
      streamed: fc.uniqueArray(fc.nat(5), { maxLength: 6 }),
      action: fc.constantFrom('settle', 'settle', 'settle', 'keep', 'keep', 'release', 'copies', 'limit'),
      budget: fc.nat(120),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const pins = new PinBudget();
        const device = new FakeDevice();
        const parts = [true, false, false].map((inFile, i) =>
          fakeComponent(device, { model: `m${i}`, component: 'main', units: [5, 10, 15, 5, 10, 15], inFile }),
        );
        for (const [time, { component, streamed, action, budget }] of steps.entries()) {
          const { handle, store } = parts[component]!;
          handle.lastUsed = time;
          if (action === 'settle') {
            await pins.settle(handle, streamed, budget * MiB, true);
            const missing = streamed.find((unit) => !store.pinned.has(unit));
            if (missing !== undefined) {
              expect(pins.bytes + store.unitBytes(missing)).toBeGreaterThan(budget * MiB);
            }
          } else if (action === 'keep') {
            for (const unit of streamed) await pins.keep(handle, unit, budget * MiB);
            expect(component > 0 || pins.pinnedBytes(handle) === 0 || store.pinned.size > 0).toBe(true);
          } else if (action === 'release') pins.release(handle);
          else if (action === 'copies') pins.releaseCopies(handle);
          else pins.limit(budget * MiB);
          if (action === 'limit') expect(pins.bytes).toBeLessThanOrEqual(budget * MiB);
          for (const part of parts) expect(pins.pinnedBytes(part.handle)).toBe(pinnedOf(part.store));
          expect(pins.bytes).toBe(parts.reduce((sum, part) => sum + pinnedOf(part.store), 0));
        }
      }),
      { numRuns: 500 },
    );
  });
});

function pinnedOf(store: FakeStore): number {
  return [...store.pinned].reduce((sum, unit) => sum + store.unitBytes(unit), 0);
}
