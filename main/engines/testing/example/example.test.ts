import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../../../contract/settings.ts';
import { ModelFolder } from '../../../models/model-folder.ts';
import { recogniseWith } from '../../../models/recognise.ts';
import { addon } from '../../../nn/testing/devices.ts';
import { largestDifference } from '../../../nn/testing/fixtures.ts';
import { RuntimeService } from '../../../runtime/runtime-service.ts';
import type { RequestContext } from '../../../runtime/stage-context.ts';
import { noVoicePrompts } from '../../../voices/voice-prompts.ts';
import type { SpeakTask, TinyModel } from '../../engine.ts';
import { exampleConfig } from './checkpoint.ts';
import { exampleEngine } from './index.ts';

let folder = '';
let tiny: TinyModel;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-example-'));
  [tiny] = (await exampleEngine().tiny({ addon, voicePrompts: noVoicePrompts }, folder)) as [TinyModel];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Spoken {
  samples: Float32Array;
  pieces: number;
  progress: number[];
  ctx: RequestContext;
  runtime: RuntimeService;
}

async function speak(
  task: Partial<SpeakTask> = {},
  change: Partial<Settings> = {},
  look: (spoken: Spoken) => void | Promise<void> = () => {},
  watch: (pieces: number, abort: AbortController, runtime: RuntimeService) => void = () => {},
): Promise<Spoken> {
  const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1, ...change };
  const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
  try {
    const book = await runtime.deviceFor();
    const lease = await runtime.acquire(tiny.model, book);
    const abort = new AbortController();
    const progress: number[] = [];
    const { signal } = abort;
    const onProgress = ({ fraction }: { fraction: number }) => progress.push(fraction);
    const ctx = runtime.startRequest({ id: 'example', book, settings, signal, onProgress });
    watch(0, abort, runtime);
    const pieces: Float32Array[] = [];
    try {
      for await (const { samples } of lease.value.speak({ ...tiny.task, ...task }, ctx)) {
        pieces.push(samples);
        watch(pieces.length, abort, runtime);
      }
    } finally {
      lease.release();
    }
    const samples = Float32Array.from(pieces.flatMap((piece) => [...piece]));
    const spoken = { samples, pieces: pieces.length, progress, ctx, runtime };
    await look(spoken);
    return spoken;
  } finally {
    await runtime.close();
  }
}

const simulated = (mb: number): Partial<Settings> => ({
  'compute.device': 'auto',
  'compute.simulate_vram_mb': mb,
  'compute.vram_reserve_mb': 0,
});

// #region parity
test('equals PyTorch: the same codes where nothing is drawn by chance, the same samples', async () => {
  const reference = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/reference.json'), 'utf8'));
  expect(reference.config).toEqual(exampleConfig);
  // So cold that the most likely code is drawn each time.
  const parameters = { temperature: 1e-6 };
  const { samples } = await speak({ text: reference.text, parameters });
  expect(samples.length).toBe(reference.codes.length * exampleConfig.hop_length);
  expect(largestDifference(samples, reference.samples)).toBeLessThan(1e-5);
});
// #endregion

describe('memory', () => {
  test('each stage keeps to its estimate, which is not much more than it takes', async () => {
    await speak({}, simulated(64), ({ runtime }) => {
      const events = runtime.events();
      for (const stage of ['talker', 'decoder', 'vocoder']) {
        const [begin, end] = ['stage_begin', 'stage_end'].map(
          (kind) => events.find((event) => event.kind === kind && event.subject === stage)!,
        );
        expect(end!.bytes, stage).toBeGreaterThan(0);
        expect(end!.bytes, stage).toBeLessThanOrEqual(begin!.bytes);
        expect(end!.bytes, stage).toBeGreaterThan(begin!.bytes / 2);
      }
    });
  });

  test.each(['dynamic', 'static'] as const)(
    'a long text with a %s cache: it grows within the estimate, and the output names what was chosen',
    async (kind) => {
      const text = 'water over stone and under the old bridge';
      const plain = await speak({ text });
      const { ctx, samples } = await speak(
        { text },
        { ...simulated(64), 'compute.kv_cache': kind },
        ({ runtime }) => {
          const events = runtime.events().filter(({ subject }) => subject === 'talker');
          const [begin, end] = ['stage_begin', 'stage_end'].map(
            (name) => events.find((event) => event.kind === name)!,
          );
          expect(end!.bytes).toBeLessThanOrEqual(begin!.bytes);
          expect(end!.bytes).toBeGreaterThan(begin!.bytes / 2);
        },
      );
      expect(samples).toEqual(plain.samples);
      expect(ctx.applied.kv_cache).toBe(kind === 'static' ? 'static' : undefined);
    },
  );

  test('nothing stays on the device once the model is unloaded', async () => {
    await speak({}, simulated(64), async ({ runtime }) => {
      const book = await runtime.deviceFor();
      await runtime.unload('example:tiny');
      expect(book.device.memory().held).toEqual({ weights: 0, slots: 0, compute: 0, io: 0, state: 0 });
    });
  });

  test('where the decoder does not fit at all, the cheaper way runs only if it is allowed, and is named', async () => {
    const { samples: whole } = await speak();
    const refuse = (pieces: number, _: AbortController, runtime: RuntimeService): void => {
      if (pieces > 0) return;
      // Memory runs out each time the decoder's stage is tried.
      let attempts = 0;
      runtime.trace.on(({ kind, subject }) => {
        if (kind !== 'stage_begin' || subject !== 'decoder' || ++attempts > 3) return;
        for (const { device } of runtime.devices.opened) device.setFaults({ failAllocation: 1 });
      });
    };
    const refused = speak({}, { ...simulated(64), 'compute.oom_fallback': false }, undefined, refuse);
    await expect(refused).rejects.toMatchObject({ code: 'out_of_device_memory' });
    await expect(refused).rejects.toThrow(/tiled decoding/);
    const { ctx, samples } = await speak(
      {},
      { ...simulated(64), 'compute.oom_fallback': true },
      undefined,
      refuse,
    );
    expect(ctx.applied).toMatchObject({ fallbacks: ['tiled decoding'], oom_retries: 2 });
    expect(samples.length).toBe(whole.length);
  });
});

describe('speaking', () => {
  test('the same seed gives the same samples, another seed others', async () => {
    const first = await speak({ seed: 7 });
    expect((await speak({ seed: 7 })).samples).toEqual(first.samples);
    expect((await speak({ seed: 8 })).samples).not.toEqual(first.samples);
    expect(first.pieces).toBeGreaterThan(2);
    expect(first.progress).toEqual([...first.progress].sort((a, b) => a - b));
    expect(first.progress.at(-1)).toBe(1);
  });

  test('a cancel ends it within a step', async () => {
    const cancelled = speak({}, {}, undefined, (pieces, abort) => {
      if (pieces === 1) abort.abort();
    });
    await expect(cancelled).rejects.toSatisfy(({ code }: { code: string }) => /^cancelled$/i.test(code));
  });

  test('text that it cannot speak is refused with the reason', async () => {
    await expect(speak({ text: '123' })).rejects.toMatchObject({ code: 'text_not_speakable' });
    await expect(speak({ text: 'a'.repeat(401) })).rejects.toThrow(
      /at most 400 letters at once; these are 401/,
    );
  });
});

test('its folder is recognised, and what is missing is said', async () => {
  const { recognise } = exampleEngine();
  const found = await recognise!(new ModelFolder(folder));
  expect(found).toMatchObject({ variant: 'tiny', sampleRate: 24_000, problems: [] });
  const empty = mkdtempSync(join(tmpdir(), 'mizuoto-example-'));
  expect(await recognise!(new ModelFolder(empty))).toBeNull();
  rmSync(empty, { recursive: true });
});

test('weights that its configuration does not describe are refused before they are loaded', async () => {
  const other = mkdtempSync(join(tmpdir(), 'mizuoto-example-'));
  cpSync(folder, other, { recursive: true });
  expect(await recogniseWith(exampleEngine(), other, 'quick')).toMatchObject({ problems: [] });
  const config = JSON.parse(readFileSync(join(other, 'config.json'), 'utf8'));
  writeFileSync(join(other, 'config.json'), JSON.stringify({ ...config, decoder_layers: 4 }));
  const found = await recogniseWith(exampleEngine(), other, 'quick');
  expect(found?.problems).toMatchObject([{ code: 'checkpoint_mismatch', params: { unexpected: 0 } }]);
  expect(found?.problems[0]?.params.first).toMatch(/^decoder\..*3\./);
  rmSync(other, { recursive: true });
});
