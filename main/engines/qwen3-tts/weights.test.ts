import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ModelLibrary } from '../../models/model-library.ts';
import { recogniseWith } from '../../models/recognise.ts';
import { type TensorFile, writeSafetensors } from '../../nn/testing/safetensors.ts';
import { readQwen2Tokenizer } from '../../text/tokenizers/qwen2.ts';
import { qwen3TtsEngine } from './index.ts';
import { tinyFolder } from './testing/engine-rig.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'qwen3-tts-'));
  copy('base');
});
afterEach(() => rmSync(folder, { recursive: true }));

const copy = (kind: string) => cpSync(path.join(tinyFolder, kind), folder, { recursive: true });
const inside = (file: string) => path.join(folder, file);
const json = (file: string) => JSON.parse(readFileSync(inside(file), 'utf8'));
const problems = async (at = folder) => (await recogniseWith(qwen3TtsEngine(), at, 'thorough'))?.problems;

function change(file: string, edit: (value: Record<string, Record<string, unknown>>) => void): void {
  const value = json(file);
  edit(value);
  writeFileSync(inside(file), JSON.stringify(value));
}

/** The tensors of a checkpoint, to be written again with something else in them. */
function tensorsOf(file: string): Record<string, TensorFile> {
  const bytes = readFileSync(inside(file));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<
    string,
    { dtype: TensorFile['dtype']; shape: number[]; data_offsets: [number, number] }
  >;
  const entries = Object.entries(header).filter(([name]) => name !== '__metadata__');
  return Object.fromEntries(
    entries.map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [start, end],
        },
      ]) => [name, { dtype, shape, data: bytes.subarray(8 + length + start, 8 + length + end) }],
    ),
  );
}

it.each(['base', 'custom_voice', 'voice_design'])('the published layout of a %s model fits', async (kind) => {
  expect(await problems(path.join(tinyFolder, kind))).toEqual([]);
});

describe('weights that are not those of config.json', () => {
  it('of more layers than there are: the first few and their count', async () => {
    change('config.json', ({ talker_config }) => {
      talker_config!.num_hidden_layers = 28;
    });
    const found = await problems();
    expect(found).toMatchObject([
      {
        code: 'checkpoint_mismatch',
        params: { file: 'model.safetensors', path: folder, configuration: 'config.json', unexpected: 0 },
      },
    ]);
    expect(found![0]!.params.missing).toBe(26 * 11);
    expect(found![0]!.params.first).toBe('talker.model.layers.2.input_layernorm.weight');
    expect(found![0]!.message).toMatch(
      /286 tensors are missing \(talker\.model\.layers\.2\..*, and 283 more\)/,
    );
  });

  it('of fewer layers, or another width', async () => {
    change('config.json', ({ talker_config }) => {
      talker_config!.num_hidden_layers = 1;
    });
    expect(await problems()).toMatchObject([{ params: { missing: 0, unexpected: 11 } }]);
    change('config.json', ({ talker_config }) => {
      talker_config!.num_hidden_layers = 2;
      talker_config!.text_vocab_size = 400;
    });
    expect(await problems()).toMatchObject([
      { params: { misshaped: 1, first: 'talker.model.text_embedding.weight' } },
    ]);
  });

  it('of a Base model that is labelled CustomVoice, and the other way round', async () => {
    change('config.json', (config) => {
      Object.assign(config, { tts_model_type: 'custom_voice' });
    });
    const [found] = (await problems())!;
    expect(found).toMatchObject({ code: 'checkpoint_mismatch', params: { missing: 0 } });
    expect(found!.params.unexpected).toBeGreaterThan(10);
    expect(found!.params.first).toMatch(/^speaker_encoder\./);
    const labelled = json('config.json');
    copy('custom_voice');
    writeFileSync(inside('config.json'), JSON.stringify({ ...labelled, tts_model_type: 'base' }));
    const [other] = (await problems())!;
    expect(other!.params.missing).toBeGreaterThan(10);
    expect(other!.params.first).toMatch(/^speaker_encoder\./);
  });

  it('of another codec: networks, codebooks and logarithms', async () => {
    change('speech_tokenizer/config.json', ({ decoder_config }) => {
      decoder_config!.decoder_dim = Number(decoder_config!.decoder_dim) * 2;
    });
    const [found] = (await problems())!;
    expect(found).toMatchObject({
      code: 'checkpoint_mismatch',
      params: { file: 'speech_tokenizer/model.safetensors', configuration: 'speech_tokenizer/config.json' },
    });
    copy('base');
    const file = 'speech_tokenizer/model.safetensors';
    const name = 'decoder.quantizer.rvq_rest.vq.layers.0._codebook.embedding_sum';
    const { [name]: gone, ...rest } = tensorsOf(file);
    expect(gone).toBeDefined();
    writeSafetensors(inside(file), rest);
    expect(await problems()).toMatchObject([{ params: { missing: 1, first: name } }]);
    writeSafetensors(inside(file), { ...rest, [name]: { ...gone!, shape: gone!.shape.toReversed() } });
    expect(await problems()).toMatchObject([{ params: { misshaped: 1, first: name } }]);
  });

  it('a CustomVoice model needs no encoder in its codec', async () => {
    copy('custom_voice');
    const file = 'speech_tokenizer/model.safetensors';
    const tensors = Object.entries(tensorsOf(file)).filter(([name]) => name.startsWith('decoder.'));
    writeSafetensors(inside(file), Object.fromEntries(tensors));
    expect(await problems()).toEqual([]);
  });

  it('of whole numbers where numbers are needed', async () => {
    const tensors = tensorsOf('model.safetensors');
    const name = 'talker.codec_head.weight';
    const { shape } = tensors[name]!;
    const data = new Int32Array(shape[0]! * shape[1]!);
    writeSafetensors(inside('model.safetensors'), { ...tensors, [name]: { dtype: 'I32', shape, data } });
    expect(await problems()).toMatchObject([{ params: { unusable: 1, first: name } }]);
  });

  it('of parts, one of which is another model’s', async () => {
    const tensors = Object.entries(tensorsOf('model.safetensors'));
    const half = Math.floor(tensors.length / 2);
    const parts = [tensors.slice(0, half), tensors.slice(half)];
    const name = (part: number) => `model-0000${part + 1}-of-00002.safetensors`;
    const map = parts.flatMap((part, index) => part.map(([tensor]) => [tensor, name(index)]));
    rmSync(inside('model.safetensors'));
    writeFileSync(
      inside('model.safetensors.index.json'),
      JSON.stringify({ weight_map: Object.fromEntries(map) }),
    );
    for (const [index, part] of parts.entries()) {
      writeSafetensors(inside(name(index)), Object.fromEntries(part));
    }
    expect(await problems()).toEqual([]);
    writeSafetensors(inside(name(1)), Object.fromEntries(parts[1]!.slice(4)));
    expect(await problems()).toMatchObject([
      {
        code: 'checkpoint_invalid',
        params: { wrong_part: name(1), lacks: 4, wanted: parts[1]!.length, path: folder },
      },
    ]);
    cpSync(inside(name(0)), inside(name(1)));
    expect(await problems()).toMatchObject([{ params: { wrong_part: name(1), lacks: parts[1]!.length } }]);
  });
});

describe('a vocabulary that is not the model’s', () => {
  it.each([
    ['its end is missing', (ids: [string, number][]) => ids.slice(0, 270), /270 tokens, .* begin at id 286/],
    [
      'every other token is missing',
      (ids: [string, number][]) => ids.filter(([word], n) => word.length === 1 || n % 2 === 0),
      /a part of it is missing/,
    ],
  ])('%s', async (_, part, why) => {
    const ids = Object.entries(json('vocab.json') as Record<string, number>).sort((a, b) => a[1] - b[1]);
    writeFileSync(inside('vocab.json'), JSON.stringify(Object.fromEntries(part(ids))));
    const found = await problems();
    expect(found).toMatchObject([{ code: 'checkpoint_invalid', params: { path: inside('vocab.json') } }]);
    expect(found![0]!.message).toMatch(why);
    // Loading refuses it by the same rule.
    await expect(readQwen2Tokenizer(folder)).rejects.toThrow(why);
  });

  it('merges of another model', async () => {
    const merges = readFileSync(inside('merges.txt'), 'utf8');
    writeFileSync(inside('merges.txt'), `${merges.trimEnd()}\nx zqq\n`);
    expect(await problems()).toMatchObject([{ params: { path: inside('merges.txt') } }]);
  });

  it('more tokens than the talker has vectors for, or none for the prompt', async () => {
    change('config.json', ({ talker_config }) => {
      talker_config!.text_vocab_size = 290;
    });
    expect((await problems())!.at(-1)!.message).toMatch(/ids up to 295, and the talker has vectors for 290/);
    copy('base');
    change('config.json', (config) => {
      Object.assign(config, { im_start_token_id: 5 });
    });
    expect((await problems())![0]!.message).toMatch(/im_start_token_id is 5/);
  });
});

it('the library refuses such a folder, and tells of one that became such a folder', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'qwen3-tts-home-'));
  const engines = [qwen3TtsEngine()];
  const library = new ModelLibrary({ folder: home, engines, warn: () => {}, caches: [] });
  const swap = (layers: number) =>
    change('config.json', ({ talker_config }) => {
      talker_config!.num_hidden_layers = layers;
    });
  swap(28);
  await expect(library.add(folder, 'Mine')).rejects.toMatchObject({ code: 'checkpoint_mismatch' });
  expect(library.installed()).toEqual([]);
  swap(2);
  const { id } = await library.add(folder, 'Mine');
  expect(await library.check(id)).toMatchObject({ ok: true, problems: [] });
  swap(28);
  const checked = await library.check(id);
  expect(checked).toMatchObject({
    ok: false,
    problems: [{ code: 'checkpoint_mismatch', params: { missing: 286 } }],
  });
  expect(checked.files.every(({ error }) => error === null)).toBe(true);
  expect(library.entry(id)).toMatchObject({ state: 'damaged' });
  // The vocabulary is read when it is asked for, not at every start.
  swap(2);
  const vocabulary = json('vocab.json') as Record<string, number>;
  const part = Object.fromEntries(Object.entries(vocabulary).filter(([, token]) => token < 270));
  writeFileSync(inside('vocab.json'), JSON.stringify(part));
  await library.refresh();
  expect(library.entry(id)).toMatchObject({ state: 'installed' });
  expect(await library.check(id)).toMatchObject({
    ok: false,
    problems: [{ code: 'checkpoint_invalid', params: { tokens: 270, begin: 286 } }],
  });
  rmSync(home, { recursive: true });
});
