import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultSettings, type Settings } from '../contract/settings.ts';
import { voiced } from '../host/voiced.ts';
import { addon } from '../nn/testing/devices.ts';
import { RuntimeService } from '../runtime/runtime-service.ts';
import { noVoicePrompts } from '../voices/voice-prompts.ts';
import type { TinyModel } from './engine.ts';
import { exampleEngine } from './testing/example/index.ts';

/** A request whose weights are used where they lie in the checkpoint, on a device that shares the processor's memory. */
const folder = mkdtempSync(join(tmpdir(), 'mizuoto-shared-'));
let tiny: TinyModel;
let plain = '';
beforeAll(async () => {
  tiny = (await exampleEngine().tiny({ addon, voicePrompts: noVoicePrompts }, folder))[0]!;
  const on = await open({ 'compute.device': 'CPU' });
  plain = (await speak(on)).sha256;
  await on.close();
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(change: Partial<Settings>): Promise<RuntimeService> {
  const settings = { ...defaultSettings(), 'compute.threads': 1, 'compute.vram_reserve_mb': 0, ...change };
  return RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
}

const shared = (megabytes: number): Partial<Settings> => ({
  'compute.vram_mode': 'shared',
  'compute.simulate_vram_mb': megabytes,
});

async function speak(runtime: RuntimeService) {
  const book = await runtime.deviceFor();
  const lease = await runtime.acquire(tiny.model, book);
  const { settings } = runtime;
  const request = runtime.startRequest({ id: 'test', book, settings, signal: new AbortController().signal });
  const hash = createHash('sha256');
  try {
    for await (const { samples } of voiced(lease, tiny.task, request)) {
      hash.update(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
    }
    return { sha256: hash.digest('hex'), memory: request.report(), handles: lease.handles };
  } finally {
    lease.release();
  }
}

const nothing = { weights: 0, slots: 0, compute: 0, io: 0, state: 0 };

describe('a request in shared mode', () => {
  it('copies next to nothing, and a device that holds one component at a time gives the same samples', async () => {
    const roomy = await open(shared(64));
    const { sha256, memory, handles } = await speak(roomy);
    expect(sha256).toBe(plain);
    expect(memory.mapped_mb).toBeGreaterThan(0.9 * memory.size_mb);
    const bytes = handles.map(({ sizeBytes }) => sizeBytes);
    await roomy.close();

    const largest = Math.max(...bytes);
    const all = bytes.reduce((sum, size) => sum + size, 0);
    const megabytes = memory.peak_mb - (all - largest) / 2 ** 20;
    const tight = await open(shared(megabytes));
    for (let round = 0; round < 2; round++) {
      const spoken = await speak(tight);
      expect(spoken.sha256).toBe(plain);
      expect(spoken.memory.partial).toEqual({});
    }
    // Components left whole, for others.
    const left = tight.events().filter(({ kind, bytes: moved }) => kind === 'give_up' && moved < 0);
    expect(left.length).toBeGreaterThan(0);
    await tight.close();
  });

  it('any allocation or import may fail: the same samples or one clear error, and the device is as before', async () => {
    let retried = 0;
    for (let failAllocation = 1; ; failAllocation++) {
      const runtime = await open(shared(64));
      const { device } = await runtime.deviceFor();
      device.setFaults({ failAllocation });
      let reached = true;
      try {
        expect((await speak(runtime)).sha256).toBe(plain);
        const told = runtime.events().filter(({ kind }) => kind === 'retry' || kind === 'out_of_memory');
        reached = told.length > 0;
        retried += told.length;
      } catch (error) {
        expect((error as { code?: string }).code).toMatch(/^(out_of_device_memory|OutOfDeviceMemory)$/);
      }
      device.setFaults(null);
      const next = await speak(runtime);
      expect(next.sha256).toBe(plain);
      for (const { id } of runtime.models.list()) await runtime.unload(id);
      expect(device.memory().held).toEqual(nothing);
      await runtime.close();
      if (!reached) break;
      expect(failAllocation).toBeLessThan(100);
    }
    expect(retried).toBeGreaterThan(3);
  }, 300_000);
});
