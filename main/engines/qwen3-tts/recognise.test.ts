import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ModelFolder } from '../../models/model-folder.ts';
import { qwen3TtsCatalog } from './catalog.ts';
import { recogniseQwen3Tts } from './recognise.ts';

const tiny = path.join(import.meta.dirname, 'fixtures', 'tiny');
const recognise = (folder: string) => recogniseQwen3Tts(new ModelFolder(folder));

describe('a folder in the layout of the published models', () => {
  it('is known by its configuration, with what it can do', async () => {
    expect(await recognise(path.join(tiny, 'base'))).toMatchObject({
      variant: '1.7b-base',
      name: 'Qwen3-TTS 1.7B Base',
      sampleRate: 24_000,
      abilities: { modes: ['clone'], instruct: 'none', reference_text: 'optional', speakers: [] },
      problems: [],
    });
    const named = await recognise(path.join(tiny, 'custom_voice'));
    expect(named).toMatchObject({ variant: '1.7b-custom-voice', problems: [] });
    expect(named?.abilities).toMatchObject({
      modes: ['speakers'],
      instruct: 'optional',
      auto_language: true,
    });
    expect(named?.abilities.languages).toEqual(['zh', 'en', 'ja', 'ko', 'de', 'fr', 'ru', 'pt', 'es', 'it']);
    expect(named?.abilities.speakers.map(({ id }) => id)).toEqual([
      'vivian',
      'serena',
      'dylan',
      'eric',
      'ryan',
    ]);
    const design = await recognise(path.join(tiny, 'voice_design'));
    expect(design?.abilities).toMatchObject({ modes: ['design'], instruct: 'required' });
    expect(
      design?.files.every((file) =>
        readdirSync(path.join(tiny, 'voice_design'), { recursive: true })
          .map(String)
          .includes(path.normalize(file)),
      ),
    ).toBe(true);
  });

  describe('that something is wrong with', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'qwen3-tts-'));
      cpSync(path.join(tiny, 'base'), folder, { recursive: true });
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    it.each([
      'vocab.json',
      'merges.txt',
      'model.safetensors',
      'generation_config.json',
      'speech_tokenizer/config.json',
      'speech_tokenizer/model.safetensors',
    ])('is still known, and %s is named as missing', async (file) => {
      rmSync(path.join(folder, file));
      const found = await recognise(folder);
      expect(found?.variant).toBe('1.7b-base');
      expect(found?.problems).toEqual([
        expect.objectContaining({ code: 'checkpoint_missing', params: { file, path: folder } }),
      ]);
    });

    it('names a checkpoint that was cut off', async () => {
      truncateSync(path.join(folder, 'model.safetensors'), 200_000);
      const found = await recognise(folder);
      expect(found?.problems.map(({ code, params }) => [code, params.file])).toEqual([
        ['checkpoint_invalid', 'model.safetensors'],
      ]);
    });

    it('names a configuration of the other codec', async () => {
      writeFileSync(
        path.join(folder, 'config.json'),
        JSON.stringify({
          model_type: 'qwen3_tts',
          tokenizer_type: 'qwen3_tts_tokenizer_25hz',
          tts_model_size: '0b6',
        }),
      );
      const found = await recognise(folder);
      expect(found).toMatchObject({
        variant: '0.6b-base',
        problems: [{ code: 'checkpoint_invalid', params: { file: 'config.json' } }],
      });
    });

    it('is not known as another engine’s, nor without config.json', async () => {
      writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ model_type: 'llama' }));
      expect(await recognise(folder)).toBeNull();
      rmSync(path.join(folder, 'config.json'));
      expect(await recognise(folder)).toBeNull();
    });
  });
});

it('the catalog names every file that a folder needs, once, and the ids that folders get', async () => {
  const found = await recognise(path.join(tiny, 'custom_voice'));
  expect(new Set(qwen3TtsCatalog.map(({ id }) => id)).size).toBe(5);
  for (const model of qwen3TtsCatalog) {
    expect(model.files.map(({ path: file }) => file).sort()).toEqual([...found!.files].sort());
    expect(model.sizeBytes).toBeGreaterThan(2.4e9);
    expect(model.abilities.languages).toHaveLength(10);
  }
  const byId = new Map(qwen3TtsCatalog.map((model) => [model.id, model]));
  expect(byId.get('qwen3-tts:1.7b-custom-voice')?.abilities.instruct).toBe('optional');
  expect(byId.get('qwen3-tts:0.6b-custom-voice')?.abilities).toMatchObject({
    instruct: 'none',
    speakers: { length: 9 },
  });
  expect(byId.get('qwen3-tts:0.6b-base')?.abilities.limits.reference_seconds).not.toBeNull();
});
