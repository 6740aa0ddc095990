import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { doctorReportSchema, type ModelEntry, type SavedVoice, type SpeakResult } from '../contract/index.ts';
import { maxTranscriptLength } from '../contract/voices.ts';
import { echoFolder, emptyCheckpoint } from './testing/echo-folder.ts';
import { openTestHost } from './testing/fixture.ts';
import { referenceWav } from './testing/reference-wav.ts';

let test: ReturnType<typeof openTestHost>;
beforeEach(() => {
  test = openTestHost();
});
afterEach(() => test.close());

async function speak(request: object): Promise<SpeakResult> {
  const { job_id } = (await test.call('speak', { text: 'One.', seed: 1, ...request })) as { job_id: string };
  return (await test.until('job.finished', (data) => data.job_id === job_id)).result;
}
const addVoice = async (name: string, change: object = {}) =>
  ((await test.call('voices.add', { name, audio: referenceWav(2), ...change })) as { voice: SavedVoice })
    .voice;
const models = async () => ((await test.call('models.list', {})) as { models: ModelEntry[] }).models;

describe('speaking with what is kept', () => {
  it('a saved voice reaches the engine with its audio and its words', async () => {
    await addVoice('小明', { text: '水流过石头。' });
    const result = await speak({ engine: 'echo', voice: '小明', language: 'zh', parameters: { top_k: 7 } });
    expect(result).toMatchObject({ engine: 'echo', model: 'echo:clone', voice: '小明', warnings: [] });
    expect(result.applied).toMatchObject({
      language: 'zh',
      parameters: { top_k: 7, temperature: 0.9 },
      reference: { samples: 48_000, sample_rate: 24_000, text: '水流过石头。', voice: '小明' },
    });
    const [job] = ((await test.call('jobs.list', {})) as { jobs: object[] }).jobs;
    expect(job).toMatchObject({ voice: '小明', model: 'echo:clone' });
  });

  it('so does audio of the request alone, as bytes or as base64, with its warnings', async () => {
    const audio = referenceWav(2, { sampleRate: 8000, channels: 2 });
    for (const carried of [audio, Buffer.from(audio).toString('base64')]) {
      const result = await speak({ engine: 'echo', reference: { audio: carried, text: 'Words.' } });
      expect(result).toMatchObject({ voice: '', warnings: [{ code: 'reference_rate' }] });
      expect(result.applied).toMatchObject({
        reference: { samples: 16_000, sample_rate: 8000, text: 'Words.' },
      });
    }
  });

  it('a transcript that is too long is named as one', async () => {
    const text = 'x'.repeat(maxTranscriptLength + 1);
    const refused = { code: 'text_too_long', message: expect.stringMatching(/^The transcript/) };
    await expect(addVoice('Long', { text })).rejects.toMatchObject(refused);
    const reference = { audio: referenceWav(2), text };
    await expect(speak({ engine: 'echo', reference })).rejects.toMatchObject(refused);
  });

  it('a recording outside the model’s limits is refused before it is queued', async () => {
    await addVoice('Long', { audio: referenceWav(12), text: 'Many words.' });
    for (const request of [
      { model: 'echo:transcript', voice: 'Long' },
      { model: 'echo:clone', reference: { audio: referenceWav(0.7) } },
    ]) {
      await expect(speak(request)).rejects.toMatchObject({ code: 'reference_unusable' });
    }
    await expect(speak({ model: 'echo:clone', reference: { audio: 'not base64!' } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect(test.of('job.queued')).toEqual([]);
  });

  it('a model in a folder speaks as soon as it is added, also by another program, until it is damaged', async () => {
    await expect(
      speak({ model: 'echo:folder', reference: { audio: referenceWav(2) } }),
    ).rejects.toMatchObject({
      code: 'model_not_installed',
      params: { repository: 'mizuoto/echo-folder' },
    });
    const folder = echoFolder(test.folder, 'm', { mode: 'speakers' });
    const other = openTestHost({ configFolder: test.folder });
    await other.call('models.add', { path: folder });
    await other.close();
    expect(await speak({ model: 'echo:folder' })).toMatchObject({ model: 'echo:folder', voice: 'anna' });
    rmSync(join(folder, 'model.safetensors'));
    await expect(speak({ model: 'echo:folder' })).rejects.toMatchObject({
      code: 'checkpoint_missing',
      params: { file: 'model.safetensors' },
    });
  });
});

describe('models', () => {
  it('tell of every change, and of nothing else', async () => {
    await models();
    const folder = echoFolder(test.folder, 'm');
    await test.call('models.add', { path: folder });
    await models();
    await test.call('models.check', { model: 'echo:folder' });
    await test.call('models.remove', { model: 'echo:folder' });
    await models();
    expect(test.of('models.changed').map(({ data }) => data.models.map(({ state }) => state))).toEqual([
      ['installed'],
      ['not_installed'],
    ]);
    expect(
      test
        .of('models.checking')
        .map(({ data }) => data.fraction)
        .at(-1),
    ).toBe(1);
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'model.safetensors']);
  });

  it('a damaged list costs a warning, not the studio', async () => {
    writeFileSync(join(test.folder, 'models.json'), '{');
    expect((await models()).map(({ state }) => state)).toEqual(['not_installed']);
    expect(await speak({ engine: 'tone' })).toMatchObject({ model: 'tone' });
    expect(test.of('log.line').filter(({ data }) => data.level === 'warning')).toHaveLength(1);
  });

  it('refuse what is no folder of the contract’s', async () => {
    await expect(test.call('models.add', { path: '' })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(test.call('models.add', { path: test.folder, x: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(test.call('models.add', { path: test.folder })).rejects.toMatchObject({
      code: 'model_not_recognised',
    });
  });
});

describe('voices', () => {
  it('tell of every change', async () => {
    await addVoice('Anna');
    await test.call('voices.update', { voice: 'Anna', name: 'Bert' });
    await test.call('voices.remove', { voice: 'Bert' });
    const told = test.of('voices.changed').map(({ data }) => data.voices.map(({ name }) => name));
    expect(told).toEqual([['Anna'], ['Bert'], []]);
  });

  it('take what was prepared of them along, also where another program removed them', async () => {
    const { id } = await addVoice('Anna');
    const prompts = join(test.folder, 'cache', 'voice-prompts');
    for (const voice of [id, 'gone']) {
      mkdirSync(join(prompts, voice), { recursive: true });
      writeFileSync(join(prompts, voice, 'x.prompt'), 'x');
    }
    await test.call('voices.list', {});
    expect(readdirSync(prompts)).toEqual([id]);
    await test.call('voices.remove', { voice: id });
    expect(readdirSync(prompts)).toEqual([]);
  });

  it('speak a language that some model knows, by tag or name', async () => {
    await addVoice('Anna');
    const language = async (asked: string | null) =>
      ((await test.call('voices.update', { voice: 'Anna', language: asked })) as { voice: SavedVoice }).voice
        .language;
    expect(await language('Chinese')).toBe('zh');
    expect(await language('zh_hans')).toBe('zh-Hans');
    await expect(language('klingon')).rejects.toMatchObject({ code: 'unknown_language' });
    const { voices } = await test.call('voices.list', {});
    expect(voices).toMatchObject([{ name: 'Anna', language: 'zh-Hans' }]);
    expect(await language(null)).toBeNull();
  });

  it('give their recording back, byte by byte', async () => {
    await addVoice('Anna');
    expect(await test.call('voices.audio', { voice: 'anna' })).toEqual({ wav: referenceWav(2) });
    await expect(test.call('voices.audio', { voice: 'nobody' })).rejects.toMatchObject({
      code: 'unknown_voice',
    });
  });
});

it('the doctor tells which models and voices are damaged, and that the others are not', async () => {
  const published = echoFolder(test.folder, 'published');
  await test.call('models.add', { path: published });
  writeFileSync(join(published, 'model.safetensors'), Buffer.concat([emptyCheckpoint, Buffer.alloc(2)]));
  const folders = ['whole', 'cut', 'swapped'].map((name) => echoFolder(test.folder, name));
  for (const [n, path] of folders.entries()) await test.call('models.add', { path, name: `Model ${n}` });
  writeFileSync(join(folders[1]!, 'model.safetensors'), '<!DOCTYPE html><html>');
  rmSync(folders[2]!, { recursive: true });
  for (const name of ['Anna', 'Bert', 'Cora', 'Dora']) await addVoice(name);
  const voices = join(test.folder, 'voices');
  writeFileSync(join(voices, 'bert', 'voice.json'), '{');
  rmSync(join(voices, 'cora', 'reference.wav'));
  writeFileSync(join(voices, 'dora', 'reference.wav'), referenceWav(1));
  const report = doctorReportSchema.parse(await test.call('doctor.run', {}));
  expect(report.ok).toBe(false);
  const of = (...ids: string[]) => report.findings.filter(({ id }) => ids.includes(id));
  expect(of('models_ok', 'voices_ok').map(({ params }) => params)).toEqual([{ count: 1 }, { count: 1 }]);
  expect(of('model_damaged').map(({ message }) => message)).toEqual([
    expect.stringMatching(/^echo:model-1 cannot be used: .*model\.safetensors.* is a web page/),
    expect.stringMatching(/^echo:model-2 cannot be used: The folder of "echo:model-2" is gone/),
  ]);
  expect(of('model_changed')).toMatchObject([
    { status: 'warning', params: { model: 'echo:folder', files: 'model.safetensors' } },
  ]);
  expect(of('voice_damaged').map(({ params }) => [params.file, params.why])).toEqual([
    ['voice.json', 'is not JSON'],
    ['reference.wav', 'is missing'],
    ['reference.wav', 'is not the recording that was saved'],
  ]);
  expect(report.fixes.join()).toContain('mizuoto models check echo:model-1');
});
