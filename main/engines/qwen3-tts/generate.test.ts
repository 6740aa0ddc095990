import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Checkpoint, Device } from '../../../native/addon.ts';
import { Random } from '../../nn/random.ts';
import type { SamplingOptions } from '../../nn/sampling.ts';
import { addon, openTestDevice } from '../../nn/testing/devices.ts';
import { largestDifference } from '../../nn/testing/fixtures.ts';
import { FrameGenerator, type GenerateOptions, type GenerationEnd } from './generate.ts';
import { GenerationPasses } from './generate-passes.ts';
import { openTalkerFixtures, type TalkerCase, TalkerRig, talkerCases } from './testing/talker-rig.ts';

const greedy: SamplingOptions = { do_sample: false, repetition_penalty: 1.05 };
const drawn = { temperature: 0.9, top_k: 20 };

let device: Device;
let fixtures: Checkpoint;
let cases: TalkerCase[];
const rigs = new Map<string, TalkerRig>();

beforeAll(async () => {
  device = await openTestDevice('CPU');
  fixtures = await openTalkerFixtures();
  cases = talkerCases(fixtures);
  for (const model of new Set(cases.map((entry) => entry.model))) {
    rigs.set(model, await TalkerRig.open(device, model, { dtype: 'f32' }));
  }
});

afterAll(async () => {
  for (const rig of rigs.values()) await rig.dispose();
  fixtures.close();
  await device.close();
});

function named(name: string): { entry: TalkerCase; rig: TalkerRig } {
  const entry = cases.find((one) => one.name === name)!;
  return { entry, rig: rigs.get(entry.model)! };
}

async function collect(
  rig: TalkerRig,
  entry: TalkerCase,
  options: Partial<GenerateOptions> & { eos?: number },
): Promise<{ frames: number[][]; end: GenerationEnd }> {
  const prompt = await rig.embedder.embed(entry.prompt);
  const { eos, ...given } = options;
  const frames: number[][] = [];
  const iterator = rig.generator(eos).frames(prompt, {
    sampling: greedy,
    predictor: { do_sample: false },
    random: new Random(1),
    maxFrames: entry.codes.length,
    ...given,
  });
  for (;;) {
    const { value, done } = await iterator.next();
    if (done === true) return { frames, end: value };
    frames.push([...value]);
  }
}

it('covers every layout of the prompt', () => {
  expect(cases.map(({ name }) => name)).toEqual([
    'named speaker',
    'dialect',
    'instruction',
    'speaker vector',
    'transcript, text longer',
    'transcript, codes longer',
    'transcript, whole',
  ]);
});

describe('against upstream, greedy, in float32', () => {
  it('embeds every prompt', async () => {
    for (const entry of cases) {
      const { rows } = await rigs.get(entry.model)!.embedder.embed(entry.prompt);
      expect(largestDifference(rows, fixtures.readFloat32(`${entry.name}/embeds`)), entry.name).toBeLessThan(
        5e-6,
      );
    }
  });

  it.each(['one', 'two', 'many'] as const)('draws the same codes, %s graph(s) a frame', async (graphs) => {
    for (const entry of cases) {
      const { frames, end } = await collect(rigs.get(entry.model)!, entry, { graphs });
      expect(frames, entry.name).toEqual(entry.codes);
      expect(end).toBe('limit');
    }
  });

  it('has the same states and scores after the prompt and after each frame', async () => {
    for (const entry of cases) {
      const { talker, predictor, embedder } = rigs.get(entry.model)!;
      const prompt = await embedder.embed(entry.prompt);
      const passes = await GenerationPasses.create(addon, device, { talker, predictor });
      const width = prompt.pad.length;
      const hidden = fixtures.readFloat32(`${entry.name}/hidden`);
      const logits = fixtures.readFloat32(`${entry.name}/logits`);
      const vocabulary = logits.length / 2;
      let scores = await passes.prefill(prompt.rows);
      expect(largestDifference(scores, logits.subarray(0, vocabulary)), entry.name).toBeLessThan(1e-4);
      for (const [frame, codes] of entry.codes.entries()) {
        const expected = hidden.subarray(frame * width, (frame + 1) * width);
        expect(largestDifference(await passes.hidden(), expected), `${entry.name} ${frame}`).toBeLessThan(
          3e-5,
        );
        await passes.predict(codes[0]!, { options: { do_sample: false }, noise: null });
        const text = prompt.trailing.subarray(frame * width, (frame + 1) * width);
        scores = await passes.step(text.length > 0 ? text : prompt.pad);
      }
      expect(largestDifference(scores, logits.subarray(vocabulary)), entry.name).toBeLessThan(1e-4);
      await passes.dispose();
    }
  });

  it('ends at the end token, which cannot come in the first two frames', async () => {
    const { entry, rig } = named('named speaker');
    const stopped = Object.entries(entry.codesByEnd);
    expect(stopped.length).toBe(2);
    for (const [end, codes] of stopped) {
      const result = await collect(rig, entry, { eos: Number(end) });
      expect(result.frames).toEqual(codes);
      expect(result.end).toBe(codes.length < entry.codes.length ? 'end' : 'limit');
    }
    expect(stopped.some(([, codes]) => codes.length < entry.codes.length)).toBe(true);
  });
});

describe('with weights in bfloat16, used as they are', () => {
  it('has the numbers of float32, where upstream in bfloat16 has not, and draws the same codes', async () => {
    for (const entry of cases) {
      const rig = await TalkerRig.open(device, entry.model);
      // Vectors alone are widened; matrices are read from the memory map.
      expect(rig.stores[1]!.ownedHostBytes).toBeLessThan(40_000);
      const { talker, predictor } = rig;
      const prompt = await rig.embedder.embed(entry.prompt);
      const passes = await GenerationPasses.create(addon, device, { talker, predictor });
      const logits = await passes.prefill(prompt.rows);
      const exact = fixtures.readFloat32(`${entry.name}/logits`).subarray(0, logits.length);
      const upstream = largestDifference(fixtures.readFloat32(`${entry.name}/logits_bf16`), exact);
      expect(largestDifference(logits, exact), entry.name).toBeLessThan(1e-4);
      expect(upstream, entry.name).toBeGreaterThan(1e-2);
      await passes.dispose();
      expect((await collect(rig, entry, {})).frames, entry.name).toEqual(entry.codes);
      await rig.dispose();
    }
  });
});

describe('drawing', () => {
  const sampled = { sampling: { ...drawn, repetition_penalty: 1.05 }, predictor: drawn, maxFrames: 24 };

  it('gives the same frames for the same seed, in one graph, two or many', async () => {
    const { entry, rig } = named('transcript, text longer');
    const [one, two, many] = await Promise.all(
      (['one', 'two', 'many'] as const).map((graphs) =>
        collect(rig, entry, { ...sampled, random: new Random(4), graphs }),
      ),
    );
    expect(two).toEqual(one);
    expect(many).toEqual(one);
    const other = await collect(rig, entry, { ...sampled, random: new Random(5) });
    expect(other.frames).not.toEqual(one!.frames);
  });

  it('gives the same frames again from a restored generator', async () => {
    const { entry, rig } = named('dialect');
    const random = new Random(6);
    const state = random.save();
    const first = await collect(rig, entry, { ...sampled, random });
    const second = await collect(rig, entry, { ...sampled, random });
    random.restore(state);
    expect(await collect(rig, entry, { ...sampled, random })).toEqual(first);
    expect(second.frames).not.toEqual(first.frames);
  });

  it('draws by top-p with the same noise: all of it is no limit, the least of it is greedy', async () => {
    const { entry, rig } = named('dialect');
    const options = (top_p: number) => ({
      ...sampled,
      predictor: { ...drawn, top_p },
      random: new Random(7),
    });
    const plain = await collect(rig, entry, options(1));
    expect(await collect(rig, entry, options(1 - 1e-12))).toEqual(plain);
    const least = await collect(rig, entry, options(1e-9));
    const best = await collect(rig, entry, {
      ...sampled,
      predictor: { do_sample: false },
      random: new Random(7),
    });
    expect(least).toEqual(best);
    expect(least).not.toEqual(plain);
  });

  it('never draws a special id as a first code', async () => {
    const { entry, rig } = named('named speaker');
    const wild = { temperature: 50 };
    const { frames } = await collect(rig, entry, { sampling: wild, predictor: wild, maxFrames: 40 });
    expect(Math.max(...frames.flat())).toBeLessThan(64);
    expect(frames.length).toBeGreaterThan(2);
  });

  it('refuses settings out of range', async () => {
    const { entry, rig } = named('dialect');
    await expect(collect(rig, entry, { predictor: { temperature: 0 } })).rejects.toThrow(RangeError);
    await expect(collect(rig, entry, { sampling: { top_p: 2 } })).rejects.toThrow(RangeError);
  });
});

it('takes a long prompt in stretches: the first code is that of the whole at once', async () => {
  const { entry, rig } = named('transcript, whole');
  const embedded = await rig.embedder.embed(entry.prompt);
  const rows = repeat(embedded.rows, 20);
  const prompt = { ...embedded, rows, positions: 20 * embedded.positions };
  expect(prompt.positions).toBeGreaterThan(2 * 256);
  const { talker, predictor } = rig;
  const passes = await GenerationPasses.create(addon, device, {
    talker,
    predictor,
    capacity: prompt.positions,
  });
  const logits = await passes.prefill(rows);
  await passes.dispose();
  const options = { sampling: { do_sample: false }, predictor: { do_sample: false }, random: new Random(1) };
  for await (const frame of rig.generator().frames(prompt, { ...options, maxFrames: 1 })) {
    const codes = logits.subarray(0, 64);
    expect(frame[0]).toBe(codes.indexOf(Math.max(...codes)));
  }
});

describe('caches', () => {
  it('give the same frames whichever way they grow', async () => {
    const { entry, rig } = named('speaker vector');
    const { talker, predictor, embedder } = rig;
    const prompt = await embedder.embed(entry.prompt);
    const spoken: string[][] = [];
    for (const kvCache of ['dynamic', 'static'] as const) {
      const parts = { talker, predictor, ids: { codec_eos_token_id: rig.eos }, kvCache };
      const options = {
        sampling: drawn,
        predictor: drawn,
        random: new Random(2),
        maxFrames: 140,
        minFrames: 140,
      };
      const frames: string[] = [];
      for await (const frame of new FrameGenerator(addon, device, parts).frames(prompt, options)) {
        frames.push(frame.join());
      }
      spoken.push(frames);
    }
    expect(spoken[0]!.length).toBe(140);
    expect(new Set(spoken[0]).size).toBeGreaterThan(100);
    expect(spoken[1]).toEqual(spoken[0]);
  });

  it.each(['dynamic', 'static'] as const)('lose nothing when they grow (%s)', async (kvCache) => {
    const { entry, rig } = named('speaker vector');
    const { talker, predictor, embedder } = rig;
    const prompt = await embedder.embed(entry.prompt);
    const [grown, roomy] = await Promise.all(
      [64, 512].map(async (capacity) => {
        const passes = await GenerationPasses.create(addon, device, { talker, predictor, kvCache, capacity });
        const vectors = repeat(prompt.rows, 20);
        let logits: Float32Array = new Float32Array();
        for (let at = 0; at < vectors.length; at += 18 * prompt.pad.length) {
          logits = await passes.prefill(vectors.subarray(at, at + 18 * prompt.pad.length));
        }
        await passes.dispose();
        return logits;
      }),
    );
    expect(largestDifference(grown!, roomy!)).toBeLessThan(1e-5);
  });
});

function repeat(values: Float32Array, times: number): Float32Array {
  const all = new Float32Array(values.length * times);
  for (let time = 0; time < times; time += 1) all.set(values, time * values.length);
  return all;
}

it('holds one cache, however often it grew', async () => {
  const small = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
  const { entry } = named('speaker vector');
  const rig = await TalkerRig.open(small, entry.model);
  const prompt = await rig.embedder.embed(entry.prompt);
  const options = {
    sampling: drawn,
    predictor: drawn,
    random: new Random(3),
    maxFrames: 300,
    minFrames: 300,
  };
  const position = 2 * 2 * 2 * 16 * 4;
  const predictor = 2 * 2 * 64 * 8 * 4 + 2 * 32 * 4;
  let frames = 0;
  for await (const _ of rig.generator().frames(prompt, options)) {
    frames += 1;
    const capacity = Math.ceil((prompt.positions + frames) / 64) * 64;
    expect(small.memory().held.state).toBeLessThanOrEqual(position * capacity + predictor + 4096);
  }
  expect(frames).toBe(300);
  await rig.dispose();
  await small.close();
});

describe('stopping', () => {
  it('gives everything back when the caller leaves early, and when it is cancelled', async () => {
    const small = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 2 ** 20 });
    const { entry } = named('dialect');
    const rig = await TalkerRig.open(small, entry.model);
    const prompt = await rig.embedder.embed(entry.prompt);
    const signal = addon.createCancelToken();
    const options = {
      sampling: greedy,
      predictor: { do_sample: false },
      random: new Random(1),
      maxFrames: 50,
      signal,
    };
    for await (const _ of rig.generator().frames(prompt, options)) break;
    await vi.waitFor(() => expect(small.memory().held.state).toBe(0));
    let frames = 0;
    const run = async (): Promise<void> => {
      for await (const _ of rig.generator().frames(prompt, options)) {
        frames += 1;
        if (frames === 3) signal.cancel();
      }
    };
    await expect(run()).rejects.toMatchObject({ code: 'Cancelled' });
    expect(frames).toBe(3);
    await vi.waitFor(() => expect(small.memory().held.state).toBe(0));
    await rig.dispose();
    await small.close();
  });
});

describe('prompts', () => {
  it('refuses vectors and frames of another size, and ids beyond a table', async () => {
    const { rig } = named('speaker vector');
    const embed = (codec: NonNullable<TalkerCase['prompt']['rows'][number]['codec']>) =>
      rig.embedder.embed({ rows: [{ text: 1 }, { text: 1, codec }], trailing: [], pad: 2 });
    await expect(embed({ vector: new Float32Array(31) })).rejects.toThrow('32 values');
    await expect(embed({ codes: [1, 2, 3] })).rejects.toThrow('4 codes');
    await expect(embed({ id: 99_999 })).rejects.toThrow();
    await expect(rig.embedder.embed({ rows: [{ text: 1 }], trailing: [], pad: 2 })).rejects.toThrow(
      RangeError,
    );
  });
});
