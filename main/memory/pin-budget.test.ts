import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CancelToken } from '../../native/addon.ts';
import { Calibration } from './calibration.ts';
import { ModelManager } from './model-manager.ts';
import { PinBudget } from './pin-budget.ts';
import { MiB, type VramPolicy } from './policy.ts';
import { FakeDevice, type FakeStore, fakeComponent } from './testing/fake-device.ts';
import { testManager, testPolicy } from './testing/managers.ts';

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

describe('what is counted as pinned is pinned', () => {
  const make = (policy: Partial<VramPolicy> = {}) => {
    const inForce = { ...policy };
    const fake = new FakeDevice({ totalMiB: 1000 });
    const manager = new ModelManager({
      policy: () => ({ ...testPolicy, reserveBytes: 0, ...inForce }),
      calibration: Calibration.inMemory(),
      checkAlways: true,
    });
    manager.addDevice(fake);
    const { handle, store } = fakeComponent(fake, { component: 'main', units: sizes(6, 100) });
    manager.register(handle);
    const load = async (memory: number, signal?: CancelToken) =>
      (await manager.load([handle], memory * MiB, { name: 'main', signal })).release();
    return { fake, manager, handle, store, load, inForce };
  };
  const agree = ({ manager, store }: ReturnType<typeof make>) =>
    expect(manager.pins.bytes).toBe(pinnedOf(store));

  it('when copies are no longer kept, also of what lies in its file and is locked there', async () => {
    const made = make();
    await made.load(0);
    expect(mib(made.manager.pins.bytes)).toBe(600);
    made.inForce.hostCopies = 'off';
    await made.load(0);
    expect([made.manager.pins.bytes, made.store.pinned.size, made.store.ownedHostBytes]).toEqual([0, 0, 0]);

    const { manager, device } = testManager({ totalMiB: 1000, locksHostMemory: true }, { reserveBytes: 0 });
    const { handle, store } = fakeComponent(device, { component: 'file', units: [100], inFile: true });
    manager.register(handle);
    const load = async (hostCopies: 'auto' | 'off') => {
      const policy = { ...testPolicy, hostCopies };
      (await manager.load([handle], 0, { name: 'file', policy })).release();
    };
    await load('auto');
    expect(mib(manager.pins.bytes)).toBe(100);
    await load('off');
    expect([manager.pins.bytes, store.pinned.size]).toEqual([0, 0]);
  });

  it('when copies are dropped of what streamed and came to the device before its stage was cancelled', async () => {
    const made = make();
    await made.load(600);
    expect(made.store.pinned.size).toBe(made.handle.unitCount - made.handle.placementOrder.length);
    const signal = { cancelled: false, cancel: () => {} };
    const { place } = made.store;
    made.store.place = async (unit, token) => {
      const bytes = await place.call(made.store, unit, token);
      signal.cancelled = bytes > 0;
      return bytes;
    };
    await expect(made.load(0, signal)).rejects.toThrow('Cancelled');
    await made.manager.dropHost(made.handle);
    agree(made);
    made.store.place = place;
    await made.handle.leave();
    await made.load(900);
    expect(made.store.pinned.size).toBe(made.handle.unitCount - made.handle.placementOrder.length);
    agree(made);
  });

  it('when copies are dropped while a stage gives units up, or places them', async () => {
    for (let ticks = 0; ticks < 160; ticks++) {
      const made = make();
      await made.load(0);
      const stage = made.load(ticks % 2 === 0 ? 700 : 0);
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      const [, other] = await Promise.all([stage, made.manager.dropHost(made.handle)]);
      expect(other).toBeGreaterThanOrEqual(0);
      agree(made);
      if (made.handle.isPartial) {
        const placed = new Set(made.handle.placementOrder);
        const streamed = made.handle.unitBytes.map((_, unit) => unit).filter((unit) => !placed.has(unit));
        expect([...made.store.pinned].filter((unit) => !placed.has(unit)).sort()).toEqual(streamed);
      }
    }
  });

  it('when less is allowed while a component is placed', async () => {
    const made = make();
    const loading = made.load(0);
    while (made.store.pinned.size < 2) await Promise.resolve();
    made.inForce.maxPinnedBytes = 150 * MiB;
    made.manager.limitPins();
    await loading;
    expect(made.manager.pins.bytes).toBeLessThanOrEqual(150 * MiB);
    agree(made);
  });
});

describe('whatever requests, relief and settings do side by side', () => {
  const action = fc.record({
    what: fc.constantFrom('load', 'load', 'load', 'load', 'drop', 'limit', 'leave', 'replace', 'copies'),
    component: fc.nat(3),
    mib: fc.nat(900),
    ticks: fc.nat(60),
    cancelled: fc.boolean(),
    whole: fc.boolean(),
  });

  it('what is counted is pinned, and within what is allowed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(action, { minLength: 1, maxLength: 4 }), { maxLength: 8 }),
        async (rounds) => {
          const inForce = { ...testPolicy, reserveBytes: 0 };
          const manager = new ModelManager({
            policy: () => ({ ...inForce }),
            calibration: Calibration.inMemory(),
            checkAlways: true,
          });
          const devices = ['GPU0', 'GPU1'].map((name) => new FakeDevice({ name, totalMiB: 1000 }));
          for (const device of devices) manager.addDevice(device);
          let models = 0;
          const make = (device: FakeDevice) => {
            const model = `m${models++}`;
            const made = fakeComponent(device, { model, component: 'main', fixed: 20, units: sizes(6, 100) });
            manager.register(made.handle);
            return { ...made, device };
          };
          const parts = [0, 0, 1, 1].map((index) => make(devices[index]!));
          const gone: FakeStore[] = [];
          const act = async ({
            what,
            component,
            mib: size,
            ticks,
            cancelled,
            whole,
          }: ActionOf<typeof action>) => {
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
            const { handle, store, device } = parts[component]!;
            if (what === 'load') {
              const signal = { cancelled: false, cancel: () => {} };
              const loading = manager.load([handle], (whole ? 0 : size) * MiB, {
                name: handle.model,
                signal,
              });
              if (cancelled) for (let tick = 0; tick < size / 10; tick++) await Promise.resolve();
              signal.cancelled = cancelled;
              (await loading).release();
            } else if (what === 'drop') await manager.dropHost(handle);
            else if (what === 'limit') {
              inForce.maxPinnedBytes = size * MiB;
              manager.limitPins();
            } else if (what === 'copies') inForce.hostCopies = whole ? 'off' : 'auto';
            else if (what === 'leave') await manager.releaseDevice(device);
            else {
              // Refused while a request holds it.
              await manager.unregister(handle);
              parts[component] = make(device);
              gone.push(store);
            }
          };
          for (const actions of rounds) {
            const done = await Promise.allSettled(actions.map(act));
            for (const one of done) {
              if (one.status === 'rejected')
                expect(String(one.reason)).toMatch(/Cancelled|is in use|which is not on|No component/);
            }
            let pinned = 0;
            for (const { handle, store } of parts) {
              expect(manager.pins.pinnedBytes(handle)).toBe(pinnedOf(store));
              pinned += pinnedOf(store);
            }
            expect(manager.pins.bytes).toBe(pinned);
            expect(pinned).toBeLessThanOrEqual(inForce.maxPinnedBytes);
          }
          for (const store of gone) expect(store.pinned.size).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('what others have pinned', () => {
  it('stays where pinned memory is of no use to a device', async () => {
    const calibration = Calibration.inMemory();
    const { manager, device } = testManager({ totalMiB: 1000 }, { reserveBytes: 0 }, { calibration });
    const useless = new FakeDevice({ name: 'GPU1', totalMiB: 1000 });
    useless.info = () => ({ ...device.info(), description: 'Another fake' });
    const { key } = manager.addDevice(useless);
    calibration.pinningHelps = (asked) => (asked === key ? false : null);
    const whole = fakeComponent(device, { model: 'a', component: 'main', units: sizes(3, 100) });
    const streams = fakeComponent(useless, { model: 'b', component: 'main', units: sizes(16, 100) });
    for (const { handle } of [whole, streams]) {
      manager.register(handle);
      (await manager.load([handle], 0, { name: handle.model })).release();
    }
    expect(streams.handle.isPartial).toBe(true);
    expect([whole.store.pinned.size, streams.store.pinned.size]).toEqual([3, 0]);
    expect(mib(manager.pins.bytes)).toBe(300);
  });

  it('stays where giving it up would not make enough room', async () => {
    const pins = new PinBudget();
    const device = new FakeDevice();
    const copy = fakeComponent(device, { model: 'a', component: 'main', units: [10] });
    const streams = fakeComponent(device, { model: 'b', component: 'main', units: [80, 30] });
    await pins.keep(copy.handle, 0, 100 * MiB);
    await pins.settle(streams.handle, [0, 1], 100 * MiB, true);
    expect([[...copy.store.pinned], [...streams.store.pinned]]).toEqual([[0], [0]]);
  });

  it('of what streamed and has left the device go as others do', async () => {
    const { manager, device } = testManager(
      { totalMiB: 600 },
      { maxPinnedBytes: 900 * MiB, reserveBytes: 0 },
    );
    const make = (model: string) => {
      const made = fakeComponent(device, { model, component: 'main', fixed: 1, units: sizes(12, 100) });
      manager.register(made.handle);
      return { ...made, load: async () => (await manager.load([made.handle], 0, { name: model })).release() };
    };
    const [first, second] = [make('first'), make('second')];
    await first.load();
    const streamed = first.store.pinned.size;
    expect(streamed).toBeGreaterThan(6);
    await second.load();
    expect(first.handle.loadedBytes).toBe(0);
    expect(second.store.pinned.size).toBe(streamed);
    expect(mib(manager.pins.bytes)).toBeLessThanOrEqual(900);
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
        let most = Number.POSITIVE_INFINITY;
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
              expect(pins.bytes + store.unitBytes(missing)).toBeGreaterThan(Math.min(budget * MiB, most));
            }
          } else if (action === 'keep') {
            for (const unit of streamed) await pins.keep(handle, unit, budget * MiB);
            expect(component > 0 || pins.pinnedBytes(handle) === 0 || store.pinned.size > 0).toBe(true);
          } else if (action === 'release') pins.release(handle);
          else if (action === 'copies') await pins.dropCopies(handle);
          else {
            most = budget * MiB;
            pins.limit(most);
          }
          expect(pins.bytes).toBeLessThanOrEqual(most);
          for (const part of parts) expect(pins.pinnedBytes(part.handle)).toBe(pinnedOf(part.store));
          expect(pins.bytes).toBe(parts.reduce((sum, part) => sum + pinnedOf(part.store), 0));
        }
      }),
      { numRuns: 500 },
    );
  });
});

type ActionOf<T> = T extends fc.Arbitrary<infer A> ? A : never;

function pinnedOf(store: FakeStore): number {
  return [...store.pinned].reduce((sum, unit) => sum + store.unitBytes(unit), 0);
}
