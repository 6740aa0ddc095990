import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Said, Settings, SpeakResult, StudioError } from '../../contract/index.ts';
import { HostClient } from '../client.ts';
import { startNodeProcess } from '../isolated/node-process.ts';
import type { OwnProcess } from '../isolated/own-process.ts';
import { bundleForTest, type TestBundle } from '../testing/bundle.ts';

let bundle: TestBundle;
let folder: string;
let script: string;
let client: HostClient | null = null;
/** Engine processes that were started, and whether they are gone. */
let processes: { process: OwnProcess; gone: boolean }[] = [];

beforeAll(async () => {
  bundle = await bundleForTest(['host-worker', 'device-process', 'engine-process']);
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-engine-process-'));
  script = join(folder, 'losses');
  process.env.MIZUOTO_TEST_LOSE_DEVICE = script;
  processes = [];
});
afterEach(async () => {
  await client?.close();
  client = null;
  delete process.env.MIZUOTO_TEST_LOSE_DEVICE;
  expect(processes.map(({ gone }) => gone)).not.toContain(false);
  rmSync(folder, { recursive: true, force: true });
});

/** A studio whose simulated devices are lost as these lines say: 0 for one that stays. */
function open(losses: readonly number[], options: { testEngines?: boolean } = {}): HostClient {
  writeFileSync(script, losses.join('\n'));
  client = new HostClient({
    worker: bundle.path('host-worker'),
    configFolder: folder,
    cacheFolder: folder,
    testEngines: false,
    engineProcess: true,
    startProcess: (program) => {
      const started = { process: startNodeProcess(bundle.path(program)), gone: false };
      started.process.onEnd(() => {
        started.gone = true;
      });
      if (program === 'engine-process') processes.push(started);
      return started.process;
    },
    ...options,
  });
  return client;
}

const simulated: Partial<Settings> = {
  'compute.simulate_vram_mb': 24,
  'compute.vram_reserve_mb': 0,
  'compute.threads': 1,
};

async function speak(
  request: object = {},
): Promise<{ bytes: Buffer; result: SpeakResult; warnings: Said[] }> {
  const stream = client!.speak({ text: 'Hello. The water is calm.', seed: 3, source: 'test', ...request });
  const parts: Buffer[] = [];
  for await (const { samples } of stream) parts.push(Buffer.from(samples.buffer.slice(0)));
  const result = await stream.result;
  return { bytes: Buffer.concat(parts), result, warnings: result.warnings };
}

const incidents = async (): Promise<string[]> =>
  (await client!.call('runtime.snapshot', {})).incidents.map(({ said }) => said.code);

describe('the built-in voice in a process of its own', () => {
  it('speaks the same on a device that is lost before the first sound', async () => {
    const studio = open([0, 3, 0]);
    await studio.call('settings.set', { patch: simulated });
    const whole = await speak();
    expect(whole.result.meta.memory.device).toBe('Simulated0');
    expect(whole.warnings).toEqual([]);
    await studio.restart();
    await studio.call('models.load', { model: 'mini' });
    await studio.call('models.pin', { model: 'mini', pinned: true });
    const repeated = await speak();
    expect(repeated.warnings.map(({ code }) => code)).toEqual(['request_repeated']);
    expect(repeated.bytes.equals(whole.bytes)).toBe(true);
    expect(await incidents()).toEqual(['device_replaced']);
    expect(readFileSync(script, 'utf8')).toBe('');
    expect(processes.length).toBe(3);
    const { models, devices } = await studio.call('runtime.snapshot', {});
    expect(models).toMatchObject([{ id: 'mini', pinned: true, device: 'Simulated0' }]);
    expect(devices.find(({ used }) => used)?.id).toBe('Simulated0');
    expect((await speak()).bytes.equals(whole.bytes)).toBe(true);
  }, 120_000);

  it('after the first sound ends with its reason; what waits behind it is spoken, what was heard stays', async () => {
    // A sentence takes about fifty segments.
    const studio = open([100, 0]);
    await studio.call('settings.set', { patch: simulated });
    const first = speak({ text: 'Hello. The water is calm. It is late. We go home.' }).catch(
      (error: unknown) => error as StudioError,
    );
    const second = speak();
    const outcome = await first;
    expect(outcome).toMatchObject({
      code: 'device_lost',
      retryable: true,
      params: { replaced: 'Simulated0' },
    });
    const next = await second;
    expect(next.warnings).toEqual([]);
    expect(next.result.meta.memory.device).toBe('Simulated0');
    const { jobs } = await studio.call('jobs.list', {});
    const lost = jobs.find(({ state }) => state === 'failed')!;
    // What was heard of it can still be saved.
    const { wav } = await studio.call('jobs.wav', { job_id: lost.job_id });
    expect(wav.length).toBeGreaterThan(44);
    expect(await incidents()).toEqual(['device_replaced']);
  }, 120_000);
});

it('a device that was lost three times is refused with what to do', async () => {
  const studio = open([1, 1, 1]);
  await studio.call('settings.set', { patch: simulated });
  await expect(speak()).rejects.toMatchObject({ code: 'device_lost', params: { replaced: 'Simulated0' } });
  await expect(speak()).rejects.toMatchObject({
    code: 'device_lost',
    params: { given_up: 'Simulated0', times: 3 },
  });
  await expect(speak()).rejects.toMatchObject({ code: 'device_lost', retryable: false });
  expect(await incidents()).toEqual([
    'device_given_up',
    'device_replaced',
    'device_replaced',
    'device_replaced',
  ]);
  await studio.call('settings.set', { patch: { 'compute.simulate_vram_mb': null } });
  expect((await speak()).result.meta.memory.device).toBe('CPU');
}, 120_000);

it('engines that crash take no window along: the job fails, the next one speaks', async () => {
  const studio = open([], { testEngines: true });
  const tone = { engine: 'tone', text: 'One. Two.' };
  await expect(speak({ ...tone, voice: 'crash' })).rejects.toMatchObject({
    code: 'host_crashed',
    message: expect.stringMatching(/crashed while it was working \(exit code 1\) and was started again/),
  });
  expect((await speak(tone)).result.meta.chunks).toBe(2);
  expect(await incidents()).toEqual(['engine_crashed']);
  expect(processes).toHaveLength(2);
  // Killed while nothing runs.
  processes[1]!.process.kill();
  await expect.poll(() => processes.length).toBe(3);
  expect((await speak(tone)).result.meta.chunks).toBe(2);
  expect((await studio.call('host.info', {})).pid).toBe(process.pid);
}, 60_000);

it('a verification, the self-tests and a cancel work through it', async () => {
  const studio = open([], { testEngines: true });
  const runs: string[] = [];
  studio.on('verify.run', ({ run }) => runs.push(run));
  const { runs: answer } = await studio.call('verify.run', { engine: 'tone' });
  expect(runs).toEqual(answer.map(({ run }) => run));
  expect(runs.length).toBeGreaterThan(1);
  const report = await studio.call('doctor.run', {});
  expect(report.self_tests.map(({ passed }) => passed)).toEqual([true]);
  const abort = new AbortController();
  const stream = studio.speak(
    { engine: 'tone', text: 'One. Two.', voice: 'stall', seed: 1, source: 'test' },
    { signal: abort.signal },
  );
  await expect(async () => {
    for await (const _ of stream) abort.abort();
  }).rejects.toMatchObject({ code: 'cancelled' });
  expect(await incidents()).toEqual([]);
}, 60_000);

it('where its program is missing, engines compute in the host, with a warning', async () => {
  const studio = open([], { testEngines: true });
  await studio.close();
  const codes: (string | undefined)[] = [];
  client = new HostClient({
    ...{ worker: bundle.path('host-worker'), configFolder: folder, cacheFolder: folder },
    ...{ testEngines: true, engineProcess: true },
    startProcess: () => startNodeProcess(join(folder, 'none.mjs')),
  });
  client.on('log.line', ({ said }) => codes.push(said?.code));
  expect((await speak({ engine: 'tone', text: 'One.' })).result.meta.chunks).toBe(1);
  expect(codes).toContain('engine_in_host');
}, 60_000);
