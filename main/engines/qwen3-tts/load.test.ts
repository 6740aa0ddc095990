import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defaultSettings } from '../../contract/settings.ts';
import { addon } from '../../nn/testing/devices.ts';
import { RuntimeService } from '../../runtime/runtime-service.ts';
import { noVoicePrompts } from '../../voices/voice-prompts.ts';
import type { Reference } from '../engine.ts';
import { artificialReference } from '../plain-task.ts';
import { loadQwen3Tts } from './load.ts';
import { taskOf, tinyFolder } from './testing/engine-rig.ts';

let folder: string;
let runtime: RuntimeService;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'qwen3-tts-'));
  cpSync(path.join(tinyFolder, 'base'), folder, { recursive: true });
  const settings = { ...defaultSettings(), 'compute.simulate_vram_mb': 64, 'compute.threads': 1 };
  runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
});
afterEach(async () => {
  await runtime.close();
  rmSync(folder, { recursive: true });
});

async function load(watch: (fraction: number, abort: AbortController) => void = () => {}) {
  const abort = new AbortController();
  const model = { id: 'qwen3-tts:base', folder, version: '1' };
  const source = {
    id: model.id,
    engine: 'qwen3-tts',
    name: 'base',
    load: (context: Parameters<typeof loadQwen3Tts>[1]) => {
      const progress = (fraction: number) => watch(fraction, abort);
      return loadQwen3Tts({ addon, model, voicePrompts: noVoicePrompts }, { ...context, progress });
    },
  };
  return runtime.acquire(source, await runtime.deviceFor(), abort.signal);
}

function changeConfig(file: string, change: (config: Record<string, Record<string, unknown>>) => void): void {
  const config = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  change(config);
  writeFileSync(path.join(folder, file), JSON.stringify(config));
}

it('reads six components, says how far it is, and leaves the device alone', async () => {
  const seen: number[] = [];
  const lease = await load((fraction) => seen.push(fraction));
  expect(seen).toEqual([1, 2, 3, 4, 5, 6].map((count) => count / 6));
  expect(lease.handles.map(({ component }) => component)).toEqual([
    'talker',
    'code predictor',
    'text embedding',
    'codec decoder',
    'speaker encoder',
    'codec encoder',
  ]);
  const book = await runtime.deviceFor();
  expect(book.device.memory().held.weights).toBe(0);
  expect(lease.handles[2]!.device.isHost).toBe(true);
  lease.release();
});

describe('a model that something is wrong with', () => {
  it.each([
    ['vocab.json', 'checkpoint_missing'],
    ['config.json', 'checkpoint_missing'],
    ['model.safetensors', 'FileNotFound'],
    ['speech_tokenizer/model.safetensors', 'FileNotFound'],
  ])('without %s: %s, by name', async (file, code) => {
    rmSync(path.join(folder, file));
    const error = await load().catch((e: unknown) => e);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(path.basename(file));
  });

  it('cut off', async () => {
    truncateSync(path.join(folder, 'model.safetensors'), 250_000);
    await expect(load()).rejects.toMatchObject({
      code: expect.stringMatching(/^(FileTruncated|TensorOutOfBounds)$/),
    });
  });

  it.each([
    [
      'config.json',
      'intermediate_size',
      (config) => {
        config.talker_config!.intermediate_size = 96;
      },
      'talker',
    ],
    [
      'config.json',
      'layers',
      (config) => {
        config.talker_config!.num_hidden_layers = 3;
      },
      'layers.2',
    ],
    [
      'config.json',
      'speaker encoder',
      (config) => {
        config.speaker_encoder_config!.enc_attention_channels = 9;
      },
      'asp',
    ],
    [
      'speech_tokenizer/config.json',
      'decoder',
      (config) => {
        config.decoder_config!.latent_dim = 32;
      },
      'pre_conv',
    ],
    [
      'speech_tokenizer/config.json',
      'encoder',
      (config) => {
        config.encoder_config!.num_filters = 8;
      },
      'encoder',
    ],
  ] as [string, string, (config: Record<string, Record<string, unknown>>) => void, string][])(
    '%s that does not fit the weights (%s) names a tensor',
    async (file, _, change, named) => {
      changeConfig(file, change);
      const error = await load().catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'checkpoint_mismatch' });
      expect(JSON.stringify(error) + String(error)).toContain(named);
    },
  );

  it('can be put right and loaded then', async () => {
    const file = path.join(folder, 'merges.txt');
    const merges = readFileSync(file);
    rmSync(file);
    await expect(load()).rejects.toMatchObject({ code: 'checkpoint_missing' });
    writeFileSync(file, merges);
    (await load()).release();
    expect(runtime.view().models).toHaveLength(1);
  });
});

describe('weights that hold something else than numbers', () => {
  /** Sets one value of a tensor, or each, to NaN. */
  function damage(file: string, tensor: string, values: 'one' | 'all' = 'one'): void {
    const whole = readFileSync(path.join(folder, file));
    const length = Number(whole.readBigUInt64LE());
    const header = JSON.parse(whole.subarray(8, 8 + length).toString());
    const { dtype, data_offsets } = header[tensor];
    const [first, end] = data_offsets.map((offset: number) => 8 + length + offset);
    const size = dtype === 'F32' ? 4 : 2;
    for (let at = first; at < (values === 'one' ? first + size : end); at += size) {
      if (dtype === 'F32') whole.writeUInt32LE(0x7fc00000, at);
      else whole.writeUInt16LE(0x7fc0, at);
    }
    writeFileSync(path.join(folder, file), whole);
  }

  async function speak(reference: Reference | null): Promise<unknown[]> {
    const lease = await load();
    const heard: unknown[] = [];
    const ctx = runtime.startRequest({
      id: 'test',
      book: await runtime.deviceFor(),
      settings: { ...defaultSettings(), 'compute.threads': 1 },
      signal: new AbortController().signal,
      onProgress: () => {},
    });
    try {
      for await (const chunk of lease.value.speak(taskOf('qwen3-tts:base', { text: 'hi', reference }), ctx))
        heard.push(chunk);
    } catch (error) {
      heard.push(error);
    } finally {
      lease.release();
    }
    return heard;
  }

  it.each([
    ['model.safetensors', 'talker.model.layers.0.mlp.up_proj.weight'],
    ['model.safetensors', 'talker.code_predictor.lm_head.0.weight'],
    ['model.safetensors', 'speaker_encoder.fc.weight'],
    ['speech_tokenizer/model.safetensors', 'decoder.pre_conv.conv.weight'],
    ['speech_tokenizer/model.safetensors', 'decoder.decoder.1.block.0.alpha'],
  ])('%s: %s is named before anything is heard, and can be put right', async (file, tensor) => {
    const sound = readFileSync(path.join(folder, file));
    damage(file, tensor);
    const { samples, sampleRate } = artificialReference();
    const reference = { samples, sampleRate, text: null, hash: 'a', voice: 'me' };
    const [first, ...rest] = await speak(reference).catch((error: unknown) => [error]);
    expect(first).toMatchObject({ code: 'weights_not_finite', params: { tensor, element: 0 } });
    expect(rest).toEqual([]);
    // Nobody uses it: it is gone, and its files are read anew.
    await vi.waitFor(() => expect(runtime.view().models).toHaveLength(0));
    writeFileSync(path.join(folder, file), sound);
    expect((await speak(reference))[0]).toHaveProperty('samples');
  });

  it('the table of text vectors: named when one of its rows is used', async () => {
    const tensor = 'talker.model.text_embedding.weight';
    damage('model.safetensors', tensor, 'all');
    const { samples, sampleRate } = artificialReference();
    const heard = await speak({ samples, sampleRate, text: null, hash: 'a', voice: 'me' });
    expect(heard).toMatchObject([{ code: 'weights_not_finite', params: { tensor } }]);
  });
});

it('is cancelled between components, and gives back what it has', async () => {
  const loading = load((fraction, abort) => fraction > 0.3 && abort.abort());
  await expect(loading).rejects.toMatchObject({ code: 'cancelled' });
  expect(runtime.view().models).toHaveLength(0);
});
