import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runtimeSnapshotSchema } from '../contract/index.ts';
import { bundleForTest } from '../host/testing/bundle.ts';
import { start } from './testing/process.ts';

let bundle: Awaited<ReturnType<typeof bundleForTest>>;
let folder: string;
let server: ChildProcess | null = null;

beforeAll(async () => {
  bundle = await bundleForTest(['cli', 'host-worker', 'engine-process', 'studio-server']);
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-runtime-'));
});
afterEach(() => {
  server?.kill('SIGKILL');
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

const launch = (args: string[], env: Record<string, string> = {}) =>
  start(bundle.path('cli'), args, { cwd: folder, env });

/** A studio of the same home as the command line's; its page is a stub. */
async function startServer(): Promise<ChildProcess> {
  const page = join(folder, 'page');
  mkdirSync(page, { recursive: true });
  writeFileSync(join(page, 'index.html'), '<!doctype html>');
  const args = [bundle.path('studio-server'), '--no-open', '--port', '0', '--renderer', page];
  const env = { ...process.env, MIZUOTO_HOME: join(folder, '.home'), MIZUOTO_TEST_ENGINES: '1' };
  server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout!, 'data');
  return server;
}

describe('mizuoto runtime', () => {
  it('shows the studio that runs, in each language, and says so', async () => {
    const { pid } = await startServer();
    const [english, chinese, json] = await Promise.all([
      launch(['runtime']).outcome,
      launch(['runtime'], { LANG: 'zh_CN.UTF-8' }).outcome,
      launch(['runtime', '--json']).outcome,
    ]);
    expect([english.exit, chinese.exit, json.exit]).toEqual([0, 0, 0]);
    expect(english.stdout.toString()).toMatch(
      new RegExp(`^This is the studio that runs: process ${pid}, since .+\\.\\n\\nDevices\\n`),
    );
    expect(chinese.stdout.toString()).toMatch(
      new RegExp(`^这是正在运行的 Mizuoto：进程 ${pid}，自 .+ 起。\\n`),
    );
    const printed = JSON.parse(json.stdout.toString());
    expect(printed.studio).toEqual({ kind: 'server', pid, started: expect.any(Number) });
    expect(runtimeSnapshotSchema.safeParse(printed).success).toBe(true);
    expect(json.stdout.toString()).not.toMatch(/[0-9a-f]{64}/);
  });

  it('watches it until it ends, and then says that it did', async () => {
    const studio = await startServer();
    const { child, outcome } = launch(['runtime', '--watch', '--json']);
    await once(child.stdout!, 'data');
    studio.kill('SIGTERM');
    const { exit, stdout } = await outcome;
    expect(exit).toBe(9);
    const last = JSON.parse(stdout.toString().trimEnd().split('\n').at(-1)!);
    expect(last.error).toMatchObject({ code: 'host_unreachable', message: expect.stringMatching(/ended/) });
    expect(readdirSync(join(folder, '.home', 'run'))).toEqual([]);
  });

  it('without one, or after one that was killed, shows what a new one would see', async () => {
    const studio = await startServer();
    studio.kill('SIGKILL');
    await once(studio, 'exit');
    expect(readdirSync(join(folder, '.home', 'run'))).toEqual([`${studio.pid}.json`]);
    const text = await launch(['runtime']).outcome;
    expect(text.exit).toBe(0);
    expect(text.stdout.toString()).toMatch(
      /^No studio is running; this is what a new one would see\.\n\nDevices\n/,
    );
    expect(readdirSync(join(folder, '.home', 'run'))).toEqual([]);
    const json = await launch(['runtime', '--json']).outcome;
    expect(JSON.parse(json.stdout.toString()).studio).toBeNull();
  });

  it('without one, lists the simulated device of the settings, and says what is in force there', async () => {
    // The real engines: a scripted one has no devices of its own.
    const env = { MIZUOTO_TEST_ENGINES: '' };
    await launch(['settings', 'set', 'compute.simulate_vram_mb=64'], env).outcome;
    const { exit, stdout, stderr } = await launch(['runtime'], env).outcome;
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout.toString()).toMatch(/Simulated0 .*64\.0 MiB/);
    expect(stdout.toString()).toMatch(/compute\.vram_reserve_mb +16\.0 MiB/);
    expect(stdout.toString()).toContain(
      'compute.vram_reserve_mb is 512 MiB, but at most a quarter of the 64 MiB that may be used of Simulated0 is kept free: 16 MiB.',
    );
  });
});
