import { describe, expect, it } from 'vitest';
import type { Reason } from './planner/reasons.ts';
import { MiB } from './policy.ts';
import { fakeComponent } from './testing/fake-device.ts';
import { testManager } from './testing/managers.ts';
import { maxWaitMs, RoomWait } from './waiting.ts';

const sizes = (count: number, size: number): number[] => Array<number>(count).fill(size);

describe('waiting for another request', () => {
  it('7. ends on the event of its end, by our own ledger, with the reason', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 }, { gpuJobs: 2 });
    const first = fakeComponent(device, { model: 'a', component: 'first', fixed: 1200 }).handle;
    const second = fakeComponent(device, { model: 'b', component: 'second', fixed: 1100 }).handle;
    for (const handle of [first, second]) manager.register(handle);
    const running = await manager.load([first], 0, { name: 'first', owner: 'one' });
    const reasons: string[] = [];
    const started = performance.now();
    const waiting = manager.load([second], 0, {
      name: 'second',
      owner: 'two',
      onWait: (why) => reasons.push(why.text),
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(second.loadedBytes).toBe(0);
    expect(reasons).toEqual(['second waits for first, which holds 1,200 MiB on GPU0.']);
    running.release();
    const placement = await waiting;
    expect(performance.now() - started).toBeLessThan(2000);
    expect(second.isWhole).toBe(true);
    expect(first.loadedBytes).toBe(0);
    placement.release();
  });

  it('7. whenever that end comes, also while it is found that there is no room', async () => {
    for (let ticks = 0; ticks < 40; ticks++) {
      const { manager, device } = testManager({ totalMiB: 2048 }, { gpuJobs: 2 });
      const first = fakeComponent(device, { model: 'a', component: 'first', fixed: 1200 }).handle;
      const second = fakeComponent(device, { model: 'b', component: 'second', fixed: 1100 }).handle;
      for (const handle of [first, second]) manager.register(handle);
      const running = await manager.load([first], 0, { name: 'first', owner: 'one' });
      const waiting = manager.load([second], 0, { name: 'second', owner: 'two' });
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      running.release();
      const late = new Promise<null>((resolve) => setTimeout(resolve, 2000, null).unref());
      expect(await Promise.race([waiting, late]), `released after ${ticks} ticks`).not.toBeNull();
    }
  });

  it('7. never longer than that, though another program takes the freed memory at that moment', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 }, { gpuJobs: 2 });
    const first = fakeComponent(device, { model: 'a', component: 'first', fixed: 1200 }).handle;
    const second = fakeComponent(device, {
      model: 'b',
      component: 'second',
      fixed: 100,
      units: sizes(10, 100),
    }).handle;
    for (const handle of [first, second]) manager.register(handle);
    const running = await manager.load([first], 0, { name: 'first', owner: 'one' });
    // 2,048 - 512 - 1,200 = 336: less than 100 and two slots of 100 with 100 of working memory.
    const waiting = manager.load([second], 100 * MiB, { name: 'second', owner: 'two' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(second.inUse).toBe(false);
    device.setForeignBytes(600 * MiB);
    running.release();
    const placement = await waiting;
    // 2,048 - 600 - 512 - 100 - 100 fixed - 2 slots of 100 = 536
    expect(second.loadedBytes).toBe(600 * MiB);
    placement.release();
  });

  it('7. ends at the stated limit, with the reason, and the request is tried all the same', async () => {
    const { manager, device, book } = testManager({ totalMiB: 2048 });
    const { handle } = fakeComponent(device, { model: 'a', component: 'holder', fixed: 1200 });
    manager.register(handle);
    const running = await manager.load([handle], 0, { name: 'holder', owner: 'one' });
    const wait = new RoomWait({ book, name: 'other', owner: 'two', priority: 0, maxMs: 40 });
    expect(wait.shouldWait(() => 1)).toBe(true);
    let over: Reason | null = null;
    while (over === null) over = await wait.next();
    expect(over.text).toBe('other waited 0 s for holder; it is tried all the same.');
    expect(wait.shouldWait(() => 1)).toBe(false);
    expect(maxWaitMs).toBe(10 * 60 * 1000);
    running.release();
  });

  it('the driver lowers the budget: what another program took meanwhile is not counted as free', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(20, 100) });
    manager.register(handle);
    (await manager.load([handle], 0, { name: 'main' })).release();
    await handle.leave();
    await manager.book(device).trim();
    device.setForeignBytes(700 * MiB);
    const placement = await manager.load([handle], 0, { name: 'main' });
    // 2,048 - 700 - 512 - 200 = 636
    expect(handle.loadedBytes).toBe(600 * MiB);
    placement.release();
  });

  it('wakes the more important request first', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const holder = fakeComponent(device, { model: 'a', component: 'holder', fixed: 1200 }).handle;
    const low = fakeComponent(device, { model: 'b', component: 'low', fixed: 1100 }).handle;
    const high = fakeComponent(device, { model: 'c', component: 'high', fixed: 1100 }).handle;
    for (const handle of [holder, low, high]) manager.register(handle);
    const running = await manager.load([holder], 0, { name: 'holder', owner: 'one' });
    const order: string[] = [];
    const wait = async (handle: typeof low, priority: number): Promise<void> => {
      const placement = await manager.load([handle], 0, {
        name: handle.component,
        owner: handle.id,
        priority,
      });
      order.push(handle.component);
      await new Promise((resolve) => setTimeout(resolve, 5));
      placement.release();
    };
    const both = [wait(low, 0), wait(high, 1)];
    await new Promise((resolve) => setTimeout(resolve, 20));
    running.release();
    await Promise.all(both);
    expect(order).toEqual(['high', 'low']);
  });

  it('stops when the request is cancelled', async () => {
    const { manager, device } = testManager({ totalMiB: 2048 });
    const holder = fakeComponent(device, { model: 'a', component: 'holder', fixed: 1200 }).handle;
    const other = fakeComponent(device, { model: 'b', component: 'other', fixed: 1100 }).handle;
    for (const handle of [holder, other]) manager.register(handle);
    const running = await manager.load([holder], 0, { name: 'holder', owner: 'one' });
    const signal = { cancelled: false, cancel: () => {} };
    const waiting = manager.load([other], 0, { name: 'other', owner: 'two', signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    signal.cancelled = true;
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    expect(holder.isWhole).toBe(true);
    running.release();
  });
});
