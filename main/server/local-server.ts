import { randomBytes } from 'node:crypto';
import { chmod, unlink } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type CallName, type EventName, type StudioClient, wirePaths } from '../contract/index.ts';
import { fail, send } from './answers.ts';
import { announceStudio, makeRunFolder } from './discovery.ts';
import { streamEvents } from './event-stream.ts';
import { hasToken, RequestError, readJson } from './guards.ts';
import { sendRuntimeReport } from './runtime-report.ts';

/** What another program of the same person may ask the window's studio: to look at memory and to manage models. */
const localCalls: ReadonlySet<CallName> = new Set([
  'host.info',
  'runtime.snapshot',
  'models.load',
  'models.unload',
  'models.pin',
  'jobs.list',
]);
const localEvents: readonly EventName[] = ['runtime.changed'];

const maxBodyBytes = 64 * 1024;
/** `sun_path` holds 104 bytes on macOS and 108 on Linux, its final zero included. */
const longestSocketPath = 100;

/**
 * The shell's door for `mizuoto runtime`: a few calls of the contract and the runtime's state over a local socket (Windows: a named pipe), which
 * no page of a browser can reach. Announced with its token; resolves with what closes it.
 *
 * @throws Error where the socket cannot be made; the studio runs without it.
 */
export async function startLocalServer(
  client: StudioClient,
  configFolder: string,
): Promise<() => Promise<void>> {
  const token = randomBytes(32).toString('hex');
  const folder = await makeRunFolder(configFolder);
  const windows = process.platform === 'win32';
  const socket = windows
    ? `\\\\.\\pipe\\mizuoto-${randomBytes(16).toString('hex')}`
    : join(folder, `${process.pid}.sock`);
  if (!windows && Buffer.byteLength(socket) > longestSocketPath) {
    throw new Error(`${socket} is longer than the ${longestSocketPath} bytes of a local socket's name.`);
  }
  // Of a process that had this number before and was killed.
  if (!windows) await unlink(socket).catch(() => {});

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { host, origin } = request.headers;
    if (host !== 'localhost' || origin !== undefined) throw new RequestError(403, 'httpNoPage');
    if (!hasToken(request, token)) throw new RequestError(401, 'httpToken');
    const path = request.url ?? '';
    if (path === wirePaths.events && request.method === 'GET') {
      return streamEvents(client, response, localEvents);
    }
    if (path === wirePaths.runtime) return sendRuntimeReport(client, request, response);
    if (request.method !== 'POST') throw new RequestError(405, 'httpOnly', { method: 'POST' });
    const name = path.startsWith(wirePaths.call) ? (path.slice(wirePaths.call.length) as CallName) : null;
    if (name === null || !localCalls.has(name)) throw new RequestError(404, 'httpNothing');
    const body = await readJson(request, maxBodyBytes);
    // The host validates: what arrives here is only known to be JSON.
    send(request, response, await client.call(name, body as never));
  };
  const server = createServer({ maxHeaderSize: 16 * 1024 }, (request, response) => {
    handle(request, response).catch((error: unknown) => fail(request, response, error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  try {
    if (!windows) await chmod(socket, 0o600);
    const withdraw = await announceStudio(configFolder, { kind: 'shell', token, at: { socket } });
    return async () => {
      withdraw();
      await close();
    };
  } catch (error) {
    await close();
    throw error;
  }
}
