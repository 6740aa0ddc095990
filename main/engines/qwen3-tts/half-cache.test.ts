import { expect, it } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { Random } from '../../nn/random.ts';
import { addon } from '../../nn/testing/devices.ts';
import { itOnVulkan } from '../../nn/testing/suites.ts';
import { FrameGenerator } from './generate.ts';
import { GenerationPasses } from './generate-passes.ts';
import { type CacheDType, cacheDType } from './talker.ts';
import { TalkerMemory } from './talker-memory.ts';
import { openTalkerFixtures, type TalkerCase, TalkerRig, talkerCases } from './testing/talker-rig.ts';

const greedy = { do_sample: false };

/** The most likely frames, with keys and values in this type. */
async function framesOf(rig: TalkerRig, entry: TalkerCase, dtype?: CacheDType): Promise<number[][]> {
  const { talker, predictor, device } = rig;
  const parts = { talker, predictor, ids: { codec_eos_token_id: rig.eos } };
  const generator = new FrameGenerator(addon, device, { ...parts, cacheDType: dtype });
  const prompt = await rig.embedder.embed(entry.prompt);
  const options = {
    sampling: greedy,
    predictor: greedy,
    random: new Random(1),
    maxFrames: entry.codes.length,
  };
  const frames: number[][] = [];
  for await (const frame of generator.frames(prompt, options)) frames.push([...frame]);
  return frames;
}

async function onProcessor(body: (device: Device) => Promise<void>): Promise<void> {
  const device = await addon.openDevice({ name: 'CPU', threads: 1 });
  await body(device);
  await device.close();
}

it('takes half the memory, and is no further off than upstream in bfloat16', () =>
  onProcessor(async (device) => {
    const fixtures = await openTalkerFixtures();
    for (const entry of talkerCases(fixtures)) {
      const rig = await TalkerRig.open(device, entry.model);
      const { talker, predictor } = rig;
      const prompt = await rig.embedder.embed(entry.prompt);
      const exact = fixtures.readFloat32(`${entry.name}/logits`);
      const off = (values: Float32Array) =>
        values.reduce((most, value, i) => Math.max(most, Math.abs(value - exact[i]!)), 0);
      const errors: number[] = [];
      const bytes: number[] = [];
      for (const dtype of ['f16', 'f32'] as const) {
        const passes = await GenerationPasses.create(addon, device, { talker, predictor, cacheDType: dtype });
        errors.push(off(await passes.prefill(prompt.rows)));
        bytes.push(passes.cache.bytes);
        await passes.dispose();
      }
      const upstream = off(fixtures.readFloat32(`${entry.name}/logits_bf16`));
      expect(errors[0], entry.name).toBeLessThan(upstream);
      expect(errors[1]).toBeLessThan(errors[0]!);
      expect(bytes[0]).toBe(bytes[1]! / 2);
      await rig.dispose();
    }
    fixtures.close();
  }));

it('makes room for values beyond float16 before the first frame', () =>
  onProcessor(async (device) => {
    const fixtures = await openTalkerFixtures();
    const entry = talkerCases(fixtures)[0]!;
    fixtures.close();
    const rig = await TalkerRig.open(device, entry.model, { dtype: 'f32' });
    const { v_proj } = rig.talker.model.layers.at(0).self_attn;
    const width = v_proj.weight.elements;
    await v_proj.weight.store!.replace(v_proj.weight.path, new Float32Array(width).fill(3e5));
    const expected = await framesOf(rig, entry, 'f32');
    expect(new Set(expected.map(String)).size).toBeGreaterThan(1);
    expect(await framesOf(rig, entry, 'f16')).toEqual(expected);
    // What no float32 holds either is an error, not a voice.
    await v_proj.weight.store!.replace(v_proj.weight.path, new Float32Array(width).fill(3e38));
    await expect(framesOf(rig, entry, 'f16')).rejects.toThrow(/no numbers/);
    await rig.dispose();
  }));

it('is in float32 on the processor, and where weights are in float32', () =>
  onProcessor(async (device) => {
    const gpu = { kind: 'gpu', simulated: false } as const;
    const half = await TalkerRig.open(device, 'custom_voice');
    expect(cacheDType(half.talker, device)).toBe('f32');
    expect(cacheDType(half.talker, { ...gpu, simulated: true })).toBe('f32');
    expect(cacheDType(half.talker, gpu)).toBe('f16');
    await half.dispose();
    const full = await TalkerRig.open(device, 'custom_voice', { dtype: 'f32' });
    expect(cacheDType(full.talker, gpu)).toBe('f32');
    await full.dispose();
  }));

itOnVulkan('is in float16 on Vulkan, in the estimate too, and draws the codes of float32', async (device) => {
  const fixtures = await openTalkerFixtures();
  const entry = talkerCases(fixtures).find(({ name }) => name === 'speaker vector')!;
  fixtures.close();
  const rig = await TalkerRig.open(device, entry.model);
  const { talker, predictor } = rig;
  const passes = await GenerationPasses.create(addon, device, { talker, predictor });
  const { num_hidden_layers, num_key_value_heads, head_dim } = talker.config;
  const position = 2 * num_hidden_layers * num_key_value_heads * head_dim * 2;
  expect(passes.cache.dtype).toBe('f16');
  expect(passes.cache.bytes).toBe(64 * position);
  await passes.dispose();
  const memory = new TalkerMemory(addon, device, { talker, predictor });
  expect(memory.heldBytes(10, 118) - memory.heldBytes(10, 54)).toBe(64 * position);
  const frames = await framesOf(rig, entry);
  expect(frames).toHaveLength(entry.codes.length);
  expect(frames).toEqual(await framesOf(rig, entry, 'f32'));
  await rig.dispose();
});
