import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { loadAddon } from '../../native/load.ts';
import { defaultSettings, type Settings } from '../contract/settings.ts';
import { Random } from '../nn/random.ts';
import { RuntimeService } from './runtime-service.ts';
import { TwoStageEngine, type TwoStageShape } from './testing/two-stage-engine.ts';

/** Requests in a soak; `npm run bench -- soak` runs 500. */
const requests = Number(process.env.MIZUOTO_SOAK_REQUESTS ?? 80);
const shapes: Record<string, TwoStageShape> = {
  small: { talkerBlocks: 2, decoderBlocks: 3 },
  half: { talkerBlocks: 4, decoderBlocks: 6, dtype: 'f16' },
  large: { talkerBlocks: 4, decoderBlocks: 10 },
};
const names = Object.keys(shapes);
const addon = loadAddon();

async function open(change: Partial<Settings>): Promise<RuntimeService> {
  const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1, ...change };
  return RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
}

async function speak(
  runtime: RuntimeService,
  request: { id: string; model: string; seed: number; cancelAfter?: number; policy?: Partial<Settings> },
): Promise<string | null> {
  const settings = { ...runtime.settings, ...request.policy };
  const book = await runtime.deviceFor(runtime.settings);
  const abort = new AbortController();
  const lease = await runtime.acquire(
    TwoStageEngine.source(addon, shapes[request.model]!, request.model),
    book,
  );
  let progress = 0;
  const ctx = runtime.startRequest({
    id: request.id,
    book,
    settings,
    signal: abort.signal,
    onProgress: () => {
      if (++progress === request.cancelAfter) abort.abort();
    },
  });
  const hash = createHash('sha256');
  try {
    for await (const chunk of lease.value.speak(request.seed, 4, ctx)) {
      hash.update(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    }
    return hash.digest('hex');
  } catch (error) {
    if (abort.signal.aborted) return null;
    throw error;
  } finally {
    lease.release();
  }
}

describe('a soak', () => {
  it(`${requests} requests of three engines, two at a time, with limits, cancels and other programs`, async () => {
    const plain = await open({});
    const expected = new Map<string, string>();
    for (const model of names) {
      for (const seed of [1, 2]) {
        expected.set(`${model} ${seed}`, (await speak(plain, { id: `${model} ${seed}`, model, seed }))!);
      }
    }
    await plain.close();
    expect(new Set(expected.values()).size).toBe(names.length * 2);

    const runtime = await open({
      'compute.simulate_vram_mb': 6,
      'compute.vram_reserve_mb': 0,
      'compute.gpu_jobs': 2,
      'compute.max_resident_models': 2,
    });
    const { device } = await runtime.deviceFor();
    const random = new Random(77);
    let done = 0;
    let cancelled = 0;
    let rest: number | null = null;
    const worker = async (lane: number): Promise<void> => {
      while (done < requests) {
        const id = `request ${++done} of lane ${lane}`;
        const model = names[random.integer(names.length)]!;
        const seed = 1 + random.integer(2);
        const cancel = random.uniform() < 0.2 ? { cancelAfter: 1 + random.integer(8) } : {};
        const mode = (['auto', 'auto', 'none', 'low'] as const)[random.integer(4)]!;
        if (random.uniform() < 0.3) device.setForeignBytes(random.integer(2 * 2 ** 20));
        const policy = { 'compute.vram_mode': mode, 'compute.async_offload': random.integer(3) };
        const result = await speak(runtime, { id, model, seed, policy, ...cancel });
        if (result === null) cancelled++;
        else expect(result).toBe(expected.get(`${model} ${seed}`));
      }
    };
    const half = requests / 2;
    await Promise.all([worker(0), worker(1)]);
    for (const model of [...runtime.models.list()]) await runtime.unload(model.id);
    rest = Object.values(device.memory().held).reduce((sum, bytes) => sum + bytes, 0);
    expect(rest).toBe(0);
    expect(cancelled).toBeLessThan(half);
    expect(runtime.manager.handles).toEqual([]);
    expect(runtime.manager.pins.bytes).toBe(0);
    await runtime.close();
  }, 600_000);
});
