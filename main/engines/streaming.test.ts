import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stageWords } from '../contract/models.ts';
import { defaultSettings } from '../contract/settings.ts';
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
 * runs out in each stage, and where they lie in the checkpoint, on simulated devices; placed, streamed and in place on
 * Vulkan. The example is the engine of
 * docs/writing-engines.md.
 */
const registered = [exampleEngine(), ...engines];

describe.each(registered.map((engine) => [engine.id, engine] as const))('%s', (_, engine) => {
  let folder = '';
  let models: TinyModel[] = [];
  /** By the model's name. */
  const verified = new Map<string, VerifyRun[]>();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mizuoto-tiny-'));
    models = await engine.tiny({ addon, voicePrompts: noVoicePrompts }, folder);
    process.env.MIZUOTO_POISON_SLOTS = '1';
    process.env.MIZUOTO_IMPORT_HOST_MEMORY = '1';
    for (const tiny of models) verified.set(tiny.name, await verify(engine, tiny));
  }, 900_000);
  afterAll(() => {
    delete process.env.MIZUOTO_POISON_SLOTS;
    delete process.env.MIZUOTO_IMPORT_HOST_MEMORY;
    rmSync(folder, { recursive: true, force: true });
  });

  test('its stages have words for whoever waits, in both languages', () => {
    const stages = [...verified.values()].flat().flatMap(({ stage }) => (stage === null ? [] : [stage]));
    expect(stages.length).toBeGreaterThan(0);
    if (engine.id === exampleEngine().id) return;
    for (const stage of stages) {
      expect(stageWords[stage]?.en, stage).toMatch(/[a-z]/);
      expect(stageWords[stage]?.['zh-CN'], stage).toMatch(/\p{Script=Han}/u);
    }
  });

  test('has a tiny model for each way of speaking', () => {
    expect(models.length).toBeGreaterThan(0);
    expect(new Set(models.map(({ name }) => name)).size).toBe(models.length);
  });

  test('processor and simulated devices: the same samples, streamed, halfway, whole, and after retries', () => {
    for (const [name, runs] of verified) {
      const [plain, ...others] = runs.filter(({ device }) => device !== vulkanName);
      expect(
        others.filter(({ ok, identical }) => !ok || identical !== true),
        name,
      ).toEqual([]);
      expect(plain, name).toMatchObject({ run: 'plain', against: null, streamed_mb: 0, ok: true });
      // Each run was what it says.
      const named = (way: string) => others.filter(({ run }) => run === way);
      const [streamed, halfway, whole] = ['streamed', 'halfway', 'whole'].map((way) => named(way)[0]!);
      expect(streamed!.streamed_mb, `${name}: nothing streams`).toBeGreaterThan(0);
      expect(halfway!.streamed_mb).toBeGreaterThan(0);
      expect(whole!.streamed_mb).toBe(0);
      expect(halfway!.resident_mb).toBeGreaterThan(streamed!.resident_mb);
      expect(halfway!.resident_mb).toBeLessThan(whole!.resident_mb);
      const shared = named('shared')[0]!;
      expect(shared).toMatchObject({ streamed_mb: 0, resident_mb: whole!.resident_mb });
      expect(shared.mapped_mb, `${name}: nothing is in place`).toBeGreaterThan(0);
      for (const { run, mapped_mb } of runs) if (run !== 'shared') expect(mapped_mb, run).toBe(0);
      expect(named('out of memory').length).toBeGreaterThan(0);
      for (const { retries } of named('out of memory')) expect(retries).toBeGreaterThan(0);
    }
  });

  test.runIf(vulkanName !== null)('Vulkan: placed, streamed and in place, the same samples', () => {
    for (const [name, runs] of verified) {
      const onVulkan = runs.filter(({ device }) => device === vulkanName);
      expect(
        onVulkan.map(({ run }) => run),
        name,
      ).toEqual(['resident', 'streamed', 'shared']);
      const [resident, streamed, shared] = onVulkan;
      // How far it is from the processor's is not judged: a device that rounds otherwise may draw another token.
      expect(resident, name).toMatchObject({ ok: true, error: null, streamed_mb: 0 });
      expect(streamed, name).toMatchObject({ identical: true, ok: true });
      expect(streamed!.streamed_mb).toBeGreaterThan(0);
      expect(shared, name).toMatchObject({ identical: true, ok: true, streamed_mb: 0 });
    }
  });
});

async function verify(engine: EngineDefinition, { model, task }: TinyModel): Promise<VerifyRun[]> {
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
    // The processor is where every verification begins; of other devices only this one.
    settings: { ...defaultSettings(), 'compute.threads': 1, 'compute.device': vulkanName ?? 'CPU' },
    asked: ['compute.device'],
    signal: new AbortController().signal,
    toErrorBody,
  };
  for await (const run of verifySubject(subject, options)) runs.push(run);
  return runs;
}
