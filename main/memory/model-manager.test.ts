import { describe, expect, it } from 'vitest';
import { MiB } from './policy.ts';
import { type FakeArena, type FakeStore, fakeComponent } from './testing/fake-device.ts';
import { testManager } from './testing/managers.ts';

const sizes = (count: number, size: number): number[] => Array<number>(count).fill(size);

describe('ModelManager.load', () => {
  it('1. empty card: 27 of 48 units resident, at most the streamed ones pinned, nothing moves in later requests', async () => {
    const hostMemory = () => ({ totalBytes: 32_768 * MiB, availableBytes: 20_000 * MiB });
    const card = { totalMiB: 16_384, foreignMiB: 900 };
    const { manager, device } = testManager(card, { maxPinnedBytes: 13_107 * MiB }, { hostMemory });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(48, 400) });
    manager.register(handle);
    const held: number[] = [];
    for (let request = 1; request <= 5; request++) {
      const copies = device.copies;
      const placement = await manager.load([handle], 3000 * MiB, { name: 'main' });
      (manager.book(device).arena as FakeArena).grow(3000 * MiB);
      expect(handle.placementOrder).toHaveLength(27);
      expect(device.streamer).toEqual({ slots: 2, slotBytes: 400 * MiB, prefetch: true });
      expect(manager.pins.bytes).toBe(8400 * MiB);
      if (request > 1) expect(device.copies - copies).toBe(0);
      placement.release();
      held.push(device.heldBytes);
    }
    expect(held[4]).toBe(held[0]);
    expect(handle.partial).toMatchObject({
      reason: 'budget',
      mode: 'normal',
      size_mb: 19_200,
      loaded_mb: 10_800,
    });
    await manager.unregister(handle);
    expect(device.held.weights).toBe(0);
    expect(manager.pins.bytes).toBe(0);
  });

  it('2. the small helper: one unit gives way; after three requests that took 300 MiB, none', async () => {
    const { manager, device, book } = testManager({ totalMiB: 8192, foreignMiB: 600 });
    const voice = fakeComponent(device, { model: 'voice', component: 'main', units: sizes(54, 100) }).handle;
    const helper = fakeComponent(device, { model: 'helper', component: 'main', fixed: 620 }).handle;
    manager.register(voice);
    manager.register(helper);
    (await manager.load([voice], 0, { name: 'voice' })).release();
    for (let request = 1; request <= 4; request++) {
      const placement = await manager.load([helper], 1080 * MiB, { name: 'helper' });
      expect(voice.placementOrder).toHaveLength(request === 4 ? 54 : 53);
      (book.arena as FakeArena).grow(300 * MiB);
      placement.release();
      await helper.leave();
      const uploads = device.copies;
      (await manager.load([voice], 0, { name: 'voice' })).release();
      expect(device.copies - uploads).toBeLessThanOrEqual(1);
    }
    expect(manager.trace.events().some(({ text }) => text?.includes('short by 20 MiB'))).toBe(true);
    expect(voice.partial).toBeNull();
  });

  it('3. the component that comes late: one unit leaves if idle scratch memory and slots are lent, and returns', async () => {
    const { manager, device, book } = testManager({ totalMiB: 12_288, foreignMiB: 300 });
    const main = fakeComponent(device, { model: 'a', component: 'main', units: sizes(62, 250) }).handle;
    const late = fakeComponent(device, { model: 'a', component: 'late', fixed: 850 }).handle;
    for (const handle of [main, late]) manager.register(handle);
    const stage = async (handle: typeof main, memory: number): Promise<void> => {
      const placement = await manager.load([handle], memory * MiB, { name: handle.component });
      (book.arena as FakeArena).grow(memory * MiB);
      placement.release();
    };
    await stage(main, 1200);
    expect(main.placementOrder).toHaveLength(39);
    await stage(late, 1000);
    expect(main.placementOrder).toHaveLength(38);
    expect(main.partial).toMatchObject({ reason: 'gave up for another component', gave_up_for: 'a:late' });
    await stage(main, 1200);
    expect(main.placementOrder).toHaveLength(39);
    const uploaded = (store: FakeStore): number =>
      store.unitStats(0).copiedBytes +
      [...Array(61).keys()].reduce((sum, unit) => sum + store.unitStats(unit + 1).copiedBytes, 0);
    expect(uploaded(main.store as FakeStore)).toBe(40 * 250 * MiB);
  });

  it('keeps what a stage uses, however much another one wants', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const busy = fakeComponent(device, { model: 'a', component: 'busy', units: sizes(10, 100) }).handle;
    const other = fakeComponent(device, { model: 'b', component: 'other', units: sizes(20, 50) }).handle;
    for (const handle of [busy, other]) manager.register(handle);
    const first = await manager.load([busy], 100 * MiB, { name: 'busy', owner: 'request' });
    const second = await manager.load([other], 100 * MiB, { name: 'other', owner: 'request' });
    expect(busy.isWhole).toBe(true);
    expect(other.isPartial).toBe(true);
    // 2,048 - 512 - 1,000 - 100 - 100 promised = 336, of which 2 slots of 50.
    expect(other.loadedBytes).toBe(200 * MiB);
    second.release();
    first.release();
  });

  it('moves whole components in mode high, and tries the whole load', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 }, { mode: 'high' });
    const idle = fakeComponent(device, { model: 'a', component: 'idle', units: sizes(10, 100) }).handle;
    const main = fakeComponent(device, { model: 'b', component: 'main', units: sizes(10, 60) }).handle;
    for (const handle of [idle, main]) manager.register(handle);
    (await manager.load([idle], 0, { name: 'idle' })).release();
    const placement = await manager.load([main], 0, { name: 'main' });
    expect(idle.loadedBytes).toBe(0);
    expect(main.isWhole).toBe(true);
    placement.release();
  });

  it('plans anew when another program takes memory between planning and placing', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const { handle, store } = fakeComponent(device, { component: 'main', units: sizes(10, 100) });
    manager.register(handle);
    const place = store.place.bind(store);
    let calls = 0;
    store.place = (unit, signal) => {
      if (++calls === 3) device.setForeignBytes(1200 * MiB);
      return place(unit, signal);
    };
    const placement = await manager.load([handle], 0, { name: 'main' });
    // 2,048 - 1,200 - 512 = 336, of which 2 slots of 100.
    expect(handle.loadedBytes).toBe(100 * MiB);
    expect(device.heldBytes).toBe(300 * MiB);
    placement.release();
    expect(manager.trace.events().some(({ kind }) => kind === 'out_of_memory')).toBe(true);
  });

  it.each(Array.from({ length: 12 }, (_, index) => index + 1))(
    'survives the failure of allocation %i: placed after planning anew, and the books agree',
    async (failAllocation) => {
      const { manager, device } = testManager({ totalMiB: 1024 }, { reserveBytes: 0 });
      const { handle } = fakeComponent(device, { component: 'main', fixed: 50, units: sizes(20, 100) });
      manager.register(handle);
      device.setFaults({ failAllocation });
      const placement = await manager.load([handle], 0, { name: 'main' });
      expect(handle.loadedBytes).toBe(750 * MiB);
      expect(device.held.weights).toBe(750 * MiB);
      placement.release();
      await manager.unregister(handle);
      await manager.book(device).trim();
      expect(device.heldBytes).toBe(0);
    },
  );

  it('a lost copy is an error, and what was placed before stays known', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(10, 100) });
    manager.register(handle);
    device.setFaults({ failCopy: 4 });
    await expect(manager.load([handle], 0, { name: 'main' })).rejects.toMatchObject({ code: 'DeviceLost' });
    manager.verify();
    expect(handle.loadedBytes).toBe(device.held.weights);
    expect(handle.inUse).toBe(false);
  });

  it('cancelling while placing leaves nobody in use and the books right', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const { handle, store } = fakeComponent(device, { component: 'main', units: sizes(10, 100) });
    manager.register(handle);
    const signal = { cancelled: false, cancel: () => {} };
    const place = store.place.bind(store);
    store.place = (unit, token) => {
      if (unit === 5) signal.cancelled = true;
      return place(unit, token);
    };
    await expect(manager.load([handle], 0, { name: 'main', signal })).rejects.toMatchObject({
      code: 'Cancelled',
    });
    expect(handle.inUse).toBe(false);
    expect(handle.loadedBytes).toBe(device.held.weights);
    await manager.releaseDevice(device);
    expect(device.heldBytes).toBe(0);
  });

  it('a cap after running out of memory holds until the component leaves the device', async () => {
    const { manager, device } = testManager({ totalMiB: 8192 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(20, 100) });
    const idle = fakeComponent(device, { model: 'idle', component: 'idle', units: sizes(3, 100) }).handle;
    manager.register(handle);
    manager.register(idle);
    (await manager.load([idle], 0, { name: 'idle' })).release();
    (await manager.load([handle], 0, { name: 'main' })).release({ error: null });
    await manager.afterOom([handle], 'main');
    expect(idle.loadedBytes).toBe(0);
    for (let request = 0; request < 2; request++) {
      (await manager.load([handle], 0, { name: 'main' })).release();
      expect(handle.loadedBytes).toBe(1000 * MiB);
      expect(handle.partial!.reason).toBe('capped after out of memory');
    }
    await handle.leave();
    (await manager.load([handle], 0, { name: 'main' })).release();
    expect(handle.isWhole).toBe(true);
  });

  it('on the processor nothing moves and nothing is counted', async () => {
    const { manager } = testManager({ totalMiB: 1024 });
    const { FakeDevice } = await import('./testing/fake-device.ts');
    const cpu = new FakeDevice({ isHost: true });
    manager.addDevice(cpu);
    const { handle } = fakeComponent(cpu, { component: 'main', fixed: 10, units: sizes(4, 100) });
    manager.register(handle);
    const placement = await manager.load([handle], 10 ** 12, { name: 'main' });
    expect(placement.plans).toEqual([]);
    expect(handle.isWhole).toBe(true);
    expect(handle.loadedBytes).toBe(410 * MiB);
    expect(cpu.allocations + cpu.copies).toBe(0);
    expect(handle.inUse).toBe(true);
    placement.release();
    expect(handle.inUse).toBe(false);
  });
});

describe('ModelManager.verify', () => {
  it('notices what a component thinks wrongly, and weights that no component knows of', async () => {
    const { manager, device } = testManager({ totalMiB: 1000 });
    const { handle, store } = fakeComponent(device, { component: 'main', units: sizes(4, 10), fixed: 5 });
    manager.register(handle);
    (await manager.load([handle], MiB, { name: 'main' })).release();
    expect(() => manager.verify()).not.toThrow();
    await store.unplace(2);
    expect(() => manager.verify()).toThrow(/unit 2 is thought to be on/);
    await store.place(2);
    device.allocate('weights', 7 * MiB);
    expect(() => manager.verify()).toThrow(
      `holds ${52 * MiB} bytes of weights, and its components know of ${45 * MiB} (`,
    );
  });
});

describe('pinned memory', () => {
  it('is left alone on a device on which it was measured not to help', async () => {
    const { manager, device, book } = testManager({ totalMiB: 4000 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(40, 200) });
    manager.register(handle);
    const place = async (): Promise<number> => {
      (await manager.load([handle], MiB, { name: 'main' })).release();
      return manager.pins.bytes;
    };
    expect(await place()).toBeGreaterThan(4000 * MiB);
    manager.calibration.noteSourceRate(book.key, true, 1000);
    manager.calibration.noteSourceRate(book.key, false, 990);
    expect(await place()).toBe(0);
    manager.calibration.noteSourceRate(book.key, false, 500);
    expect(await place()).toBeGreaterThan(4000 * MiB);
  });
});
