import { describe, expect, test } from 'vitest';
import { defaultSettings, type Settings, verifyRunSchema } from '../contract/index.ts';
import { engines } from '../engines/registry.ts';
import { addon, vulkanName } from '../nn/testing/devices.ts';
import { verifyEngines } from './verify-engines.ts';

/**
 * Real weights, where they are part of the installation: memory may be managed in any way and changes no sample. Every
 * engine of the registry is tested so with its tiny models, in `main/engines/streaming.test.ts`.
 */
const builtIn = engines.filter((engine) => engine.builtIn().length > 0).map(({ id }) => id);

const verify = (engine: string, change: Partial<Settings>, text?: string) =>
  verifyEngines({
    addon,
    definitions: engines.filter(({ id }) => id === engine),
    settings: { ...defaultSettings(), 'compute.threads': 1, ...change },
    asked: Object.keys(change),
    text,
    signal: new AbortController().signal,
  });

test('a device that was asked for and is not there is an error, not a verification without it', async () => {
  await expect(verify('mini', { 'compute.device': 'Vulkan99' })).rejects.toMatchObject({
    code: 'device_not_found',
    params: { device: 'Vulkan99' },
  });
});

describe.each(builtIn)('%s', (engine) => {
  test('processor and simulated devices: the same samples, streamed, partly and whole, and after retries', async () => {
    const runs = await verify(engine, { 'compute.device': 'CPU' });
    for (const run of runs) expect(verifyRunSchema.parse(run)).toEqual(run);
    expect(runs.filter(({ ok }) => !ok)).toEqual([]);
    const [plain, ...others] = runs;
    expect(plain).toMatchObject({ run: 'plain', against: null, streamed_mb: 0 });
    expect(others.map(({ identical }) => identical)).not.toContain(false);
    // Each run was what it says.
    const named = (name: string) => others.filter(({ run }) => run === name);
    for (const { streamed_mb } of [...named('streamed'), ...named('halfway')])
      expect(streamed_mb).toBeGreaterThan(0);
    const [streamed, halfway, whole] = ['streamed', 'halfway', 'whole'].map((name) => named(name)[0]!);
    expect(whole!.streamed_mb).toBe(0);
    expect(halfway!.resident_mb).toBeGreaterThan(streamed!.resident_mb);
    expect(halfway!.resident_mb).toBeLessThan(whole!.resident_mb);
    expect(named('shared')[0]).toMatchObject({ streamed_mb: 0, resident_mb: whole!.resident_mb });
    expect(named('shared')[0]!.mapped_mb).toBeGreaterThan(0);
    expect(named('out of memory').length).toBeGreaterThan(0);
    for (const { retries } of named('out of memory')) expect(retries).toBeGreaterThan(0);
  }, 300_000);

  test.runIf(vulkanName !== null)(
    'Vulkan: placed and streamed weights give the same samples',
    async () => {
      const model = engines.find(({ id }) => id === engine)!.builtIn()[0]!;
      // Long enough that rounding shifts the phase of a tone: far from the processor's samples, and no fault.
      const english = model.abilities.languages.some((tag) => tag.startsWith('en'));
      const words = english ? 'The water is calm, and the night is long.' : undefined;
      const runs = await verify(engine, { 'compute.device': vulkanName! }, words);
      const onVulkan = runs.filter(({ device }) => device === vulkanName);
      expect(onVulkan.map(({ run }) => run)).toEqual(['resident', 'streamed']);
      const [resident, streamed] = onVulkan;
      expect(resident).toMatchObject({ ok: true, same_device: false, error: null, streamed_mb: 0 });
      expect(streamed).toMatchObject({ identical: true, ok: true, against: `${vulkanName} resident` });
      expect(streamed!.streamed_mb).toBeGreaterThan(resident!.resident_mb / 2);
    },
    300_000,
  );
});
