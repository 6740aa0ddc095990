import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeWav } from '../audio/wav.ts';
import {
  type CallName,
  decodeWire,
  FrameReader,
  runtimeReportSchema,
  type StreamMessage,
  type StudioClient,
  StudioError,
} from '../contract/index.ts';
import { contentSecurityPolicy } from '../contract/security.ts';
import { openTestHost } from '../host/testing/fixture.ts';
import { type StudioServer, startStudioServer } from './studio-server.ts';

let folder: string;
let server: StudioServer;
let host: ReturnType<typeof openTestHost>;
const listeners = new Map<string, Set<(data: never) => void>>();

/** The host of this thread as a client, its events handed on. */
const client: StudioClient = {
  async call(name, request) {
    const reply = await host.host.handle(name, request);
    if (!reply.ok) throw StudioError.fromBody(reply.error);
    return reply.response as never;
  },
  on(name, listener) {
    const set = listeners.get(name) ?? new Set();
    listeners.set(name, set.add(listener as (data: never) => void));
    return () => set.delete(listener as (data: never) => void);
  },
};

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Raw requests: no client folds the path or hides the Host header. */
function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
) {
  return new Promise<Answer>((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = options;
    const outgoing = httpRequest(
      { host: '127.0.0.1', port: server.port, path, method, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const call = (name: CallName | string, request: unknown, headers: Record<string, string> = {}) =>
  ask(`/studio/call/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.token}`, ...headers },
    body: JSON.stringify(request),
  });
const json = (answer: Answer) => JSON.parse(answer.body.toString());

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-server-'));
  const page = join(folder, 'renderer');
  mkdirSync(join(page, 'assets'), { recursive: true });
  writeFileSync(join(page, 'index.html'), '<!doctype html><title>studio</title>');
  writeFileSync(join(page, 'assets', 'app.js'), 'export {};');
  writeFileSync(join(folder, 'secret.js'), 'secret');
  symlinkSync(join(folder, 'secret.js'), join(page, 'assets', 'link.js'));
  host = openTestHost();
  const emit = host.seen.push.bind(host.seen);
  host.seen.push = (event) => {
    for (const listener of listeners.get(event.name) ?? []) listener(event.data as never);
    return emit(event);
  };
  server = await startStudioServer({ client, folder: page, port: 0 });
});
afterAll(async () => {
  await server.close();
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the page', () => {
  it('is served with the policy of the shell', async () => {
    const answer = await ask('/');
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toContain('studio');
    expect(answer.headers['content-security-policy']).toBe(contentSecurityPolicy);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect((await ask('/assets/app.js')).headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect((await ask('/', { method: 'HEAD' })).body.length).toBe(0);
  });

  it.each([
    ['/../secret.js', 403],
    ['/assets/../../secret.js', 403],
    ['/%2e%2e/secret.js', 403],
    ['/..%2fsecret.js', 403],
    ['/assets%5c..%5c..%5csecret.js', 403],
    ['/assets/link.js', 403],
    ['/%00.js', 403],
    ['/C:/windows/win.js', 403],
    ['/%zz.js', 400],
    ['//etc/passwd.js', 404],
    ['/assets/', 404],
    ['/no-such.js', 404],
    ['/package.lock', 404],
  ])('%s is answered with %i', async (path, status) => {
    const answer = await ask(path);
    expect(answer.status).toBe(status);
    expect(answer.body.toString()).not.toContain('secret');
    expect(answer.headers['content-security-policy']).toBe(contentSecurityPolicy);
  });

  it('takes no POST', async () => {
    expect((await ask('/', { method: 'POST' })).status).toBe(405);
  });
});

describe('guards', () => {
  it.each(['evil.example', `evil.example:1`, '127.0.0.1', 'localhost:1', 'localhost.evil.example'])(
    'refuse Host %j',
    async (name) => {
      expect((await ask('/', { headers: { host: name } })).status).toBe(403);
      expect((await call('jobs.list', {}, { host: name })).status).toBe(403);
    },
  );

  it('accept the names of this computer', async () => {
    for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
      expect((await call('jobs.list', {}, { host: `${name}:${server.port}` })).status, name).toBe(200);
    }
  });

  it('refuse pages of other origins', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      `https://127.0.0.1:${server.port}`,
      'http://127.0.0.1:1',
    ]) {
      expect((await call('jobs.list', {}, { origin })).status, origin).toBe(403);
    }
    expect((await call('jobs.list', {}, { origin: `http://127.0.0.1:${server.port}` })).status).toBe(200);
  });

  it('refuse a missing or wrong token, also for events', async () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer x',
      `Basic ${server.token}`,
      `Bearer ${server.token}0`,
    ]) {
      const answer = await call('jobs.list', {}, { authorization });
      expect(answer.status, authorization).toBe(401);
      expect(json(answer).error.code).toBe('forbidden');
    }
    expect((await ask('/studio/events')).status).toBe(401);
    expect((await ask(`/studio/events?token=${server.token}`)).status).toBe(401);
  });

  it('refuse forms, other methods and unknown calls', async () => {
    expect((await call('jobs.list', {}, { 'content-type': 'text/plain' })).status).toBe(415);
    const headers = { authorization: `Bearer ${server.token}` };
    expect((await ask('/studio/call/jobs.list', { headers })).status).toBe(405);
    expect((await call('toString', {})).status).toBe(404);
    expect(
      (
        await ask('/studio/else', {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: '{}',
        })
      ).status,
    ).toBe(404);
  });

  it('refuse a body of 20 MB, announced or not', async () => {
    const body = Buffer.alloc(20_000_000, 0x20);
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.token}` };
    const status = (extra: Record<string, string>) =>
      ask('/studio/call/settings.set', { method: 'POST', headers: { ...headers, ...extra }, body }).then(
        (answer) => answer.status,
        // The server hangs up without reading on; the writer may see that first.
        (error: NodeJS.ErrnoException) => error.code ?? '',
      );
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(await status({}));
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(await status({ 'transfer-encoding': 'chunked' }));
    expect((await call('jobs.list', {})).status).toBe(200);
  });

  it('take the longest audio that a voice may have', async () => {
    // Ten minutes at 24 kHz: nothing can be heard in them, which only who has read them knows.
    const audio = encodeWav([new Float32Array(24_000 * 600)], { sampleRate: 24_000 });
    const request = { name: 'Long', audio: Buffer.from(audio.bytes).toString('base64') };
    expect(json(await call('voices.add', request)).error.code).toBe('reference_unusable');
  });

  it('refuse what is not JSON', async () => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.token}` };
    for (const body of ['{', Buffer.from([0x22, 0xff, 0x22])]) {
      expect((await ask('/studio/call/jobs.list', { method: 'POST', headers, body })).status).toBe(400);
    }
  });

  it('refuse to write files that a page names', async () => {
    const answer = await call('jobs.export', { job_id: 'x', path: '/tmp/x.wav' });
    expect(answer.status).toBe(403);
    expect(json(answer).error.code).toBe('forbidden');
  });
});

describe('the contract over HTTP', () => {
  it('answers calls and their errors', async () => {
    expect(json(await call('engines.list', {})).engines[0].id).toBe('tone');
    const missing = await call('jobs.get', { job_id: 'none' });
    expect(missing.status).toBe(404);
    expect(json(missing).error).toMatchObject({ code: 'job_not_found', retryable: false });
    expect(json(await call('speak', { text: '', engine: 'tone' })).error.code).toBe('text_empty');
    expect(json(await call('speak', { text: 1 })).error.code).toBe('invalid_request');
  });

  it('takes voices in compressed files, and refuses what is none and languages that nobody speaks', async () => {
    const recordings = join(import.meta.dirname, '..', 'audio', 'compressed', 'fixtures');
    const audio = (name: string) => readFileSync(join(recordings, name)).toString('base64');
    const added = await call('voices.add', { name: 'Mp3', audio: audio('speech.mp3'), language: 'English' });
    expect(added.status).toBe(200);
    expect(json(added).voice).toMatchObject({ language: 'en', sample_rate: 24_000 });
    const aac = json(await call('voices.add', { name: 'Aac', audio: audio('speech.m4a') }));
    expect(aac.error).toMatchObject({ code: 'file_unreadable', params: { convert: 'MP4 or M4A' } });
    const klingon = json(await call('voices.update', { voice: 'Mp3', language: 'klingon' }));
    expect(klingon.error).toMatchObject({ code: 'unknown_language', params: { language: 'klingon' } });
    expect(klingon.error.params.known).toContain('en');
  });

  it('streams events with audio, and gives the WAV back', async () => {
    const reader = new FrameReader();
    const messages: StreamMessage[] = [];
    const stop = new AbortController();
    const response = await fetch(`http://127.0.0.1:${server.port}/studio/events`, {
      headers: { authorization: `Bearer ${server.token}` },
      signal: stop.signal,
    });
    const { job_id } = json(await call('speak', { text: 'One. Two.', engine: 'tone', seed: 1 }));
    for await (const chunk of response.body!) {
      messages.push(...reader.push(chunk));
      if (messages.some((message) => message.type === 'event' && message.name === 'job.finished')) break;
    }
    stop.abort();
    expect(messages[0]).toEqual({ type: 'hello', pid: process.pid });
    const heard = messages.flatMap((message) =>
      message.type === 'event' && message.name === 'job.audio'
        ? [(message.data as { samples: Float32Array }).samples]
        : [],
    );
    expect(heard).toHaveLength(2);
    expect(heard[0]).toEqual(host.of('job.audio').find(({ data }) => data.job_id === job_id)!.data.samples);

    const answer = await call('jobs.wav', { job_id });
    expect(answer.headers['content-type']).toBe('application/vnd.mizuoto.wire');
    const { wav } = decodeWire(answer.body) as { wav: Uint8Array };
    expect(Buffer.from(wav.subarray(0, 4)).toString()).toBe('RIFF');

    const offer = (request: object) =>
      ask('/studio/download', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${server.token}` },
        body: JSON.stringify(request),
      });
    const { url } = json(await offer({ job_id, suggested_name: '早上好"/../x.wav' }));
    const file = await ask(url);
    expect(file.body.equals(Buffer.from(wav))).toBe(true);
    const disposition = file.headers['content-disposition']!;
    expect(disposition).toMatch(/^attachment; filename="[\w. -]+"; filename\*=UTF-8''[\w.%-]+$/);
    expect(decodeURIComponent(disposition.split("''")[1]!)).toBe('早上好"_.._x.wav');
    expect((await ask(url)).status).toBe(404);
    expect((await offer({ job_id: 'none', suggested_name: 'a.wav' })).status).toBe(404);
    expect((await offer({ job_id })).status).toBe(400);
  });

  it('forgets a page that has gone', async () => {
    const stop = new AbortController();
    const response = await fetch(`http://127.0.0.1:${server.port}/studio/events`, {
      headers: { authorization: `Bearer ${server.token}` },
      signal: stop.signal,
    });
    await response.body!.getReader().read();
    const before = listeners.get('log.line')!.size;
    stop.abort();
    await expect.poll(() => listeners.get('log.line')!.size).toBe(before - 1);
  });
});

describe('GET /api/v1/runtime', () => {
  const look = (headers: Record<string, string> = {}, method = 'GET', path = '/api/v1/runtime') =>
    ask(path, { method, headers: { authorization: `Bearer ${server.token}`, ...headers } });

  it('answers the snapshot and the versions as plain JSON', async () => {
    expect((await call('models.load', { model: 'tone' })).status).toBe(200);
    const answer = await look();
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    const report = runtimeReportSchema.strict().parse(json(answer));
    const { versions, ...state } = report;
    const { version, ggml } = json(await call('host.info', {}));
    expect(versions).toEqual({ mizuoto: version, ggml });
    const snapshot = json(await call('runtime.snapshot', {}));
    const timeless = { at: 0, version: 0, host: null };
    expect({ ...state, ...timeless }).toEqual({ ...snapshot, ...timeless });
    const [model] = report.models;
    expect(model).toMatchObject({ id: 'tone', state: 'idle', loaded_bytes: expect.any(Number) });
    expect(Number.isInteger(model!.streamed_bytes) && Number.isInteger(model!.host_bytes)).toBe(true);
    expect((await look({}, 'GET', '/api/v1/runtime?watch=1')).status).toBe(200);
  });

  it('is guarded as everything else', async () => {
    for (const authorization of ['', 'Bearer x', `Basic ${server.token}`]) {
      const answer = await look({ authorization });
      expect(answer.status, authorization).toBe(401);
      expect(json(answer).error.code).toBe('forbidden');
      expect(answer.body.toString()).not.toContain('devices');
    }
    for (const [header, value] of [
      ['host', 'evil.example'],
      ['origin', 'https://evil.example'],
    ] as const) {
      const answer = await look({ [header]: value });
      expect(answer.status).toBe(403);
      expect(json(answer).error.code).toBe('forbidden');
    }
    expect((await look({}, 'GET', `/api/v1/runtime?token=${server.token}`)).status).toBe(200);
    expect((await ask(`/api/v1/runtime?token=${server.token}`)).status).toBe(401);
  });

  it('takes no other method and has no neighbours', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await look({}, method);
      expect(answer.status, method).toBe(405);
      expect(answer.headers.allow).toBe('GET');
    }
    for (const path of ['/api/v1/runtime/', '/api/v1/', '/api/v2/runtime']) {
      expect((await look({}, 'GET', path)).status, path).toBe(404);
      expect((await ask(path)).status, path).toBe(401);
    }
  });
});

it('takes another port when the wanted one is in use', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const second = await startStudioServer({ client, folder, port });
  expect(second.port).not.toBe(port);
  expect(second.url).toBe(`http://127.0.0.1:${second.port}/#token=${second.token}`);
  expect(second.token).toMatch(/^[0-9a-f]{64}$/);
  expect(second.token).not.toBe(server.token);
  await second.close();
  other.close();
});
