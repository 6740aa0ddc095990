import { describe, expect, it, vi } from 'vitest';
import { runtimeSnapshotSchema } from '../contract/runtime.ts';
import { defaultSettings, type Settings } from '../contract/settings.ts';
import { MiB } from '../memory/policy.ts';
import { type FakeComponent, type FakeDevice, fakeComponent } from '../memory/testing/fake-device.ts';
import type { ModelLoadContext, ModelSource } from './model-source.ts';
import { RuntimeService } from './runtime-service.ts';
import { FakeAddon } from './testing/fake-addon.ts';

const card = [{ name: 'GPU0', totalMiB: 8192 }];

async function runtimeWith(
  change: Partial<Settings> = {},
  addon = new FakeAddon(card),
): Promise<{ runtime: RuntimeService; addon: FakeAddon }> {
  const settings = { ...defaultSettings(), ...change };
  return {
    runtime: await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true }),
    addon,
  };
}

interface Loaded {
  component: FakeComponent;
  unloads: number;
}

/** A model of one component; `delay` makes loading take a moment. */
function model(
  id: string,
  options: { units?: number; delayMs?: number; fail?: boolean } = {},
): ModelSource<Loaded> {
  return {
    id,
    engine: id.split(':')[0]!,
    name: id,
    load: async ({ book, progress }) => {
      progress(0.5);
      await new Promise((resolve) => setTimeout(resolve, options.delayMs ?? 0));
      if (options.fail) throw new Error('The file is not there.');
      const units = Array<number>(options.units ?? 10).fill(100);
      const component = fakeComponent(book.device as FakeDevice, { model: id, component: 'main', units });
      const value: Loaded = { component, unloads: 0 };
      return { value, handles: [component.handle], unload: () => void value.unloads++ };
    },
  };
}

async function use(runtime: RuntimeService, source: ModelSource<Loaded>): Promise<Loaded> {
  const book = await runtime.deviceFor();
  const lease = await runtime.acquire(source, book);
  const placement = await runtime.manager.load(lease.handles, 0, { name: source.id });
  placement.release();
  lease.release();
  return lease.value;
}

describe('loaded models', () => {
  it('a model is loaded once, however many ask at the same time', async () => {
    const { runtime } = await runtimeWith();
    const book = await runtime.deviceFor();
    let loads = 0;
    const source = model('a', { delayMs: 10 });
    const counted = {
      ...source,
      load: (context: ModelLoadContext) => {
        loads++;
        return source.load(context);
      },
    };
    const leases = await Promise.all([1, 2, 3].map(() => runtime.acquire(counted, book)));
    expect(loads).toBe(1);
    expect(new Set(leases.map(({ value }) => value)).size).toBe(1);
    expect(runtime.model('a').state).toBe('in_use');
    for (const lease of leases) lease.release();
    expect(runtime.model('a').state).toBe('idle');
    await runtime.close();
  });

  it('a failed load is an error for all who waited, and can be tried again', async () => {
    const { runtime } = await runtimeWith();
    const book = await runtime.deviceFor();
    const failing = model('a', { delayMs: 5, fail: true });
    const results = await Promise.allSettled([
      runtime.acquire(failing, book),
      runtime.acquire(failing, book),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(runtime.models.list()).toEqual([]);
    (await runtime.acquire(model('a'), book)).release();
    await runtime.close();
  });

  it('at most as many stay loaded as the settings say: the least recently used, unpinned one goes', async () => {
    const { runtime } = await runtimeWith({ 'compute.max_resident_models': 2 });
    await use(runtime, model('a'));
    await use(runtime, model('b'));
    await runtime.pin('a', true);
    await use(runtime, model('c'));
    expect(runtime.models.list().map(({ id }) => id)).toEqual(['a', 'c']);
    await runtime.close();
  });

  it('never unloads what is in use, and says so', async () => {
    const { runtime } = await runtimeWith({ 'compute.max_resident_models': 1 });
    const book = await runtime.deviceFor();
    const lease = await runtime.acquire(model('a'), book);
    await use(runtime, model('b'));
    expect(runtime.models.list().map(({ id }) => id)).toContain('a');
    await expect(runtime.unload('a')).rejects.toMatchObject({ code: 'invalid_request', retryable: true });
    await expect(runtime.unload('nothing')).rejects.toMatchObject({ code: 'invalid_request' });
    lease.release();
    await runtime.close();
  });

  it.each([
    ['after a job failed for lack of memory', (runtime: RuntimeService) => runtime.releaseAfterOom()],
    ['for the settings', (runtime: RuntimeService) => runtime.models.enforceLimits()],
    ['after their time', (runtime: RuntimeService) => runtime.models.unloadOlderThan(0)],
  ])('while one goes %s, the next is taken into use: it stays', async (_, release) => {
    const { runtime } = await runtimeWith();
    for (const id of ['one', 'two', 'three']) await use(runtime, model(id));
    const book = await runtime.deviceFor();
    await runtime.configure({ ...runtime.settings });
    Object.assign(runtime.settings, { 'compute.max_resident_models': 1 });
    const going = release(runtime);
    const lease = await runtime.acquire(model('two'), book);
    const placement = await runtime.manager.load(lease.handles, 0, { name: 'two' });
    await going;
    expect(runtime.models.list().map(({ id, state }) => [id, state])).toContainEqual(['two', 'in_use']);
    expect(lease.value.unloads).toBe(0);
    placement.release();
    lease.release();
    await use(runtime, model('two'));
    await runtime.close();
  });

  it('unloading tells what the device really got back', async () => {
    const { runtime, addon } = await runtimeWith();
    const loaded = await use(runtime, model('a'));
    expect(addon.opened[0]!.held.weights).toBe(1000 * MiB);
    expect(await runtime.unload('a')).toBe(1000 * MiB);
    expect(loaded.unloads).toBe(1);
    expect(loaded.component.store.disposed).toBe(true);
    expect(addon.opened[0]!.heldBytes).toBe(0);
    await runtime.close();
  });

  it('a model moves to another device when its settings say so, once nobody uses it', async () => {
    const { runtime } = await runtimeWith();
    const gpu = await runtime.deviceFor();
    const cpu = await runtime.deviceFor({ ...defaultSettings(), 'compute.device': 'CPU' });
    const first = await runtime.acquire(model('a'), gpu);
    const second = runtime.acquire(model('a'), cpu);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(runtime.model('a').device).toBe('GPU0');
    first.release();
    (await second).release();
    expect(runtime.model('a').device).toBe('CPU');
    await runtime.close();
  });

  it('a pin holds until the settings say something about pins; models leave a device that the settings left', async () => {
    const { runtime } = await runtimeWith();
    await use(runtime, model('mini'));
    await runtime.pin('mini', true);
    await runtime.configure({ ...runtime.settings, 'ui.theme': 'dark' });
    expect(runtime.model('mini').pinned).toBe(true);
    await runtime.configure({ ...runtime.settings, 'engines.mini.pinned_models': ['other'] });
    expect(runtime.model('mini').pinned).toBe(false);
    await runtime.configure({ ...runtime.settings, 'compute.device': 'CPU' });
    expect(runtime.models.list()).toEqual([]);
    await runtime.close();
  });

  it('a cancelled load is not an error for others who wait for it', async () => {
    const { runtime } = await runtimeWith();
    const book = await runtime.deviceFor();
    const abort = new AbortController();
    const slow: ModelSource<Loaded> = {
      ...model('a'),
      load: async (context) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (context.signal?.aborted) throw Object.assign(new Error('Cancelled.'), { code: 'cancelled' });
        return model('a').load(context);
      },
    };
    const first = runtime.acquire(slow, book, abort.signal);
    const second = runtime.acquire(slow, book, new AbortController().signal);
    abort.abort();
    await expect(first).rejects.toMatchObject({ code: 'cancelled' });
    (await second).release();
    await runtime.close();
  });

  it('below the RAM reserve host copies go first, then idle models; pinned and busy ones stay', async () => {
    const { runtime, addon } = await runtimeWith({
      'compute.ram_reserve_mb': 4096,
      'compute.max_resident_models': 8,
    });
    const whole = await use(runtime, model('whole'));
    const idle = await use(runtime, model('idle', { units: 100 }));
    const pinned = await use(runtime, model('pinned', { units: 100 }));
    await runtime.pin('pinned', true);
    expect(whole.component.handle.loadedBytes).toBe(0);
    addon.host = { ...addon.host, availableBytes: 1000 * MiB };
    expect(await runtime.relieveRam()).toBeGreaterThan(0);
    expect(runtime.models.list().map(({ id }) => id)).toEqual(['pinned']);
    expect(idle.component.store.disposed).toBe(true);
    expect(pinned.component.store.disposed).toBe(false);
    await runtime.close();
  });

  it('host copies of whole components are dropped before any model is', async () => {
    const { runtime, addon } = await runtimeWith({ 'compute.ram_reserve_mb': 4096 });
    const { component } = await use(runtime, model('a'));
    expect(component.handle.isWhole).toBe(true);
    expect(component.store.pinned.size).toBe(10);
    addon.host = { ...addon.host, availableBytes: 1000 * MiB };
    component.store.dropHost = async () => {
      addon.host = { ...addon.host, availableBytes: 5000 * MiB };
      return 100;
    };
    expect(await runtime.relieveRam()).toBe(11 * 100);
    expect(runtime.models.list()).toHaveLength(1);
    expect([component.store.pinned.size, runtime.manager.pins.bytes]).toEqual([0, 0]);
    await runtime.close();
  });

  it('pinned memory keeps to a setting from the moment that it is made', async () => {
    const { runtime } = await runtimeWith();
    await use(runtime, model('a'));
    expect(runtime.manager.pins.bytes).toBe(1000 * MiB);
    await runtime.configure({ ...runtime.settings, 'compute.max_pinned_mb': 250 });
    expect(runtime.manager.pins.bytes).toBe(200 * MiB);
    await runtime.close();
  });

  it('where memory is shared, what leaves the device counts as given back, and nothing was kept beside it', async () => {
    const graphics = new FakeAddon([{ name: 'IGPU', kind: 'igpu', totalMiB: 8192 }]);
    const { runtime, addon } = await runtimeWith(
      { 'compute.device': 'IGPU', 'compute.ram_reserve_mb': 4096 },
      graphics,
    );
    const { component } = await use(runtime, model('a'));
    expect(component.handle.loadedBytes).toBe(1000 * MiB);
    expect(component.handle.hostBytes).toBe(0);
    addon.host = { ...addon.host, availableBytes: 1000 * MiB };
    expect(await runtime.relieveRam()).toBe(1000 * MiB);
    expect(runtime.models.list()).toEqual([]);
    await runtime.close();
  });

  it('after a job failed for lack of memory all idle models go; before training all leave the device', async () => {
    const { runtime } = await runtimeWith();
    const first = await use(runtime, model('a'));
    const book = await runtime.deviceFor();
    expect(await runtime.releaseDevice(book)).toBe(1000 * MiB);
    expect(first.component.handle.loadedBytes).toBe(0);
    expect(runtime.models.list()).toHaveLength(1);
    await runtime.releaseAfterOom();
    expect(runtime.models.list()).toEqual([]);
    await runtime.close();
  });

  it('what lies on the processor is no help to a device without memory, and stays', async () => {
    const { runtime } = await runtimeWith({ 'compute.device': 'CPU' });
    await use(runtime, model('a'));
    expect(await runtime.releaseAfterOom()).toBe(0);
    expect(runtime.models.list().map(({ id }) => id)).toEqual(['a']);
    await runtime.close();
  });

  it('idle models are unloaded after their time, pinned ones are not', async () => {
    const { runtime } = await runtimeWith({ 'compute.unload_after_minutes': 10 });
    await use(runtime, model('a'));
    await use(runtime, model('b'));
    await runtime.pin('b', true);
    await runtime.models.unloadOlderThan(60_000);
    expect(runtime.models.list()).toHaveLength(2);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await runtime.models.unloadOlderThan(1);
    expect(runtime.models.list().map(({ id }) => id)).toEqual(['b']);
    await runtime.close();
  });

  it('the keep-warm time holds by itself from the moment that it is set, and ends when it is cleared', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    try {
      const { runtime } = await runtimeWith();
      await use(runtime, model('a'));
      await vi.advanceTimersByTimeAsync(2 * 60_000);
      expect(runtime.models.list()).toHaveLength(1);
      await runtime.configure({ ...runtime.settings, 'compute.unload_after_minutes': 3 });
      await vi.advanceTimersByTimeAsync(45_000);
      expect(runtime.models.list()).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(30_000);
      expect(runtime.models.list()).toEqual([]);
      await runtime.configure({ ...runtime.settings, 'compute.unload_after_minutes': null });
      await use(runtime, model('b'));
      await vi.advanceTimersByTimeAsync(5 * 60_000);
      expect(runtime.models.list()).toHaveLength(1);
      await runtime.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('requests that share a signal are all cancelled by it, with one listener between them', async () => {
    const abort = new AbortController();
    const listen = vi.spyOn(abort.signal, 'addEventListener');
    const [one, two] = [await runtimeWith(), await runtimeWith()];
    const asked = [one, one, two].map(({ runtime }) => runtime.cancelToken(abort.signal));
    expect(listen).toHaveBeenCalledTimes(1);
    expect(asked.map(({ cancelled }) => cancelled)).toEqual([false, false, false]);
    const other = one.runtime.cancelToken(new AbortController().signal);
    abort.abort();
    expect(asked.map(({ cancelled }) => cancelled)).toEqual([true, true, true]);
    expect(other.cancelled).toBe(false);
    expect(one.runtime.cancelToken(AbortSignal.abort()).cancelled).toBe(true);
    for (const { runtime } of [one, two]) await runtime.close();
  });

  it('closing unloads everything and closes the devices', async () => {
    const { runtime, addon } = await runtimeWith();
    await use(runtime, model('a'));
    await runtime.close();
    expect(addon.opened.every(({ closed, heldBytes }) => closed && heldBytes === 0)).toBe(true);
  });
});

describe('devices', () => {
  it.each([
    ['the card with the most memory', {}, 'GPU1'],
    ['the one that is named', { 'compute.device': 'gpu0' }, 'GPU0'],
    ['the processor', { 'compute.device': 'CPU' }, 'CPU'],
  ] as const)('%s', async (_, change, expected) => {
    const addon = new FakeAddon([
      { name: 'GPU0', totalMiB: 4096 },
      { name: 'GPU1', totalMiB: 8192 },
      { name: 'IGPU', kind: 'igpu', totalMiB: 16_384 },
    ]);
    const { runtime } = await runtimeWith(change, addon);
    expect((await runtime.deviceFor()).id).toBe(expected);
    await runtime.close();
  });

  it('software drivers and integrated graphics are not used by themselves, and the list says why', async () => {
    const addon = new FakeAddon([
      { name: 'Vulkan0', totalMiB: 2048, description: 'llvmpipe (LLVM 15.0.6, 256 bits)' },
      { name: 'Vulkan1', kind: 'igpu', totalMiB: 2048 },
    ]);
    const { runtime } = await runtimeWith({}, addon);
    expect((await runtime.deviceFor()).id).toBe('CPU');
    const why = Object.fromEntries(runtime.view().devices.map((device) => [device.id, device.why]));
    expect(why.Vulkan0).toContain('software');
    expect(why.Vulkan1).toContain('display');
    await runtime.close();
  });

  it('a device that is not there is an error that names those that are', async () => {
    const { runtime } = await runtimeWith({ 'compute.device': 'CUDA7' });
    await expect(runtime.deviceFor()).rejects.toMatchObject({
      code: 'device_not_found',
      params: { known: 'CPU, GPU0' },
    });
    expect(runtime.view().devices.length).toBeGreaterThan(0);
    await runtime.close();
  });

  it.each([
    [{ 'compute.simulate_vram_mb': 100, 'compute.device': 'GPU0' }],
    [{ 'compute.simulate_vram_mb': 100, 'compute.vram_limit_mb': 200 }],
    [{ 'compute.ram_reserve_mb': 40_000 }],
    [{ 'compute.max_pinned_mb': 40_000 }],
  ])('contradictory settings are refused with the reason: %j', async (change) => {
    const { runtime } = await runtimeWith(change);
    await expect(runtime.deviceFor()).rejects.toMatchObject({ code: 'contradictory_settings' });
    await runtime.close();
  });
});

describe('the snapshot', () => {
  it('is what the contract says, in every state', async () => {
    const { runtime } = await runtimeWith({ 'compute.vram_mode': 'none' });
    const check = () =>
      runtimeSnapshotSchema.parse({ version: 1, at: Date.now(), jobs: [], ...runtime.view() });
    check();
    const book = await runtime.deviceFor();
    const loading = runtime.acquire(model('a', { delayMs: 5 }), book);
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(check().models[0]).toMatchObject({ id: 'a', state: 'loading', load_fraction: 0.5 });
    (await loading).release();
    await use(runtime, model('a'));
    const [shown] = check().models;
    expect(shown).toMatchObject({ state: 'idle', size_bytes: 1000 * MiB, loaded_bytes: 0, pinned: false });
    expect(shown!.components[0]!.partial).toMatchObject({ reason: 'vram_mode none', size_mb: 1000 });
    expect(check().policy['compute.vram_mode']).toBe('none');
    await runtime.close();
  });

  it('says what changed whenever it changed', async () => {
    const { runtime } = await runtimeWith();
    let changes = 0;
    const stop = runtime.onChange(() => changes++);
    await use(runtime, model('a'));
    expect(changes).toBeGreaterThan(3);
    stop();
    const before = changes;
    await runtime.pin('a', true);
    expect(changes).toBe(before);
    expect(runtime.model('a').pinned).toBe(true);
    await runtime.close();
  });
});
