import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readQwen3TtsConfig } from './config.ts';

const tiny = path.join(import.meta.dirname, 'fixtures', 'tiny');

describe('configuration of a Qwen3-TTS checkpoint', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'qwen3-tts-'));
    for (const file of ['config.json', 'generation_config.json', 'speech_tokenizer/config.json']) {
      cpSync(path.join(tiny, 'base', file), path.join(folder, file));
    }
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Sets `a.b.c` of a file to a value; undefined takes it away. */
  function change(file: string, field: string, value: unknown): void {
    const json = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
    const keys = field.split('.');
    const parent = keys.slice(0, -1).reduce((node, key) => node[key], json);
    parent[keys.at(-1)!] = value;
    writeFileSync(path.join(folder, file), JSON.stringify(json));
  }

  it('reads each kind of model', async () => {
    const base = await readQwen3TtsConfig(path.join(tiny, 'base'));
    expect(base.model.tts_model_type).toBe('base');
    expect(base.model.talker_config).toMatchObject({ hidden_size: 32, head_dim: 16, num_code_groups: 4 });
    expect(base.codec.decoder_config.upsample_rates).toEqual([5, 4]);
    expect(base.generation).toMatchObject({ top_k: 50, max_new_tokens: 8192 });
    const named = await readQwen3TtsConfig(path.join(tiny, 'custom_voice'));
    expect(named.model.talker_config.spk_is_dialect).toMatchObject({ eric: 'sichuan_dialect', ryan: false });
    const design = await readQwen3TtsConfig(path.join(tiny, 'voice_design'));
    expect(design.model.tts_model_type).toBe('voice_design');
  });

  it('fills in what published files leave out', async () => {
    change('config.json', 'speaker_encoder_config', { enc_dim: 32 });
    change('generation_config.json', 'temperature', undefined);
    change('speech_tokenizer/config.json', 'encoder_config.kernel_size', undefined);
    const config = await readQwen3TtsConfig(folder);
    expect(config.model).toMatchObject({
      speaker_encoder_config: { mel_dim: 128, enc_channels: [512, 512, 512, 512, 1536], sample_rate: 24_000 },
    });
    expect(config.generation.temperature).toBe(0.9);
    expect(config.codec.encoder_config.kernel_size).toBe(7);
  });

  it.each([
    ['config.json', 'talker_config.head_dim', undefined, 'talker_config.head_dim'],
    ['config.json', 'talker_config.code_predictor_config.vocab_size', -1, 'code_predictor_config.vocab_size'],
    ['config.json', 'talker_config.use_sliding_window', true, 'use_sliding_window'],
    ['config.json', 'talker_config.rope_scaling', { rope_type: 'yarn', factor: 4 }, 'rope_scaling.rope_type'],
    ['config.json', 'tokenizer_type', 'qwen3_tts_tokenizer_25hz', 'tokenizer_type'],
    ['config.json', 'tts_model_type', 'song', 'tts_model_type'],
    ['config.json', 'talker_config.codec_bos_id', 5000, '5000'],
    ['config.json', 'talker_config.spk_is_dialect', { eric: 'martian' }, 'martian'],
    ['config.json', 'talker_config.num_code_groups', 5, 'num_code_groups'],
    ['config.json', 'speaker_encoder_config.enc_dim', 31, 'enc_dim'],
    ['config.json', 'speaker_encoder_config.enc_dilations', [1, 2], 'enc_dilations'],
    ['generation_config.json', 'temperature', 0, 'temperature'],
    ['speech_tokenizer/config.json', 'decoder_config.sliding_window', undefined, 'sliding_window'],
    ['speech_tokenizer/config.json', 'decoder_config.codebook_size', 65, 'codebook_size'],
    ['speech_tokenizer/config.json', 'decoder_config.num_quantizers', 5, 'num_quantizers'],
    ['speech_tokenizer/config.json', 'encoder_valid_num_quantizers', 3, 'encoder_valid_num_quantizers'],
    ['speech_tokenizer/config.json', 'decode_upsample_rate', 81, 'decode_upsample_rate'],
    ['speech_tokenizer/config.json', 'encode_downsample_rate', 81, 'encode_downsample_rate'],
    ['speech_tokenizer/config.json', 'encoder_config.use_causal_conv', false, 'use_causal_conv'],
  ])('refuses %s with %s = %j', async (file, field, value, named) => {
    change(file, field, value);
    const error = await readQwen3TtsConfig(folder).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'checkpoint_invalid' });
    expect(String(error)).toContain(`"${file}" in "${folder}"`);
    expect(String(error)).toContain(named);
  });

  it('names a file that is absent or damaged', async () => {
    writeFileSync(path.join(folder, 'speech_tokenizer', 'config.json'), '{');
    await expect(readQwen3TtsConfig(folder)).rejects.toMatchObject({
      code: 'checkpoint_invalid',
    });
    rmSync(path.join(folder, 'speech_tokenizer', 'config.json'));
    await expect(readQwen3TtsConfig(folder)).rejects.toMatchObject({
      code: 'checkpoint_missing',
      params: { file: 'speech_tokenizer/config.json', path: folder },
    });
  });
});
