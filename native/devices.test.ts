import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OpenDeviceOptions } from './addon.ts';
import { dtypeCode, nativeFolder } from './load.ts';
import { absentVulkan, addon, failure, failureCode, vulkanName, vulkanRequired } from './test-support.ts';

describe('loading', () => {
  it('names its versions', () => {
    expect(addon.versions.addon).toMatch(/^\d+\.\d+\.\d+$/);
    expect(addon.versions.ggml).toMatch(/^\d+\.\d+/);
    expect(addon.versions.napi).toBeGreaterThanOrEqual(8);
  });

  it('says what is missing when a folder holds no addon', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mizuoto-'));
    const error = await failure(() => nativeFolder({ folder }));
    expect(error.code).toBe('BackendMissing');
    expect(error.message).toContain(folder);
  });

  it('says what is missing when a folder holds no backends', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mizuoto-'));
    // Backends of another folder are loaded already, so this one adds nothing and takes nothing away.
    addon.loadBackends(folder);
    expect(addon.devices().map((device) => device.name)).toContain('CPU');
  });

  it('loads a folder once', () => {
    const before = addon.devices().length;
    addon.loadBackends(nativeFolder());
    expect(addon.devices().length).toBe(before);
  });

  it('has the numbers of types that operations take', async () => {
    for (const [name, code] of Object.entries(dtypeCode)) {
      const recorder = addon.createRecorder();
      const a = recorder.input('f32', [1, 256]);
      const castable = ['f32', 'f16', 'bf16', 'i32', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'q8_0', 'iq4_nl'];
      if (castable.includes(name)) expect(recorder.dtype(recorder.op('cast', [a], [code]))).toBe(name);
      else
        expect((await failure(() => recorder.op('cast', [a], [code]))).message).toContain(`cast to ${name}`);
    }
  });
});

describe('devices', () => {
  it('lists the processor with its memory', () => {
    const cpu = addon.devices().find((device) => device.name === 'CPU')!;
    expect(cpu.kind).toBe('cpu');
    expect(cpu.totalBytes).toBeGreaterThan(2 ** 28);
    expect(cpu.freeBytes).toBeGreaterThan(0);
    expect(cpu.freeBytes).toBeLessThan(cpu.totalBytes);
  });

  it('reports the memory of the machine and of this process', () => {
    const memory = addon.hostMemory();
    expect(memory.availableBytes).toBeLessThanOrEqual(memory.totalBytes);
    expect(memory.processBytes).toBeGreaterThan(2 ** 20);
    expect(memory.processBytes).toBeLessThan(memory.totalBytes);
  });

  it('opens the processor, where weights are used in place', async () => {
    const device = await addon.openDevice({ name: 'CPU' });
    expect([device.name, device.kind, device.simulated, device.isHost]).toEqual(['CPU', 'cpu', false, true]);
    expect(device.memory().held).toEqual({ weights: 0, slots: 0, compute: 0, io: 0, state: 0 });
    expect(device.supportsDType('q4_K')).toBe(true);
    await device.close();
  });

  it('plays a device of the size that is asked for', async () => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes: 1_000_000, foreignBytes: 200_000 });
    expect([device.kind, device.simulated, device.isHost]).toEqual(['gpu', true, false]);
    expect(device.memory()).toMatchObject({ totalBytes: 1_000_000, freeBytes: 800_000 });
    device.setForeignBytes(900_000);
    expect(device.memory().freeBytes).toBe(100_000);
    device.setForeignBytes(5_000_000);
    expect(device.memory().freeBytes).toBe(0);
    await device.close();
  });

  it('opens the same device more than once', async () => {
    const devices = await Promise.all([1, 2, 3].map(() => addon.openDevice({ name: 'CPU', threads: 1 })));
    await Promise.all(devices.map((device) => device.close()));
  });

  it('names the devices there are when one is not', async () => {
    const error = await failure(() => addon.openDevice({ name: 'CUDA9' }));
    expect(error.code).toBe('DeviceNotFound');
    expect(error.message).toContain('CPU');
  });

  it.each<[string, unknown]>([
    ['no options', undefined],
    ['a number', 5],
    ['no name', {}],
    ['a name that is no string', { name: 7 }],
    ['no threads', { name: 'CPU', threads: 0 }],
    ['half a thread', { name: 'CPU', threads: 1.5 }],
    ['too many threads', { name: 'CPU', threads: 100_000 }],
    ['a negative size', { name: 'CPU', simulateBytes: -1 }],
    ['an endless size', { name: 'CPU', simulateBytes: Number.POSITIVE_INFINITY }],
    ['a negative link', { name: 'CPU', simulateBytes: 1, linkBytesPerSecond: -1 }],
    ['a link that is no number', { name: 'CPU', simulateBytes: 1, linkBytesPerSecond: Number.NaN }],
  ])('refuses %s', async (_, options) => {
    expect(await failureCode(() => addon.openDevice(options as OpenDeviceOptions))).toBe('InvalidArgument');
  });

  it('answers Disposed after close, however often it is closed', async () => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes: 1000 });
    const other = await addon.openDevice({ name: 'CPU' });
    await device.close();
    await device.close();
    expect(await failureCode(() => device.createArena())).toBe('Disposed');
    expect(await failureCode(() => device.createState([{ dtype: 'f32', shape: [1] }]))).toBe('Disposed');
    expect(await failureCode(() => device.setStreamer({ slots: 1, slotBytes: 1, prefetch: false }))).toBe(
      'Disposed',
    );
    await other.close();
  });

  it('cannot be confused with other objects', async () => {
    const device = await addon.openDevice({ name: 'CPU' });
    const store = addon.createWeightStore('none', []);
    expect(await failureCode(() => store.bind({} as typeof device))).toBe('InvalidArgument');
    expect(await failureCode(() => store.bind(store as unknown as typeof device))).toBe('InvalidArgument');
    const Constructor = device.constructor as new () => typeof device;
    expect(() => new Constructor()).toThrow('cannot be constructed');
    const borrowed = device.info.bind(store as unknown as typeof device);
    expect(() => borrowed()).toThrow();
    await device.close();
  });

  it('sizes tensors', () => {
    expect(addon.tensorBytes('f32', [2, 3])).toBe(24);
    expect(addon.tensorBytes('f16', [])).toBe(2);
    expect(addon.tensorBytes('q8_0', [2, 64])).toBe(2 * 2 * 34);
    expect(() => addon.tensorBytes('q8_0', [2, 63])).toThrow('multiple of 32');
    expect(() => addon.tensorBytes('f32', [0])).toThrow();
    expect(() => addon.tensorBytes('f32', [1, 1, 1, 1, 1])).toThrow();
    expect(() => addon.tensorBytes('f32', [2 ** 31, 2 ** 31])).toThrow();
  });
});

describe.skipIf(vulkanName === null && !vulkanRequired)('a Vulkan device', () => {
  it('is there, with memory and capabilities', async () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    const device = await addon.openDevice({ name: vulkanName });
    expect(device.info().caps).toMatchObject({ async: true, events: true, hostBuffer: true });
    expect(device.memory().totalBytes).toBeGreaterThan(2 ** 28);
    expect([device.simulated, device.isHost]).toEqual([false, false]);
    expect(await failureCode(() => addon.openDevice({ name: vulkanName!, simulateBytes: 1 }))).toBe(
      'InvalidArgument',
    );
    expect(await failureCode(() => device.setForeignBytes(1))).toBe('InvalidArgument');
    await device.close();
  });
});
