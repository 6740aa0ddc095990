import { describe, expect, it } from 'vitest';
import { Calibration } from './calibration.ts';
import { ModelManager } from './model-manager.ts';
import { isUnified, MiB, resolveMode, type VramPolicy } from './policy.ts';
import { FakeDevice, fakeComponent } from './testing/fake-device.ts';
import { testPolicy } from './testing/managers.ts';

function managerOn(device: FakeDevice, policy: Partial<VramPolicy> = {}): ModelManager {
  const manager = new ModelManager({
    policy: () => ({ ...testPolicy, mode: 'auto', ...policy }),
    calibration: Calibration.inMemory(),
    checkAlways: true,
  });
  manager.addDevice(device);
  return manager;
}

const integrated = (totalMiB: number, mapsHostMemory = true): FakeDevice =>
  new FakeDevice({ totalMiB, kind: 'igpu', mapsHostMemory });

const moves = (device: FakeDevice): string[] => device.log.splice(0).map((entry) => entry[0]!);

describe('where memory is shared', () => {
  it('weights are used where they lie: nothing is copied, pinned or kept twice, everything counts', async () => {
    const device = integrated(4096);
    const manager = managerOn(device);
    const { handle } = fakeComponent(device, { component: 'main', fixed: 100, units: [300, 300, 300] });
    manager.register(handle);
    const placement = await manager.load([handle], 500 * MiB, { name: 'main' });
    expect(moves(device)).toEqual(['=', '=', '=', '=']);
    expect(device.copies).toBe(0);
    expect(device.held.weights).toBe(1000 * MiB);
    expect(handle.mappedBytes).toBe(1000 * MiB);
    expect(manager.pins.bytes).toBe(0);
    const told = manager.trace.events().filter(({ code }) => code === 'weights_in_place');
    expect(told.map(({ text }) => text)).toEqual([
      'test:main: 1,000 MiB of its weights are used where they lie in the checkpoint; 0 MiB were copied.',
    ]);
    placement.release();
    // In place already: nothing moves, and nothing is told again.
    (await manager.load([handle], 500 * MiB, { name: 'main' })).release();
    expect(moves(device)).toEqual([]);
    expect(manager.trace.events().filter(({ code }) => code === 'weights_in_place')).toHaveLength(1);
    await manager.unregister(handle);
    expect(device.held.weights).toBe(0);
  });

  it('an idle component leaves whole, and the next is placed whole', async () => {
    const device = integrated(2048);
    const manager = managerOn(device);
    const first = fakeComponent(device, { model: 'a', component: 'main', units: [400, 400, 400] }).handle;
    const second = fakeComponent(device, { model: 'b', component: 'main', units: [400, 400] }).handle;
    for (const handle of [first, second]) manager.register(handle);
    (await manager.load([first], 100 * MiB, { name: 'first' })).release();
    (await manager.load([second], 100 * MiB, { name: 'second' })).release();
    expect(first.loadedBytes).toBe(0);
    expect(first.mappedBytes).toBe(0);
    expect(second.mappedBytes).toBe(800 * MiB);
    expect(second.partial).toBeNull();
  });

  it('an import that fails is made again after room was made, as an allocation is', async () => {
    const device = integrated(4096);
    const manager = managerOn(device);
    const { handle } = fakeComponent(device, { component: 'main', units: [100, 100, 100, 100] });
    manager.register(handle);
    device.setFaults({ failAllocation: 3 });
    (await manager.load([handle], 0, { name: 'main' })).release();
    expect(handle.isWhole).toBe(true);
    expect(handle.mappedBytes).toBe(400 * MiB);
    expect(manager.trace.events().filter(({ kind }) => kind === 'out_of_memory')).toHaveLength(1);
  });

  it.each([
    ['auto', 0],
    ['off', 0],
    ['on', 500],
  ] as const)(
    'copies that a device wants all the same: host copies %s keep %i MiB of them',
    async (hostCopies, kept) => {
      const device = integrated(4096, false);
      const manager = managerOn(device, { hostCopies });
      const { handle, store } = fakeComponent(device, { component: 'main', fixed: 100, units: [200, 200] });
      manager.register(handle);
      (await manager.load([handle], 0, { name: 'main' })).release();
      expect(moves(device)).toEqual(['+', '+', '+']);
      expect(handle.mappedBytes).toBe(0);
      expect(store.ownedHostBytes).toBe(kept * MiB);
      expect(manager.trace.events().some(({ code }) => code === 'weights_in_place')).toBe(false);
    },
  );

  it('other modes copy there, too', async () => {
    const device = integrated(4096);
    const manager = managerOn(device, { mode: 'normal' });
    const { handle } = fakeComponent(device, { component: 'main', units: [100] });
    manager.register(handle);
    (await manager.load([handle], 0, { name: 'main' })).release();
    // The fixed part has no bytes; the host copy of the unit is page-locked first.
    expect(moves(device)).toEqual(['+', '!', '+']);
  });

  it('is the mode of integrated graphics and of Metal', () => {
    expect(resolveMode('auto', isUnified('igpu', 'Vulkan'))).toBe('shared');
    expect(resolveMode('auto', isUnified('gpu', 'MTL'))).toBe('shared');
    expect(resolveMode('auto', isUnified('gpu', 'Vulkan'))).toBe('normal');
    expect(resolveMode('shared', isUnified('gpu', 'CUDA'))).toBe('high');
  });
});
