import { cpSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadAddon } from '../../native/load.ts';
import { type CallName, type CallResponse, type SpeakResult, StudioError } from '../contract/index.ts';
import { engines } from '../engines/registry.ts';
import { RuntimeService } from '../runtime/index.ts';
import { EngineBackend } from './engine-backend.ts';
import { Host } from './host.ts';
import { referenceWav } from './testing/reference-wav.ts';

const tiny = fileURLToPath(new URL('../engines/qwen3-tts/fixtures/tiny/', import.meta.url));
let folder: string;
let host: Host;
const settled = new Map<string, (outcome: SpeakResult | StudioError) => void>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-installed-'));
  host = new Host(
    { configFolder: folder, cacheFolder: join(folder, 'cache'), keepAudio: false, testEngines: false },
    async (_options, _log, settings, voicePrompts) => {
      const options = { addon: loadAddon(), settings: settings.get(), cacheFolder: null, checkAlways: true };
      return new EngineBackend(await RuntimeService.open(options), engines, { voicePrompts });
    },
    (name, data) => {
      const { job_id = '', result, error } = data as { job_id?: string; result?: SpeakResult; error?: never };
      if (name === 'job.finished') settled.get(job_id)?.(result!);
      if (name === 'job.failed') settled.get(job_id)?.(StudioError.fromBody(error!));
    },
  );
});
afterEach(async () => {
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});

async function call<N extends CallName>(name: N, request: unknown): Promise<CallResponse<N>> {
  const reply = await host.handle(name, request);
  if (!reply.ok) throw StudioError.fromBody(reply.error);
  return reply.response as CallResponse<N>;
}

async function speak(request: object): Promise<SpeakResult> {
  const settings = { 'compute.device': 'CPU', 'compute.threads': 1 };
  const { job_id } = await call('speak', { text: 'the king', seed: 1, settings, ...request });
  const outcome = await new Promise<SpeakResult | StudioError>((resolve) => settled.set(job_id, resolve));
  if (outcome instanceof StudioError) throw outcome;
  return outcome;
}

/** A copy of a checkpoint of random weights, added. */
async function install(kind: 'base' | 'custom_voice'): Promise<string> {
  const path = join(folder, kind);
  cpSync(join(tiny, kind), path, { recursive: true });
  return (await call('models.add', { path })).model.id;
}

it('a model in a folder is listed, loaded, pinned, spoken, unloaded and forgotten by its id', async () => {
  expect((await call('engines.list', {})).engines.map(({ id }) => id)).toEqual(['mini']);
  const model = await install('custom_voice');
  const { engines: listed } = await call('engines.list', {});
  expect(listed.map(({ id }) => id)).toEqual(['mini', 'qwen3-tts']);
  expect(listed[1]!.models).toMatchObject([{ id: model, modes: ['speakers'] }]);
  const loaded = await call('models.load', { model });
  expect(loaded.models).toMatchObject([{ id: model, engine: 'qwen3-tts', state: 'idle' }]);
  expect((await call('models.pin', { model, pinned: true })).models[0]).toMatchObject({ pinned: true });
  expect(JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8'))).toEqual({
    'engines.qwen3-tts.pinned_models': [model],
  });
  const speaker = listed[1]!.models[0]!.speakers[1]!.id;
  expect(await speak({ model, voice: speaker.toUpperCase() })).toMatchObject({ model, voice: speaker });
  // Removed while it is loaded: unloaded first.
  expect(await call('models.remove', { model })).toMatchObject({ deleted_bytes: 0 });
  expect((await call('runtime.snapshot', {})).models).toEqual([]);
  expect(readFileSync(join(folder, 'settings.json'), 'utf8')).not.toContain(model);
  await expect(call('models.load', { model })).rejects.toMatchObject({ code: 'unknown_model' });
  await expect(speak({ model })).rejects.toMatchObject({ code: 'model_not_installed' });
}, 120_000);

it('a model whose files were changed while it was loaded is loaded anew, not refused for ever', async () => {
  const model = await install('custom_voice');
  await speak({ model });
  const file = join(folder, 'custom_voice', 'model.safetensors');
  const weights = readFileSync(file);
  for (const seconds of [1, 2]) {
    writeFileSync(file, weights);
    utimesSync(file, seconds, seconds);
    expect(await speak({ model })).toMatchObject({ model });
  }
  expect((await call('runtime.snapshot', {})).models).toHaveLength(1);
}, 120_000);

it('requests at once for simulated devices of different sizes wait for each other', async () => {
  const model = await install('custom_voice');
  await call('settings.set', { patch: { 'compute.gpu_jobs': 3 } });
  const spoken = [4, 8, 6, 4, 8, 6].map((size) =>
    speak({ model, settings: { 'compute.simulate_vram_mb': size, 'compute.threads': 1 } }),
  );
  const results = await Promise.all(spoken);
  expect(new Set(results.map(({ seconds }) => seconds)).size).toBe(1);
}, 120_000);

it('a voice that was cloned once is not encoded again, until its recording or its words change', async () => {
  const model = await install('base');
  await call('voices.add', { name: 'Anna', audio: referenceWav(1.5), text: 'the king' });
  const encoded = async () => {
    const { applied, meta } = await speak({ model, voice: 'Anna' });
    await call('models.unload', { model });
    return { meta, applied };
  };
  const first = await encoded();
  const again = await encoded();
  // The encoders never had to be placed: less was on the device.
  expect(again.meta.memory.size_mb).toBeLessThan(first.meta.memory.size_mb);
  await call('voices.update', { voice: 'Anna', text: 'the queen' });
  expect((await encoded()).meta.memory.size_mb).toBe(first.meta.memory.size_mb);
  await call('voices.remove', { voice: 'Anna' });
  await call('voices.add', { name: 'Anna', audio: referenceWav(1.5), text: 'the king' });
  expect((await encoded()).meta.memory.size_mb).toBe(first.meta.memory.size_mb);
}, 120_000);
