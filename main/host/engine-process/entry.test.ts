import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Settings, StudioError } from '../../contract/index.ts';
import type { HostClientOptions } from '../client.ts';
import { startNodeProcess } from '../isolated/node-process.ts';
import { bundleForTest, type TestBundle } from '../testing/bundle.ts';
import { ProcessStudio } from '../testing/process-studio.ts';

let bundle: TestBundle;
let rig: ProcessStudio | null = null;

beforeAll(async () => {
  bundle = await bundleForTest(['host-worker', 'device-process', 'engine-process']);
});
afterAll(() => bundle.remove());
afterEach(async () => {
  await rig?.close();
  rig = null;
});

function open(losses: readonly number[], options: HostClientOptions = {}): ProcessStudio {
  rig = new ProcessStudio(bundle, losses, options);
  return rig;
}

const simulated: Partial<Settings> = {
  'compute.simulate_vram_mb': 24,
  'compute.vram_reserve_mb': 0,
  'compute.threads': 1,
};

describe('the built-in voice in a process of its own', () => {
  it('speaks the same on a device that is lost before the first sound', async () => {
    const studio = open([0, 3, 0]);
    await studio.client.call('settings.set', { patch: simulated });
    const whole = await studio.speak();
    expect(whole.result.meta.memory.device).toBe('Simulated0');
    expect(whole.warnings).toEqual([]);
    await studio.client.restart();
    await studio.client.call('models.load', { model: 'mini' });
    await studio.client.call('models.pin', { model: 'mini', pinned: true });
    const repeated = await studio.speak();
    expect(repeated.warnings.map(({ code }) => code)).toEqual(['request_repeated']);
    expect(repeated.bytes.equals(whole.bytes)).toBe(true);
    expect(await studio.incidents()).toEqual(['device_replaced']);
    expect(readFileSync(studio.script, 'utf8')).toBe('');
    expect(studio.processes.length).toBe(3);
    const { models, devices } = await studio.client.call('runtime.snapshot', {});
    expect(models).toMatchObject([{ id: 'mini', pinned: true, device: 'Simulated0' }]);
    expect(devices.find(({ used }) => used)?.id).toBe('Simulated0');
    expect((await studio.speak()).bytes.equals(whole.bytes)).toBe(true);
  }, 120_000);

  it('after the first sound ends with its reason; what waits behind it is spoken, what was heard stays', async () => {
    // A sentence takes about fifty segments.
    const studio = open([100, 0]);
    await studio.client.call('settings.set', { patch: simulated });
    const first = studio
      .speak({ text: 'Hello. The water is calm. It is late. We go home.' })
      .catch((error: unknown) => error as StudioError);
    const second = studio.speak();
    const outcome = await first;
    expect(outcome).toMatchObject({
      code: 'device_lost',
      retryable: true,
      params: { replaced: 'Simulated0' },
    });
    const next = await second;
    expect(next.warnings).toEqual([]);
    expect(next.result.meta.memory.device).toBe('Simulated0');
    const { jobs } = await studio.client.call('jobs.list', {});
    const lost = jobs.find(({ state }) => state === 'failed')!;
    // What was heard of it can still be saved.
    const { wav } = await studio.client.call('jobs.wav', { job_id: lost.job_id });
    expect(wav.length).toBeGreaterThan(44);
    expect(await studio.incidents()).toEqual(['device_replaced']);
  }, 120_000);
});

it('a device that was lost three times is refused with what to do', async () => {
  const studio = open([1, 1, 1]);
  await studio.client.call('settings.set', { patch: simulated });
  await expect(studio.speak()).rejects.toMatchObject({
    code: 'device_lost',
    params: { replaced: 'Simulated0' },
  });
  await expect(studio.speak()).rejects.toMatchObject({
    code: 'device_lost',
    params: { given_up: 'Simulated0', times: 3 },
  });
  await expect(studio.speak()).rejects.toMatchObject({ code: 'device_lost', retryable: false });
  expect(await studio.incidents()).toEqual([
    'device_given_up',
    'device_replaced',
    'device_replaced',
    'device_replaced',
  ]);
  await studio.client.call('settings.set', { patch: { 'compute.simulate_vram_mb': null } });
  expect((await studio.speak()).result.meta.memory.device).toBe('CPU');
}, 120_000);

it('engines that crash take no window along: the job fails, the next one speaks', async () => {
  const studio = open([], { testEngines: true });
  const tone = { engine: 'tone', text: 'One. Two.' };
  await expect(studio.speak({ ...tone, voice: 'crash' })).rejects.toMatchObject({
    code: 'host_crashed',
    message: expect.stringMatching(/crashed while it was working \(exit code 1\) and was started again/),
  });
  expect((await studio.speak(tone)).result.meta.chunks).toBe(2);
  expect(await studio.incidents()).toEqual(['engine_crashed']);
  expect(studio.processes).toHaveLength(2);
  // Killed while nothing runs.
  studio.processes[1]!.process.kill();
  await expect.poll(() => studio.processes.length).toBe(3);
  expect((await studio.speak(tone)).result.meta.chunks).toBe(2);
  expect((await studio.client.call('host.info', {})).pid).toBe(process.pid);
}, 60_000);

it('a verification, the self-tests and a cancel work through it', async () => {
  const studio = open([], { testEngines: true });
  const runs: string[] = [];
  studio.client.on('verify.run', ({ run }) => runs.push(run));
  const { runs: answer } = await studio.client.call('verify.run', { engine: 'tone' });
  expect(runs).toEqual(answer.map(({ run }) => run));
  expect(runs.length).toBeGreaterThan(1);
  const report = await studio.client.call('doctor.run', {});
  expect(report.self_tests.map(({ passed }) => passed)).toEqual([true]);
  const abort = new AbortController();
  const stream = studio.client.speak(
    { engine: 'tone', text: 'One. Two.', voice: 'stall', seed: 1, source: 'test' },
    { signal: abort.signal },
  );
  await expect(async () => {
    for await (const _ of stream) abort.abort();
  }).rejects.toMatchObject({ code: 'cancelled' });
  expect(await studio.incidents()).toEqual([]);
}, 60_000);

it('where its program is missing, engines compute in the host, with a warning', async () => {
  const startProcess = () => startNodeProcess(join(tmpdir(), 'mizuoto-no-such-program.mjs'));
  const studio = open([], { testEngines: true, startProcess });
  const codes: (string | undefined)[] = [];
  studio.client.on('log.line', ({ said }) => codes.push(said?.code));
  expect((await studio.speak({ engine: 'tone', text: 'One.' })).result.meta.chunks).toBe(1);
  expect(codes).toContain('engine_in_host');
}, 60_000);
