import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadAddon } from '../../native/load.ts';
import type { CallName, CallResponse, ErrorBody, RuntimeSnapshot, SpeakResult } from '../contract/index.ts';
import { events, StudioError } from '../contract/index.ts';
import type { Engine, EngineDefinition } from '../engines/engine.ts';
import { miniEngine } from '../engines/mini/index.ts';
import { loadMini } from '../engines/mini/load.ts';
import { voiceFolder } from '../engines/mini/testing/golden.ts';
import { goldenReader } from '../engines/mini/testing/rig.ts';
import { RuntimeService } from '../runtime/index.ts';
import { EngineBackend } from './engine-backend.ts';
import { Host } from './host.ts';

const addon = loadAddon();

/** The built-in voice, reading `0`, `1`, `2` as its golden sentences: apart from how words are pronounced. */
function goldenMini(change: (engine: Engine) => Engine = (engine) => engine): EngineDefinition {
  const source = { id: 'mini', engine: 'mini', name: 'Mini' };
  return {
    ...miniEngine(),
    model: () => ({
      ...source,
      load: async (context) => {
        const parts = await loadMini({ addon, folder: voiceFolder, readText: goldenReader() }, context);
        return { ...parts, value: change(parts.value) };
      },
    }),
  };
}

let folder: string;
let host: Host;
let audio: Map<string, Float32Array[]>;
let onAudio: () => void;
let snapshots: RuntimeSnapshot[];
/** What the host sent that the contract does not know. */
let malformed: unknown[];
const settled = new Map<string, (outcome: SpeakResult | StudioError) => void>();

function open(definition = goldenMini()): void {
  const options = { configFolder: folder, cacheFolder: folder, keepAudio: true, testEngines: false };
  host = new Host(
    options,
    async (_options, _log, settings) => {
      const runtime = await RuntimeService.open({
        addon,
        settings: settings.get(),
        cacheFolder: folder,
        checkAlways: true,
      });
      return new EngineBackend(runtime, [definition]);
    },
    (name, data) => {
      malformed.push(...(events[name].safeParse(data).error?.issues ?? []));
      if (name === 'runtime.changed') snapshots.push(data as RuntimeSnapshot);
      const { job_id = '' } = data as { job_id?: string };
      if (name === 'job.audio') {
        audio.get(job_id)?.push((data as { samples: Float32Array }).samples);
        onAudio();
      }
      if (name === 'job.finished') settled.get(job_id)?.((data as { result: SpeakResult }).result);
      if (name === 'job.cancelled') settled.get(job_id)?.(new StudioError('cancelled', ''));
      if (name === 'job.failed')
        settled.get(job_id)?.(StudioError.fromBody((data as unknown as { error: ErrorBody }).error));
      if (name === 'job.queued') audio.set(job_id, []);
    },
  );
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-engines-'));
  audio = new Map();
  snapshots = [];
  onAudio = () => {};
  malformed = [];
  open();
});
afterEach(async () => {
  await host.close();
  rmSync(folder, { recursive: true, force: true });
  expect(malformed).toEqual([]);
});

async function call<N extends CallName>(name: N, request: unknown): Promise<CallResponse<N>> {
  const reply = await host.handle(name, request);
  if (!reply.ok) throw StudioError.fromBody(reply.error);
  return reply.response as CallResponse<N>;
}

async function speak(request: object, onJob: (id: string) => void = () => {}) {
  const { job_id } = await call('speak', { engine: 'mini', text: '012', seed: 1, ...request });
  const outcome = new Promise<SpeakResult | StudioError>((resolve) => settled.set(job_id, resolve));
  onJob(job_id);
  const result = await outcome;
  if (result instanceof StudioError) throw result;
  return { job_id, result, bytes: Buffer.concat(audio.get(job_id)!.map((part) => Buffer.from(part.buffer))) };
}

describe('the built-in voice behind the host', () => {
  it('speaks, and the snapshot shows its model', async () => {
    const { result, bytes, job_id } = await speak({});
    expect(result.seconds).toBeGreaterThan(4);
    expect(bytes.length).toBe(Math.round(result.seconds * 24_000) * 4);
    expect(result.meta).toMatchObject({ chunks: 3, memory: { device: 'CPU', streamed_mb: 0 } });
    expect(result.applied).toMatchObject({ speed: 1, pitch: 1 });
    expect(result.rtf).toBeGreaterThan(0);
    const snapshot = await call('runtime.snapshot', {});
    expect(snapshot.models).toMatchObject([{ id: 'mini', state: 'idle', device: 'CPU' }]);
    expect(snapshot.models[0]!.components.map(({ name }) => name)).toEqual(['acoustic', 'vocoder']);
    expect(snapshot.jobs.map((job) => job.job_id)).toEqual([job_id]);
    expect(snapshots.some(({ models }) => models[0]?.state === 'in_use')).toBe(true);
  });

  it('gives the same bytes on a simulated card on which its units stream', async () => {
    const plain = await speak({ text: '0' });
    const small = await speak({
      text: '0',
      settings: { 'compute.simulate_vram_mb': 16, 'compute.vram_mode': 'none' },
    });
    expect(small.result.meta.memory.device).toBe('Simulated0');
    expect(small.result.meta.memory.streamed_mb).toBeGreaterThan(0);
    expect(small.bytes.equals(plain.bytes)).toBe(true);
  });

  it('says in a sentence when a card is too small for anything', async () => {
    const tiny = speak({ settings: { 'compute.simulate_vram_mb': 0.05, 'compute.vram_reserve_mb': 0 } });
    await expect(tiny).rejects.toMatchObject({
      code: 'out_of_device_memory',
      message: expect.stringMatching(/ran out of memory.*Raise compute\.simulate_vram_mb or clear it/),
    });
    expect((await speak({})).result.seconds).toBeGreaterThan(4);
  });

  it('stops within a step, and its model is free again', async () => {
    let heard = 0;
    const stopped = speak({ text: '012'.repeat(40) }, (job_id) => {
      onAudio = () => {
        heard++;
        if (heard === 1) void call('jobs.cancel', { job_id });
      };
    });
    await expect(stopped).rejects.toMatchObject({ code: 'cancelled' });
    // What was computed while the cancel was on its way may still arrive; a hundred sentences may not.
    expect(heard).toBeLessThanOrEqual(3);
    expect((await call('jobs.list', {})).jobs[0]!.state).toBe('cancelled');
    expect((await call('runtime.snapshot', {})).models[0]!.state).toBe('idle');
  });

  it('refuses a device that is not there before it queues anything', async () => {
    await expect(speak({ settings: { 'compute.device': 'CUDA7' } })).rejects.toMatchObject({
      code: 'device_not_found',
      message: expect.stringContaining('CPU'),
    });
    expect((await call('jobs.list', {})).jobs).toEqual([]);
  });
});

describe('models', () => {
  it('are loaded, pinned and unloaded by name', async () => {
    expect((await call('models.load', { model: 'mini' })).models[0]).toMatchObject({
      id: 'mini',
      pinned: false,
    });
    expect((await call('models.pin', { model: 'mini', pinned: true })).models[0]!.pinned).toBe(true);
    expect(JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8'))).toEqual({
      'engines.mini.pinned_models': ['mini'],
    });
    expect((await call('models.unload', { model: 'mini' })).freed_bytes).toBeGreaterThanOrEqual(0);
    expect((await call('runtime.snapshot', {})).models).toEqual([]);
    for (const name of ['models.load', 'models.pin', 'models.unload'] as const) {
      await expect(
        call(name, { model: 'mnii', ...(name === 'models.pin' ? { pinned: true } : {}) }),
      ).rejects.toMatchObject({
        code: name === 'models.unload' ? 'invalid_request' : 'unknown_model',
        message: expect.stringContaining('mnii'),
      });
    }
  });
});

it('an engine without stages holds all its components for the whole request', async () => {
  await host.close();
  const held: number[] = [];
  const whole = (engine: Engine): Engine => ({
    id: engine.id,
    phased: false,
    sampleRate: engine.sampleRate,
    memoryRequired: () => 2 ** 16,
    unload: () => engine.unload(),
    async *speak(_task, ctx) {
      held.push(ctx.device.memory().held.weights);
      yield { samples: new Float32Array(240), text: 'a' };
    },
  });
  open(goldenMini(whole));
  const settings = { 'compute.simulate_vram_mb': 64, 'compute.vram_reserve_mb': 0 };
  const { result } = await speak({ settings });
  expect(result.seconds).toBeCloseTo(0.01, 6);
  expect(result.meta.memory.size_mb).toBeGreaterThan(7);
  expect(held[0]).toBeGreaterThan(7 * 2 ** 20);
});
