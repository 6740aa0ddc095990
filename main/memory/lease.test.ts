import { describe, expect, it } from 'vitest';
import { DesktopLease, holdMs } from './lease.ts';
import { MiB } from './policy.ts';
import { fakeComponent } from './testing/fake-device.ts';
import { testManager } from './testing/managers.ts';

const sizes = (count: number, size: number): number[] => Array<number>(count).fill(size);

describe('a lease with the desktop', () => {
  it('idle components leave for a program that grows, by what is missing of the reserve', async () => {
    const { manager, device } = testManager({ totalMiB: 4096 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(30, 100) });
    manager.register(handle);
    const lease = new DesktopLease(manager);
    (await manager.load([handle], 0, { name: 'main' })).release();
    await lease.tick(0);
    expect(handle.isWhole).toBe(true);
    device.setForeignBytes(1000 * MiB);
    await lease.tick(250);
    // 4,096 - 1,000 - 512 = 2,584
    expect(handle.loadedBytes).toBe(2500 * MiB);
    expect(manager.trace.events().at(-1)).toMatchObject({ kind: 'desktop', bytes: -500 * MiB });
    expect(manager.trace.events().at(-1)!.text).toContain('another program took');
  });

  it('what left comes back only after a hold time', async () => {
    const { manager, device } = testManager({ totalMiB: 4096 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(30, 100) });
    manager.register(handle);
    const lease = new DesktopLease(manager);
    const stage = async (): Promise<number> => {
      (await manager.load([handle], 0, { name: 'main' })).release();
      return handle.loadedBytes / MiB;
    };
    await lease.tick(0);
    expect(await stage()).toBe(3000);
    device.setForeignBytes(1000 * MiB);
    await lease.tick(250);
    device.setForeignBytes(0);
    await lease.tick(500);
    expect(await stage()).toBeLessThan(2600);
    await lease.tick(300 + holdMs);
    await lease.tick(600 + holdMs);
    expect(await stage()).toBe(3000);
  });

  it('what a stage uses stays until its border', async () => {
    const { manager, device } = testManager({ totalMiB: 4096 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(30, 100) });
    manager.register(handle);
    const lease = new DesktopLease(manager);
    await lease.tick(0);
    const placement = await manager.load([handle], 0, { name: 'main' });
    device.setForeignBytes(900 * MiB);
    await lease.tick(250);
    expect(handle.isWhole).toBe(true);
    placement.release();
    await lease.tick(500);
    expect(handle.isWhole).toBe(false);
  });

  it('a device that spills into system memory is reported once', async () => {
    const { manager, device } = testManager({ totalMiB: 4096 });
    const { handle } = fakeComponent(device, { component: 'main', units: sizes(30, 100) });
    manager.register(handle);
    (await manager.load([handle], 0, { name: 'main' })).release();
    const lease = new DesktopLease(manager);
    const memory = device.memory.bind(device);
    device.memory = () => ({ ...memory(), freeBytes: 2000 * MiB });
    await lease.tick(0);
    await lease.tick(250);
    const warnings = manager.trace.events().filter(({ kind }) => kind === 'warning');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]!.text).toContain('lie in system memory');
  });
});
