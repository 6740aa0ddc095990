import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../contract/settings.ts';
import type { VerifyRun } from '../contract/verify.ts';
import { toErrorBody } from '../host/failures.ts';
import { voiced } from '../host/voiced.ts';
import { addon, vulkanName } from '../nn/testing/devices.ts';
import type { VerifySubject } from '../runtime/verify/speak-once.ts';
import { verifySubject } from '../runtime/verify/verify.ts';
import { noVoicePrompts } from '../voices/voice-prompts.ts';
import type { EngineDefinition, TinyModel } from './engine.ts';
import { engines } from './registry.ts';
import { exampleEngine } from './testing/example/index.ts';

/**
 * Every engine of the studio by itself: a new one is tested from the moment it is registered. Its tiny models speak in
 * every way that memory can be managed, and no sample may change: all streamed, halfway, whole, and with memory that
 * runs out in each stage, on simulated devices; placed and streamed on Vulkan. The example is the engine of
 * docs/writing-engines.md.
 */
const registered = [...engines, exampleEngine()];

describe.each(registered.map((engine) => [engine.id, engine] as const))('%s', (_, engine) => {
  let folder = '';
  let models: TinyModel[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mizuoto-tiny-'));
    models = await engine.tiny({ addon, voicePrompts: noVoicePrompts }, folder);
    process.env.MIZUOTO_POISON_SLOTS = '1';
  });
  afterAll(() => {
    delete process.env.MIZUOTO_POISON_SLOTS;
    rmSync(folder, { recursive: true, force: true });
  });

  test('has a tiny model for each way of speaking', () => {
    expect(models.length).toBeGreaterThan(0);
    expect(new Set(models.map(({ name }) => name)).size).toBe(models.length);
  });

  test('processor and simulated devices: the same samples, streamed, halfway, whole, and after retries', async () => {
    for (const tiny of models) {
      const runs = await verify(engine, tiny, { 'compute.device': 'CPU' });
      expect(
        runs.filter(({ ok }) => !ok),
        tiny.name,
      ).toEqual([]);
      const [plain, ...others] = runs;
      expect(plain).toMatchObject({ run: 'plain', against: null, streamed_mb: 0 });
      expect(others.map(({ identical }) => identical)).not.toContain(false);
      // Each run was what it says.
      const named = (name: string) => others.filter(({ run }) => run === name);
      const [streamed, halfway, whole] = ['streamed', 'halfway', 'whole'].map((name) => named(name)[0]!);
      expect(streamed!.streamed_mb, `${tiny.name}: nothing streams`).toBeGreaterThan(0);
      expect(halfway!.streamed_mb).toBeGreaterThan(0);
      expect(whole!.streamed_mb).toBe(0);
      expect(halfway!.resident_mb).toBeGreaterThan(streamed!.resident_mb);
      expect(halfway!.resident_mb).toBeLessThan(whole!.resident_mb);
      expect(named('out of memory').length).toBeGreaterThan(0);
      for (const { retries } of named('out of memory')) expect(retries).toBeGreaterThan(0);
    }
  }, 300_000);

  test.runIf(vulkanName !== null)(
    'Vulkan: placed and streamed, the same samples',
    async () => {
      for (const tiny of models) {
        const runs = await verify(engine, tiny, { 'compute.device': vulkanName! });
        const onVulkan = runs.filter(({ device }) => device === vulkanName);
        expect(onVulkan.map(({ run }) => run)).toEqual(['resident', 'streamed']);
        const [resident, streamed] = onVulkan;
        expect(resident, tiny.name).toMatchObject({ ok: true, error: null, streamed_mb: 0 });
        expect(streamed, tiny.name).toMatchObject({ identical: true, ok: true });
        expect(streamed!.streamed_mb).toBeGreaterThan(0);
      }
    },
    300_000,
  );
});

async function verify(
  engine: EngineDefinition,
  { model, task }: TinyModel,
  change: Partial<Settings>,
): Promise<VerifyRun[]> {
  const runs: VerifyRun[] = [];
  const subject: VerifySubject = {
    engine: engine.id,
    open: async (runtime, book, signal) => {
      const lease = await runtime.acquire(model, book, signal);
      return {
        handles: lease.handles,
        workingBytes: lease.value.memoryRequired(task),
        speak: (context) => voiced(lease, task, context),
        release: () => lease.release(),
      };
    },
  };
  const options = {
    addon,
    settings: { ...defaultSettings(), 'compute.threads': 1, ...change },
    asked: Object.keys(change),
    signal: new AbortController().signal,
    toErrorBody,
  };
  for await (const run of verifySubject(subject, options)) runs.push(run);
  return runs;
}
