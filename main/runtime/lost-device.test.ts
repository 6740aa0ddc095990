import { describe, expect, it } from 'vitest';
import { loadAddon } from '../../native/load.ts';
import { defaultSettings, type Settings } from '../contract/index.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import { RuntimeService } from './runtime-service.ts';
import { FakeAddon } from './testing/fake-addon.ts';
import { shape, tokens } from './testing/rig.ts';
import { TwoStageEngine } from './testing/two-stage-engine.ts';

const card: Partial<Settings> = { 'compute.simulate_vram_mb': 64, 'compute.vram_reserve_mb': 0 };

async function open(change: Partial<Settings>) {
  const addon = loadAddon();
  const settings = { ...defaultSettings(), 'compute.device': 'auto', 'compute.threads': 1, ...change };
  const said: (string | undefined)[] = [];
  const warn = (_message: string, about?: { code: string }): void => void said.push(about?.code);
  const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true, warn });
  let id = 0;
  /** A request as the host makes it: the device that it claims is lost at this segment. */
  const speak = async (loseAtSegment: number | null = null, of = settings) => {
    const { book, release } = await runtime.claimDevice(of);
    try {
      const lease = await runtime.acquire(TwoStageEngine.source(addon, shape), book);
      try {
        if (loseAtSegment !== null) book.device.setFaults({ loseAtSegment });
        const { signal } = new AbortController();
        const ctx = runtime.startRequest({ id: `${++id}`, book, settings: of, signal });
        const parts: number[] = [];
        for await (const chunk of lease.value.speak(7, tokens, ctx)) parts.push(...chunk);
        return { book, parts };
      } finally {
        lease.release();
      }
    } catch (error) {
      if ((error as { code?: string }).code === 'DeviceLost') runtime.deviceLost(book);
      throw error;
    } finally {
      release();
    }
  };
  return { runtime, settings, speak, said };
}

describe('a device that is lost in this process', () => {
  it.each([
    ['a simulated card', card],
    ['the processor', { 'compute.device': 'CPU' }],
  ])('%s is opened anew for the next request, to the same samples', async (_, change) => {
    const { runtime, speak, said } = await open(change);
    const whole = await speak();
    await expect(speak(3)).rejects.toMatchObject({ code: 'DeviceLost' });
    const again = await speak();
    expect(again.parts).toEqual(whole.parts);
    expect(again.book).not.toBe(whole.book);
    expect(runtime.devices.opened).toEqual([again.book]);
    expect(runtime.view().incidents.map(({ said: { code } }) => code)).toEqual(['device_reopened']);
    expect(said).toContain('device_reopened');
    await runtime.close();
  });

  it('is opened once for several that wait for it, after the last one that used it', async () => {
    const { runtime, speak } = await open(card);
    const before = await speak();
    const held = await runtime.claimDevice();
    await expect(speak(1)).rejects.toMatchObject({ code: 'DeviceLost' });
    const order: string[] = [];
    const waiting = [1, 2, 3].map(() =>
      speak().then((spoken) => {
        order.push('spoken');
        return spoken;
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(order).toEqual([]);
    held.release();
    const books = new Set<DeviceBook>();
    for (const { book, parts } of await Promise.all(waiting)) {
      expect(parts).toEqual(before.parts);
      books.add(book);
    }
    expect(books.size).toBe(1);
    expect(books.has(before.book)).toBe(false);
    expect(runtime.view().incidents).toHaveLength(1);
    await runtime.close();
  });

  it('behind a driver stays lost: whoever asks for it is told to start again', async () => {
    const addon = new FakeAddon([{ name: 'Vulkan0', totalMiB: 8192 }]);
    const settings = defaultSettings();
    const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null });
    const { book, release } = await runtime.claimDevice();
    expect(book.id).toBe('Vulkan0');
    expect(runtime.deviceLost(book)).toBe(false);
    release();
    await expect(runtime.claimDevice()).rejects.toMatchObject({
      code: 'device_lost',
      message: expect.stringMatching(/^Vulkan0 stopped responding.*Start Mizuoto again/),
    });
    expect(addon.opened).toHaveLength(1);
    const elsewhere = await runtime.claimDevice({ ...settings, 'compute.device': 'CPU' });
    expect(elsewhere.book.id).toBe('CPU');
    elsewhere.release();
    await runtime.close();
  });
});

it('auto passes over devices that were lost too often, the list says why, and a name still means its device', async () => {
  const gpus = [
    { name: 'Vulkan0', totalMiB: 8192 },
    { name: 'Vulkan1', totalMiB: 4096 },
  ];
  const settings = defaultSettings();
  const passOver = ['Vulkan0'];
  const runtime = await RuntimeService.open({
    addon: new FakeAddon(gpus),
    settings,
    cacheFolder: null,
    passOver,
  });
  const used = () => runtime.view().devices.map((device) => [device.id, device.used, device.reason.code]);
  expect((await runtime.deviceFor()).id).toBe('Vulkan1');
  expect(used()).toEqual([
    ['CPU', false, 'device_graphics_faster'],
    ['Vulkan0', false, 'device_lost_often'],
    ['Vulkan1', true, 'device_most_memory'],
  ]);
  runtime.devices.passOver = ['Vulkan0', 'Vulkan1'];
  expect((await runtime.deviceFor()).id).toBe('CPU');
  expect((await runtime.deviceFor({ ...settings, 'compute.device': 'Vulkan0' })).id).toBe('Vulkan0');
  runtime.devices.passOver = [];
  expect((await runtime.deviceFor()).id).toBe('Vulkan0');
  await runtime.close();
});

it('settings that contradict each other are refused before anything of them holds', async () => {
  const { runtime, settings, speak } = await open(card);
  await speak();
  const bad = { ...settings, 'compute.vram_limit_mb': 128, 'compute.max_resident_models': 1 };
  await expect(runtime.configure(bad)).rejects.toMatchObject({
    code: 'contradictory_settings',
    params: { limit: 128, simulate: 64 },
  });
  expect(runtime.settings).toEqual(settings);
  expect(runtime.view().policy['compute.vram_limit_mb']).toBeNull();
  expect(runtime.models.list()).toHaveLength(1);
  await runtime.configure({ ...settings, 'compute.vram_limit_mb': 32 });
  expect(runtime.view().policy['compute.vram_limit_mb']).toBe(32);
  await runtime.close();
});
