import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { defaultSettings, type Settings } from '../../contract/settings.ts';
import { addon } from '../../nn/testing/devices.ts';
import { RuntimeService } from '../../runtime/runtime-service.ts';
import {
  noVoicePrompts,
  type PromptArrays,
  type PromptKey,
  type VoicePrompts,
} from '../../voices/voice-prompts.ts';
import type { Reference } from '../engine.ts';
import { artificialReference } from '../plain-task.ts';
import { qwen3TtsEngine } from './index.ts';
import { EngineRig, greedy, type RigOptions, type TinyKind } from './testing/engine-rig.ts';

const open: EngineRig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});
async function rigOf(kind: TinyKind, options: RigOptions = {}): Promise<EngineRig> {
  const rig = await EngineRig.open(kind, options);
  open.push(rig);
  return rig;
}

const simulated: Partial<Settings> = {
  'compute.device': 'auto',
  'compute.simulate_vram_mb': 64,
  'compute.vram_reserve_mb': 0,
};

function reference(change: Partial<Reference> = {}): Reference {
  const { samples, sampleRate } = artificialReference();
  return { samples: samples.slice(0, 9600), sampleRate, text: 'the king', hash: 'a', voice: 'me', ...change };
}

/** Keeps prompts in a map, as the studio does on disk. */
function memory(): VoicePrompts & { kept: Map<string, PromptArrays> } {
  const kept = new Map<string, PromptArrays>();
  const name = ({ reference: { hash, voice }, model, part }: PromptKey) =>
    JSON.stringify([hash, voice, model, part]);
  return {
    kept,
    get: async (key) => kept.get(name(key)) ?? null,
    set: async (key, arrays) => void kept.set(name(key), structuredClone(arrays)),
  };
}

const stagesOf = (rig: EngineRig) =>
  rig.runtime
    .events()
    .filter(({ kind }) => kind === 'stage_begin')
    .map(({ subject }) => subject);

describe('speech', () => {
  it('begins after the first frames, goes on in pieces, and is the same for the same seed', async () => {
    const rig = await rigOf('custom_voice');
    const task = { text: 'in the house', voice: 'serena', seed: 7 };
    const first = await rig.speak(task);
    expect(first.chunks.length).toBeGreaterThan(3);
    expect(first.chunks[0]!.samples.length).toBe(7 * 80);
    expect(first.chunks.map(({ text }) => text)).toEqual([
      'in the house',
      ...Array(first.chunks.length - 1).fill(''),
    ]);
    expect((await rig.speak(task)).samples).toEqual(first.samples);
    expect((await rig.speak({ ...task, seed: 8 })).samples).not.toEqual(first.samples);
    expect((await rig.speak({ ...task, voice: 'ryan' })).samples).not.toEqual(first.samples);
  });

  it('takes a text of any length in passages, whose progress never goes back', async () => {
    const rig = await rigOf('custom_voice');
    const sentence = 'The quick brown fox jumps over the lazy dog. ';
    const { chunks, samples, progress } = await rig.speak({
      text: sentence.repeat(9),
      voice: 'ryan',
      seed: 2,
    });
    const texts = chunks.map(({ text }) => text).filter(Boolean);
    expect(texts.length).toBe(2);
    expect(texts.join(' ')).toBe(sentence.repeat(9).trim());
    expect(samples.every((sample) => Math.abs(sample) <= 1)).toBe(true);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress.at(-1)).toBe(1);
  }, 120_000);

  it('refuses what has no sound before anything moves', async () => {
    const rig = await rigOf('custom_voice', { settings: simulated });
    await expect(rig.speak({ text: ' …! ', voice: 'ryan' })).rejects.toMatchObject({
      code: 'text_not_speakable',
    });
    expect(stagesOf(rig)).toEqual([]);
  });
});

it('speaks for two at once what it speaks for each alone', async () => {
  const rig = await rigOf('custom_voice');
  const tasks = [
    { text: 'hello there.', voice: 'ryan', seed: 5 },
    { text: '你好', voice: 'eric', seed: 6 },
  ];
  const alone = [await rig.speak(tasks[0]!), await rig.speak(tasks[1]!)];
  const together = await Promise.all(tasks.map((task) => rig.speak(task)));
  expect(together.map(({ samples }) => samples)).toEqual(alone.map(({ samples }) => samples));
});

describe('a cloned voice', () => {
  it('is prepared once: the second time no encoder is placed, and the samples are the same', async () => {
    const voicePrompts = memory();
    const first = await rigOf('base', { settings: simulated, voicePrompts });
    const spoken = await first.speak({ reference: reference(), parameters: greedy });
    expect(stagesOf(first)[0]).toBe('voice prompt');
    expect([...voicePrompts.kept.keys()]).toHaveLength(2);
    const second = await rigOf('base', { settings: simulated, voicePrompts });
    const again = await second.speak({ reference: reference(), parameters: greedy });
    expect(again.samples).toEqual(spoken.samples);
    expect(stagesOf(second)).not.toContain('voice prompt');
    const placed = second.runtime.view().models[0]!.components.filter(({ loaded_bytes }) => loaded_bytes > 0);
    expect(placed.map(({ name }) => name).sort()).toEqual([
      'code predictor',
      'codec decoder',
      'talker',
      'text embedding',
    ]);
  });

  it('needs the codec encoder only where its words are known', async () => {
    const voicePrompts = memory();
    const rig = await rigOf('base', { settings: simulated, voicePrompts });
    await rig.speak({ reference: reference({ text: null }), parameters: greedy });
    expect([...voicePrompts.kept.keys()]).toHaveLength(1);
    const { components } = rig.runtime.view().models[0]!;
    const encoder = components.find(({ name }) => name === 'codec encoder');
    expect(encoder?.loaded_bytes).toBe(0);
  });

  it('is heard at any rate', async () => {
    const { samples } = reference();
    const twice = Float32Array.from({ length: 2 * samples.length }, (_, n) => samples[Math.floor(n / 2)]!);
    const vectorOf = async (own: Reference): Promise<Float32Array> => {
      const voicePrompts = memory();
      const rig = await rigOf('base', { voicePrompts });
      await rig.speak({ reference: own, parameters: greedy });
      return [...voicePrompts.kept.values()]
        .map(({ vector }) => vector)
        .find((found) => found instanceof Float32Array)!;
    };
    const own = await vectorOf(reference({ text: null }));
    const high = await vectorOf(reference({ text: null, samples: twice, sampleRate: 48_000 }));
    const dot = (a: Float32Array, b: Float32Array) =>
      a.reduce((sum, value, index) => sum + value * b[index]!, 0);
    expect(dot(own, high) / Math.sqrt(dot(own, own) * dot(high, high))).toBeGreaterThan(0.98);
    expect(high).not.toEqual(own);
  });

  it('refuses a transcript that cannot be the audio’s', async () => {
    const rig = await rigOf('base', { settings: simulated });
    const wrong = reference({ text: 'word '.repeat(50) });
    await expect(rig.speak({ reference: wrong })).rejects.toMatchObject({
      code: 'reference_unusable',
      params: { characters: 249 },
    });
    expect(stagesOf(rig)).toEqual([]);
  });
});

describe('memory', () => {
  it('keeps the code predictor, which runs once a code, on the device before the talker', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'qwen3-tts-'));
    const settings = {
      ...defaultSettings(),
      ...simulated,
      'compute.threads': 1,
      'compute.vram_mode': 'low' as const,
    };
    const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
    try {
      const [tiny] = await qwen3TtsEngine().tiny({ addon, voicePrompts: noVoicePrompts }, folder);
      const book = await runtime.deviceFor();
      const lease = await runtime.acquire(tiny!.model, book);
      const ctx = runtime.startRequest({ id: 'test', book, settings, signal: new AbortController().signal });
      for await (const { samples } of lease.value.speak(tiny!.task, ctx))
        expect(samples.length).toBeGreaterThan(0);
      const [talker, predictor] = lease.handles;
      expect(predictor!.unitCount).toBeGreaterThan(2);
      expect([predictor!.isWhole, talker!.isPartial]).toEqual([true, true]);
      expect(predictor!.streamedBytes).toBe(0);
      expect(talker!.streamedBytes).toBeGreaterThan(0);
      lease.release();
    } finally {
      await runtime.close();
      rmSync(folder, { recursive: true });
    }
  });

  it.each(['dynamic', 'static'] as const)('each stage keeps to its estimate, %s cache', async (kind) => {
    const rig = await rigOf('base', { settings: { ...simulated, 'compute.kv_cache': kind } });
    await rig.speak({ text: 'the king is in the house', reference: reference(), parameters: greedy });
    const events = rig.runtime.events();
    for (const stage of ['voice prompt', 'talker', 'codec decoder']) {
      const of = (name: string) => events.filter((event) => event.kind === name && event.subject === stage);
      const [begins, ends] = [of('stage_begin'), of('stage_end')];
      expect(begins.length, stage).toBe(ends.length);
      for (const [index, begin] of begins.entries())
        expect(ends[index]!.bytes, `${stage} ${index}`).toBeLessThanOrEqual(begin.bytes!);
      expect(Math.max(...ends.map(({ bytes }) => bytes!)), stage).toBeGreaterThan(begins[0]!.bytes! / 8);
    }
  });

  it.each([1, 1.1, 1.2])(
    'on %s MiB no stage runs out, whatever scratch memory and graphs others left',
    async (size) => {
      const settings = { ...simulated, 'compute.simulate_vram_mb': size, 'compute.oom_retry': false };
      const task = { text: 'the king is in the house', reference: reference(), parameters: greedy };
      const plain = await (await rigOf('base')).speak(task);
      const rig = await rigOf('base', { settings });
      // Again and again: what one stretch did not take is not missing in another.
      for (let round = 0; round < 3; round++) {
        expect((await rig.speak(task)).samples).toEqual(plain.samples);
      }
      const refused = rig.runtime
        .events()
        .filter(({ kind, code }) => kind === 'out_of_memory' || code === 'refused');
      expect(refused).toEqual([]);
    },
  );

  it('nothing stays on the device once the model is unloaded', async () => {
    const rig = await rigOf('base', { settings: simulated });
    await rig.speak({ reference: reference(), parameters: greedy });
    const book = await rig.runtime.deviceFor(rig.settings);
    await rig.runtime.unload('qwen3-tts:base');
    expect(book.device.memory().held).toEqual({ weights: 0, slots: 0, compute: 0, io: 0, state: 0 });
  });

  it('a request that is cancelled, or whose listener leaves, gives its caches back', async () => {
    const rig = await rigOf('custom_voice', { settings: simulated });
    const book = await rig.runtime.deviceFor(rig.settings);
    const task = { text: 'hello there.', voice: 'ryan' };
    await rig.speak(task);
    const held = () => book.device.memory().held.state;
    const kept = held();
    const abort = new AbortController();
    const cancelled = rig.speak(task, () => abort.abort(), abort.signal);
    await expect(cancelled).rejects.toMatchObject({ code: expect.stringMatching(/^cancelled$/i) });
    await vi.waitFor(() => expect(held()).toBe(kept));
    const left = rig.speak(task, () => {
      throw new Error('left');
    });
    await expect(left).rejects.toThrow('left');
    await vi.waitFor(() => expect(held()).toBe(kept));
  });
});
