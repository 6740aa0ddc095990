import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readWav } from '../audio/wav.ts';
import {
  callNames,
  calls,
  defaultSettings,
  eventNames,
  events,
  type Job,
  maxTextLength,
  type RuntimeSnapshot,
} from '../contract/index.ts';
import { echoFolder } from './testing/echo-folder.ts';
import { openTestHost } from './testing/fixture.ts';
import { referenceWav } from './testing/reference-wav.ts';
import { toneOf } from './testing/tone-engine.ts';

let test: ReturnType<typeof openTestHost>;
beforeEach(() => {
  test = openTestHost();
});
afterEach(() => test.close());

const speak = (request: object): Promise<{ job_id: string }> =>
  test.call('speak', { engine: 'tone', seed: 1, ...request });
const finished = (job_id: string) => test.until('job.finished', (data) => data.job_id === job_id);

describe('the dispatch table', () => {
  it('answers every call of the contract and nothing else', () => {
    expect(Object.keys(test.host.handlers).sort()).toEqual([...callNames].sort());
  });

  it('answers in the shape that the contract promises', async () => {
    const { job_id } = await speak({ text: 'One. Two.' });
    await finished(job_id);
    const requests: Record<string, unknown> = {
      speak: { text: 'Three.', engine: 'tone' },
      'jobs.get': { job_id },
      'jobs.cancel': { job_id },
      'jobs.wav': { job_id },
      'jobs.export': { job_id, path: join(test.folder, 'a.wav') },
      'models.load': { model: 'tone' },
      'models.unload': { model: 'tone' },
      'models.pin': { model: 'tone', pinned: true },
      'runtime.what_if': { device: 'CPU' },
      'runtime.what_if_curve': { device: 'CPU' },
      'runtime.export_trace': { path: join(test.folder, 'trace.json') },
      'models.add': { path: echoFolder(test.folder, 'b'), name: 'b' },
      'models.remove': { model: 'echo:b' },
      'models.check': { model: 'echo:folder' },
      'voices.add': { name: 'Anna', audio: referenceWav(2) },
      'voices.update': { voice: 'Anna', text: 'Water over stone.' },
      'voices.remove': { voice: 'anna' },
      'voices.audio': { voice: 'Bert' },
      'settings.set': { patch: { 'ui.theme': 'dark' } },
    };
    await test.call('models.add', { path: echoFolder(test.folder, 'a') });
    await test.call('voices.add', { name: 'Bert', audio: referenceWav(2) });
    for (const name of callNames) {
      const response = await test.call(name, requests[name] ?? {});
      const parsed = calls[name].response.safeParse(response);
      expect(parsed.error?.issues, name).toBeUndefined();
    }
    await test.until('runtime.changed');
    for (const { name, data } of test.seen) {
      expect(events[name].safeParse(data).error?.issues, name).toBeUndefined();
    }
    const unseen = eventNames.filter((name) => test.of(name).length === 0);
    expect(unseen).toEqual(['job.failed', 'job.cancelled', 'log.line']);
  });

  it('refuses what is not in the contract', async () => {
    await expect(test.call('speek', {})).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('Did you mean "speak"?'),
    });
    await expect(test.call('toString', {})).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(test.call('jobs.get', { job_id: 7 })).rejects.toMatchObject({
      code: 'invalid_request',
      params: { field: 'job_id' },
    });
    await expect(test.call('settings.get', { extra: 1 })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(test.call('settings.get', null)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(test.call('jobs.get', { job_id: 'none' })).rejects.toMatchObject({ code: 'job_not_found' });
  });
});

describe('speaking', () => {
  it('sends the audio in pieces without gap or overlap, then the result', async () => {
    const { job_id } = await speak({ text: 'Hello there. And again!', speed: 2 });
    const { result } = await finished(job_id);
    const chunks = test.of('job.audio').map(({ data }) => data);
    expect(chunks.map(({ text }) => text)).toEqual(['Hello there.', 'And again!']);
    expect(chunks.map(({ index }) => index)).toEqual([0, 1]);
    expect(chunks[1]!.start).toBe(chunks[0]!.samples.length);
    expect(chunks[0]!.samples).toEqual(toneOf('Hello there.', { seed: 1, speed: 2, pitch: 1 }));
    const samples = chunks[0]!.samples.length + chunks[1]!.samples.length;
    expect(result).toMatchObject({ seconds: samples / 16000, seed: 1, voice: 'tone', engine: 'tone' });
    expect(result.meta.chunks).toBe(2);
    expect(result.rtf).toBeCloseTo(result.meta.compute_seconds / result.seconds, 10);
    const names = test.seen.map(({ name }) => name).filter((name) => name.startsWith('job.'));
    expect(names[0]).toBe('job.queued');
    expect(names.at(-1)).toBe('job.finished');
  });

  it('chooses a seed and says which', async () => {
    const { job_id } = await speak({ text: 'One.', seed: undefined });
    const { result } = await finished(job_id);
    expect(Number.isInteger(result.seed)).toBe(true);
    const other = await speak({ text: 'One.', seed: undefined });
    expect((await finished(other.job_id)).result.seed).not.toBe(result.seed);
  });

  it.each([
    [{ text: 'a', engine: 'tune' }, 'unknown_engine', /Did you mean "tone"/],
    [{ text: 'a', voice: 'slwo' }, 'unknown_voice', /Did you mean "slow"/],
    [{ text: '' }, 'text_empty', /at least one word/],
    [{ text: ' \n\t\u200b\ufeff' }, 'text_empty', /at least one word/],
    [{ text: 'a\0b' }, 'text_malformed', /NUL byte at position 2/],
    [{ text: 'ab\ud83d.' }, 'text_malformed', /lone surrogate\) at position 3/],
    [{ text: '\udc00a' }, 'text_malformed', /position 1/],
    [{ text: 'x'.repeat(maxTextLength + 1) }, 'text_too_long', /2,000,000/],
    [{ text: 'a', speed: 3 }, 'invalid_request', /speed of 3 .* from 0.5 to 2/],
    [{ text: 'a', speed: 0 }, 'invalid_request', /speed/],
    [{ text: 'a', speed: Number.NaN }, 'invalid_request', /speed/],
    [{ text: 'a', pitch: Number.POSITIVE_INFINITY }, 'invalid_request', /pitch/],
    [{ text: 'a', engine: 'hum', pitch: 1.5 }, 'invalid_request', /cannot change the pitch/],
    [{ text: 'a', seed: -1 }, 'invalid_request', /seed/],
    [{ text: 'a', seed: 1.5 }, 'invalid_request', /seed/],
    [{ text: 'a', settings: { 'compute.vram_mod': 'low' } }, 'unknown_setting', /compute.vram_mode/],
    [{ text: 'a', settings: { 'compute.vram_mode': 'x' } }, 'invalid_setting', /one of auto/],
    [
      { text: 'a', settings: { 'compute.device': 'Vulkan0', 'compute.simulate_vram_mb': 4 } },
      'contradictory_settings',
      /compute\.device is Vulkan0/,
    ],
    [{ text: 'a', vioce: 'tone' }, 'invalid_request', /vioce/],
  ])('refuses %j with %s before it is queued', async (request, code, message) => {
    await expect(speak(request)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(test.of('job.queued')).toEqual([]);
  });

  it('keeps emoji and other pairs, which are whole characters', async () => {
    const { job_id } = await speak({ text: 'Fine 🙂.' });
    await finished(job_id);
    expect(((await test.call('jobs.get', { job_id })) as Job).text_preview).toBe('Fine 🙂.');
  });
});

it('a preview is one line of at most 120 whole characters', async () => {
  const preview = async (text: string) => {
    const { job_id } = await speak({ text });
    return ((await test.call('jobs.get', { job_id })) as Job).text_preview;
  };
  expect(await preview(' One\n\ttwo. ')).toBe('One two.');
  const long = await preview('🙂'.repeat(500));
  expect([...long]).toHaveLength(120);
  expect(long.endsWith('🙂…')).toBe(true);
  expect(await preview(`x${' '.repeat(240)}🙂 end`)).toBe('x');
});

describe('the audio of a job', () => {
  it('comes as a WAV file, in memory or on disk, the same bytes', async () => {
    const { job_id } = await speak({ text: 'One. Two. Three.' });
    await finished(job_id);
    const { wav } = (await test.call('jobs.wav', { job_id })) as { wav: Uint8Array };
    const path = join(test.folder, 'out.wav');
    const { bytes } = (await test.call('jobs.export', { job_id, path })) as { bytes: number };
    expect(bytes).toBe(wav.length);
    expect(new Uint8Array(readFileSync(path))).toEqual(wav);
    const read = await readWav(wav);
    const expected = ['One.', 'Two.', 'Three.'].map((text) => toneOf(text, { seed: 1, speed: 1, pitch: 1 }));
    expect(read.samples[0]!.length).toBe(expected.reduce((sum, tone) => sum + tone.length, 0));
    expect(read.samples[0]![100]).toBeCloseTo(expected[0]![100]!, 4);
  });

  it('is refused while it is not there', async () => {
    const { job_id } = await speak({ text: 'One. Two.', voice: 'stall' });
    await expect(test.call('jobs.wav', { job_id })).rejects.toMatchObject({ code: 'invalid_request' });
    const refused = await speak({
      text: 'One.',
      voice: 'refuse',
      settings: { 'compute.simulate_vram_mb': 1 },
    });
    await test.until('job.failed', (data) => data.job_id === refused.job_id);
    await expect(test.call('jobs.wav', refused)).rejects.toMatchObject({
      message: expect.stringContaining('failed before the first sound'),
    });
  });

  it('is not written over a folder or into a missing one, and leaves nothing', async () => {
    const { job_id } = await speak({ text: 'One.' });
    await finished(job_id);
    for (const path of [test.folder, join(test.folder, 'no', 'such.wav')]) {
      await expect(test.call('jobs.export', { job_id, path })).rejects.toMatchObject({
        code: 'output_not_writable',
      });
    }
    expect(readdirSync(test.folder)).toEqual([]);
  });
});

describe('the runtime', () => {
  it('sends at most ten snapshots a second, the last one true', async () => {
    const { job_id } = await speak({ text: 'A. '.repeat(10), voice: 'slow' });
    await finished(job_id);
    const last = await test.until('runtime.changed', (data) => data.jobs[0]?.state === 'finished');
    const times = test.of('runtime.changed').map(({ at }) => at);
    expect(times.length).toBeGreaterThan(3);
    const gaps = times.slice(1).map((at, index) => at - times[index]!);
    expect(Math.min(...gaps)).toBeGreaterThan(95);
    expect(last.models[0]?.state).toBe('idle');
    const versions = test.of('runtime.changed').map(({ data }) => data.version);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
  });
});

describe('settings', () => {
  it('are told to everyone and to the devices', async () => {
    await test.call('jobs.list', {});
    await test.call('settings.set', { patch: { 'compute.vram_mode': 'low' } });
    expect(test.of('settings.changed').map(({ data }) => data['compute.vram_mode'])).toEqual(['low']);
    expect(test.backend.settings?.['compute.vram_mode']).toBe('low');
  });

  it('that another process changed are in force when the runtime is looked at', async () => {
    await test.call('runtime.snapshot', {});
    expect(test.backend.settings).toBeNull();
    writeFileSync(join(test.folder, 'settings.json'), JSON.stringify({ 'compute.vram_mode': 'low' }));
    await test.call('runtime.snapshot', {});
    expect(test.backend.settings?.['compute.vram_mode']).toBe('low');
    expect(test.of('settings.changed').map(({ data }) => data['compute.vram_mode'])).toEqual(['low']);
  });

  it('that change while the devices are opened reach them', async () => {
    await test.close();
    let opened: () => void = () => {};
    test = openTestHost(
      {},
      new Promise<void>((resolve) => {
        opened = resolve;
      }),
    );
    const jobs = test.call('jobs.list', {});
    await test.call('settings.set', { patch: { 'compute.vram_mode': 'low' } });
    expect(test.backend.settings).toBeNull();
    opened();
    await jobs;
    expect(test.backend.settings?.['compute.vram_mode']).toBe('low');
  });

  it('remember a pin where the engine has a setting for it', async () => {
    await test.call('models.pin', { model: 'tone', pinned: true });
    expect(test.of('settings.changed')).toEqual([]);
    const known = test.backend.pin.bind(test.backend);
    test.backend.pin = (model, pinned) => known(model === 'mini' ? 'tone' : model, pinned);
    await test.call('models.pin', { model: 'mini', pinned: true });
    await test.call('models.pin', { model: 'mini', pinned: true });
    expect(test.host.settings.get()['engines.mini.pinned_models']).toEqual(['mini']);
    await test.call('models.pin', { model: 'mini', pinned: false });
    expect(test.host.settings.get()['engines.mini.pinned_models']).toEqual([]);
  });

  it('work with warnings where the file is bad', async () => {
    writeFileSync(join(test.folder, 'settings.json'), 'not json');
    expect(await test.call('settings.get', {})).toEqual(defaultSettings());
    expect(test.of('log.line')[0]?.data).toMatchObject({
      level: 'warning',
      said: { code: 'settings_kept_aside', params: { reason: 'it is not JSON' } },
    });
    // Whoever comes later sees it, too; the newest first.
    writeFileSync(join(test.folder, 'settings.json'), '{"compute.vram_mod": 1}');
    await test.call('settings.get', {});
    const { incidents }: RuntimeSnapshot = await test.call('runtime.snapshot', {});
    expect(incidents.map(({ said }) => said.code)).toEqual(['settings_near_key', 'settings_kept_aside']);
  });
});
