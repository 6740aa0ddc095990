import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAddon } from '../../../native/load.ts';
import { defaultSettings, StudioError, verifyRunSchema } from '../../contract/index.ts';
import { miniEngine } from '../../engines/mini/index.ts';
import { RuntimeService } from '../../runtime/index.ts';
import { SettingsStore } from '../../settings/store.ts';
import { HostClient } from '../client.ts';
import { diagnose } from '../doctor/doctor.ts';
import { EngineBackend } from '../engine-backend.ts';
import { bundleForTest, type TestBundle } from '../testing/bundle.ts';
import type { DeviceTask, StartDeviceProcess } from './device-task.ts';
import { startNodeProcess } from './node-process.ts';
import { runDeviceTask } from './run-task.ts';
import { processThroughPort, serveProcess } from './through-port.ts';

const addon = loadAddon();
const test: DeviceTask = { kind: 'self-test', device: 'Vulkan9' };
let bundle: TestBundle;
let folder: string;

beforeAll(async () => {
  bundle = await bundleForTest(['host-worker', 'device-process']);
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-isolated-'));
});
afterAll(() => {
  bundle.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A device process that does this with its task. */
function fake(body: string): StartDeviceProcess {
  const path = join(folder, `fake-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(path, `process.on('message', (task) => { ${body} });`);
  return () => startNodeProcess(path);
}
const say = (step: string) => `process.send({ type: 'step', step: '${step}' }, () => {`;
/** As a driver that writes where it may not: after what it was doing has been said. */
const segfault = `${say('computing')} process.kill(process.pid, 'SIGSEGV'); });`;
const failure = (start: StartDeviceProcess, options?: Parameters<typeof runDeviceTask>[2]) =>
  runDeviceTask(start, test, options).then(
    () => null,
    (error: unknown) => error as StudioError,
  );

/** As the host's worker thread asks the main thread. */
const elsewhere =
  (start: StartDeviceProcess): StartDeviceProcess =>
  () =>
    processThroughPort((port) => serveProcess(start, port));

describe.each([
  ['started here', (start: StartDeviceProcess) => start],
  ['started by another thread', elsewhere],
])('a process %s', (_, way) => {
  it('that crashes says by what, and what the driver was doing', async () => {
    const error = await failure(way(fake(segfault)));
    expect(error).toMatchObject({ code: 'device_lost', params: { device: 'Vulkan9', step: 'computing' } });
    const how = process.platform === 'win32' ? /exit code|0x/ : /^SIGSEGV$/;
    expect(error?.params.how).toMatch(how);
    expect(error?.message).toMatch(
      /^The driver of Vulkan9 crashed \(.+\) while it computed\. Update the driver/,
    );
  });

  it('that ends before it says anything is a crash too', async () => {
    const error = await failure(way(fake('process.exit(3);')));
    expect(error?.params).toEqual({ device: 'Vulkan9', how: 'exit code 3', step: 'starting' });
  });

  it('that hangs is ended', async () => {
    const pid = join(folder, `pid-${way.name}`);
    const hang = `import('node:fs').then(({ writeFileSync }) => { writeFileSync(${JSON.stringify(pid)}, String(process.pid));
      ${say('opening')} for (;;); }); });`;
    const error = await failure(way(fake(hang)), { silenceMs: 2000 });
    expect(error?.params).toEqual({ device: 'Vulkan9', seconds: 2, step: 'opening' });
    const { readFileSync } = await import('node:fs');
    const child = Number(readFileSync(pid, 'utf8'));
    expect(child).toBeGreaterThan(1);
    await expect.poll(() => alive(child)).toBe(false);
  });

  it('is ended by a cancel', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    const error = await failure(way(fake(say('opening').concat('});'))), { signal: stop.signal });
    expect(error?.code).toBe('cancelled');
  });

  it('that crashes after its answer has answered', async () => {
    const after = `process.send({ type: 'done', test: null }, () => process.kill(process.pid, 'SIGSEGV'));`;
    expect(await runDeviceTask(way(fake(after)), { kind: 'list' })).toBeNull();
  });
});

it('a program that is missing fails the task alone', async () => {
  const missing = () => startNodeProcess(join(folder, 'none.mjs'));
  expect((await failure(missing))?.code).toBe('device_lost');
  const thrown = () => {
    throw new StudioError('host_unreachable', 'It is missing.');
  };
  expect((await failure(thrown))?.code).toBe('host_unreachable');
  expect((await failure(elsewhere(thrown)))?.params.step).toBe('starting');
});

it('a channel whose other thread is gone ends the process', async () => {
  const { port1, port2 } = new MessageChannel();
  let ended = false;
  serveProcess(() => {
    const child = startNodeProcess(bundle.path('device-process'));
    child.onEnd(() => {
      ended = true;
    });
    return child;
  }, port2);
  port1.close();
  await expect.poll(() => ended).toBe(true);
});

it('the real process tests a device, and says what it offers', async () => {
  const start = () => startNodeProcess(bundle.path('device-process'));
  const result = await runDeviceTask(start, { kind: 'self-test', device: 'CPU' });
  expect(result).toMatchObject({ device: 'CPU', passed: true, error: null });
  expect(result?.capabilities?.dtypes).toEqual(expect.arrayContaining(['f32', 'f16', 'bf16']));
  expect(await runDeviceTask(start, { kind: 'list' })).toBeNull();
  const gone = await failure(start);
  expect(gone?.code).toBe('device_not_found');
});

/** This machine with a graphics device more, which no process of ours can open. */
function withDevice(): typeof addon {
  const card = { ...addon.devices()[0]!, name: 'Vulkan9', kind: 'gpu' as const, description: 'A card' };
  return Object.assign(Object.create(addon) as typeof addon, {
    devices: () => [...addon.devices().filter(({ kind }) => kind === 'cpu'), card],
  });
}

describe('a graphics driver that crashes', () => {
  const open = async (start: StartDeviceProcess): Promise<EngineBackend> => {
    const runtime = await RuntimeService.open({
      addon: withDevice(),
      settings: { ...defaultSettings(), 'compute.threads': 1 },
      cacheFolder: null,
    });
    return new EngineBackend(runtime, [miniEngine()], { startProcess: start });
  };

  it('is a finding of the doctor, who goes on', async () => {
    const backend = await open(fake(segfault));
    const home = join(folder, 'doctor');
    const report = await diagnose({
      settings: new SettingsStore({ folder: home, warn: () => {} }),
      configFolder: home,
      cacheFolder: join(home, 'cache'),
      open: async () => backend,
    });
    await backend.close();
    expect(report.ok).toBe(false);
    expect(report.self_tests.map(({ device, passed }) => [device, passed])).toEqual([
      ['CPU', true],
      ['Vulkan9', false],
    ]);
    expect(report.findings.find(({ id }) => id === 'driver_crashed')).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/^The driver of Vulkan9 crashed \(.+\) while it computed\.$/),
      fix: expect.stringContaining('compute.device=CPU'),
    });
  });

  it('is a run of verify that failed; the others are complete', async () => {
    const backend = await open(fake(segfault));
    const seen: string[] = [];
    const settings = { ...defaultSettings(), 'compute.threads': 1 };
    const runs = await backend.verify({ engines: ['mini'], settings, asked: [], text: 'No.' }, ({ device }) =>
      seen.push(device),
    );
    await backend.close();
    const broken = runs.at(-1)!;
    expect(verifyRunSchema.parse(broken)).toEqual(broken);
    expect(broken).toMatchObject({ device: 'Vulkan9', run: 'resident', ok: false });
    expect(broken.error).toMatchObject({ code: 'device_lost' });
    expect(runs.slice(0, -1).every(({ ok }) => ok)).toBe(true);
    expect(seen).toHaveLength(runs.length);
  }, 300_000);

  it.each([
    ['loaded', segfault, 'drivers_broken'],
    [
      'loaded and used',
      `if (task.kind === 'list') process.send({ type: 'done', test: null }); else { ${segfault} }`,
      null,
    ],
  ])(
    'when it is %s: doctor of the whole host survives',
    async (_, body, expected) => {
      const host = new HostClient({
        worker: bundle.path('host-worker'),
        configFolder: join(folder, 'whole'),
        cacheFolder: join(folder, 'whole', 'cache'),
        testEngines: false,
        startProcess: () => fake(body)(),
      });
      try {
        const report = await host.call('doctor.run', {});
        if (expected !== null) {
          expect(report.findings[0]).toMatchObject({ id: expected, status: 'failed' });
          expect(report.versions.ggml).toBeNull();
        } else expect(report.findings.map(({ id }) => id)).toContain('core_ok');
      } finally {
        await host.close();
      }
    },
    120_000,
  );
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
