import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { calls, type StudioClient, StudioError } from '../contract/index.ts';
import { openTestHost } from '../host/testing/fixture.ts';
import { announcedStudios, announceStudio, makeRunFolder, runFolder } from './discovery.ts';
import { startLocalServer } from './local-server.ts';
import { findRunningStudio } from './running-studio.ts';
import { startStudioServer } from './studio-server.ts';

const windows = process.platform === 'win32';
let folder: string;
let host: ReturnType<typeof openTestHost>;
const listeners = new Set<(data: never) => void>();
const client: StudioClient = {
  async call(name, body) {
    const reply = await host.host.handle(name, body);
    if (!reply.ok) throw StudioError.fromBody(reply.error);
    return reply.response as never;
  },
  on(_, listener) {
    listeners.add(listener as (data: never) => void);
    return () => listeners.delete(listener as (data: never) => void);
  },
};
const token = 'ab'.repeat(32);
const ended: (() => unknown)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-find-'));
  host = openTestHost();
});
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});
const lateron = <T extends () => unknown>(end: T): T => {
  ended.push(end);
  return end;
};

/** The number of a process that has just ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await new Promise((resolve) => child.on('close', resolve));
  return child.pid!;
}

describe('a notice', () => {
  it.skipIf(windows)('is for this person alone, and goes with what it announces', async () => {
    const withdraw = await announceStudio(folder, { kind: 'server', token, at: { port: 1 } });
    const [name] = readdirSync(runFolder(folder));
    expect(readdirSync(runFolder(folder))).toEqual([`${process.pid}.json`]);
    expect(statSync(join(runFolder(folder), name!)).mode & 0o777).toBe(0o600);
    expect(statSync(runFolder(folder)).mode & 0o777).toBe(0o700);
    const [found] = await announcedStudios(folder);
    expect(found).toMatchObject({ pid: process.pid, token, at: { port: 1 }, kind: 'server' });
    withdraw();
    expect(readdirSync(runFolder(folder))).toEqual([]);
    withdraw();
  });

  it('of a process that is gone is stale, and removed with its socket', async () => {
    const run = await makeRunFolder(folder);
    const pid = await deadPid();
    const notice = {
      version: 1,
      pid,
      started: 1,
      kind: 'shell',
      token,
      at: { socket: join(run, `${pid}.sock`) },
    };
    writeFileSync(join(run, `${pid}.json`), JSON.stringify(notice), { mode: 0o600 });
    writeFileSync(join(run, `${pid}.sock`), '');
    writeFileSync(join(run, 'notes.txt'), '');
    expect(await announcedStudios(folder)).toEqual([]);
    expect(readdirSync(run)).toEqual(['notes.txt']);
  });

  it.each<[string, (path: string) => void]>([
    ['that others may read', (path) => chmodSync(path, 0o644)],
    ['that is cut', (path) => writeFileSync(path, '{"version":1,')],
    ['of another program', (path) => writeFileSync(path, '{}')],
    [
      'of another process',
      (path) => writeFileSync(path, readFileSync(path, 'utf8').replace(/"pid":\d+/, '"pid":1')),
    ],
    ['without an end', (path) => writeFileSync(path, ' '.repeat(1 << 20))],
  ])('%s is none', async (what, spoil) => {
    if (windows && what.includes('others')) return;
    lateron(await announceStudio(folder, { kind: 'server', token, at: { port: 1 } }));
    expect(await announcedStudios(folder)).toHaveLength(1);
    spoil(join(runFolder(folder), `${process.pid}.json`));
    expect(await announcedStudios(folder)).toEqual([]);
  });

  it('nobody has announced anything', async () => {
    expect(await announcedStudios(join(folder, 'none'))).toEqual([]);
    expect(await findRunningStudio(join(folder, 'none'))).toBeNull();
  });
});

describe('a running studio', () => {
  const serve = async () => {
    const server = await startStudioServer({ client, folder, port: 0 });
    lateron(() => server.close());
    const at = { port: server.port };
    lateron(await announceStudio(folder, { kind: 'server', token: server.token, at }));
    return server;
  };
  const open = async () => lateron(await startLocalServer(client, folder));

  it.each([
    ['a server', serve],
    ['a window', open],
  ])('%s is found, answers, and says what changes', async (_, start) => {
    await start();
    const studio = (await findRunningStudio(folder))!;
    lateron(() => studio.close());
    const snapshot = await studio.call('runtime.snapshot', {});
    expect(calls['runtime.snapshot'].response.parse(snapshot)).toEqual(snapshot);
    await expect(studio.call('models.unload', { model: 'none' })).rejects.toMatchObject({
      code: 'unknown_engine',
    });
    const changed = new Promise((resolve) => studio.on('runtime.changed', resolve));
    await expect.poll(() => listeners.size).toBeGreaterThan(0);
    for (const listener of listeners) listener(snapshot as never);
    expect(await changed).toEqual(snapshot);
    for (const end of ended.splice(0).reverse()) await end();
    await expect(studio.lost).rejects.toMatchObject({ code: 'host_unreachable' });
    expect(await findRunningStudio(folder)).toBeNull();
  });

  it('whose door another program has taken is none', async () => {
    const other = createServer((_, response) => response.end('{"pid": 1}'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    lateron(() => other.close());
    const at = { port: (other.address() as { port: number }).port };
    lateron(await announceStudio(folder, { kind: 'server', token, at }));
    expect(await announcedStudios(folder)).toHaveLength(1);
    expect(await findRunningStudio(folder)).toBeNull();
  });

  it('that does not listen is none', async () => {
    const at = windows ? { socket: '\\\\.\\pipe\\mizuoto-none' } : { socket: join(folder, 'none.sock') };
    lateron(await announceStudio(folder, { kind: 'shell', token, at }));
    expect(await findRunningStudio(folder)).toBeNull();
  });
});

describe("the window's door", () => {
  const ask = async (path: string, headers: Record<string, string>, method = 'POST', body = '{}') => {
    const [notice] = await announcedStudios(folder);
    const at = notice!.at as { socket: string };
    const authorization = `Bearer ${notice!.token}`;
    return new Promise<number>((resolve, reject) => {
      const outgoing = request(
        {
          socketPath: at.socket,
          path,
          method,
          headers: { host: 'localhost', 'content-type': 'application/json', authorization, ...headers },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode!);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(method === 'GET' ? undefined : body);
    });
  };

  it('opens to this person, with the token, for a few calls', async () => {
    const close = lateron(await startLocalServer(client, folder));
    const run = runFolder(folder);
    if (!windows) expect(statSync(join(run, `${process.pid}.sock`)).mode & 0o777).toBe(0o600);
    const snapshot = '/studio/call/runtime.snapshot';
    expect(await ask(snapshot, {})).toBe(200);
    expect(await ask(snapshot, { authorization: '' })).toBe(401);
    expect(await ask(snapshot, { authorization: `Bearer ${token}` })).toBe(401);
    expect(await ask('/studio/events', { authorization: '' }, 'GET')).toBe(401);
    expect(await ask(snapshot, { origin: 'http://localhost' })).toBe(403);
    expect(await ask(snapshot, { host: 'evil.example' })).toBe(403);
    expect(await ask(snapshot, { 'content-type': 'text/plain' })).toBe(415);
    expect(await ask(snapshot, {}, 'GET')).toBe(405);
    for (const refused of ['speak', 'settings.set', 'jobs.export', 'jobs.wav', 'doctor.run', 'nothing', '']) {
      expect(await ask(`/studio/call/${refused}`, {}), refused).toBe(404);
    }
    expect(await ask('/index.html', {})).toBe(404);
    expect(await ask('/api/v1/runtime', {}, 'GET')).toBe(200);
    expect(await ask('/api/v1/runtime', { authorization: '' }, 'GET')).toBe(401);
    expect(await ask('/api/v1/runtime', { host: 'evil.example' }, 'GET')).toBe(403);
    expect(await ask('/api/v1/runtime', {})).toBe(405);
    expect(await ask(snapshot, {}, 'POST', ' '.repeat(100_000))).toBe(413);
    await close();
    ended.length = 0;
    expect(existsSync(join(run, `${process.pid}.sock`))).toBe(false);
    expect(readdirSync(run)).toEqual([]);
  });

  it.skipIf(windows)('is not made where its name would be cut', async () => {
    const deep = join(folder, 'x'.repeat(120));
    await expect(startLocalServer(client, deep)).rejects.toThrow(/longer than/);
    expect(await announcedStudios(deep)).toEqual([]);
  });
});
