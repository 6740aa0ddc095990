import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CallName,
  callNames,
  maxAudioBytes,
  type StudioClient,
  tokenFragment,
  wirePaths,
} from '../contract/index.ts';
import { fail, send } from './answers.ts';
import { Downloads } from './downloads.ts';
import { streamEvents } from './event-stream.ts';
import { hasToken, isOwnHost, isOwnOrigin, RequestError, readJson } from './guards.ts';
import { sendRuntimeReport } from './runtime-report.ts';
import { refuse, serveFile } from './static-files.ts';

export interface StudioServerOptions {
  client: StudioClient;
  /** The built renderer. */
  folder: string;
  /** Wanted; when it is taken, the system chooses another. The same port keeps what the page stored. */
  port?: number;
}

export interface StudioServer {
  readonly port: number;
  readonly token: string;
  /** What to open: the token is in the fragment. */
  readonly url: string;
  close(): Promise<void>;
}

const defaultPort = 17440;
/** The longest text with every character escaped, and room for the rest. */
const maxBodyBytes = 13 * 1024 * 1024;
/** The same beside the longest audio as base64, in the calls that carry some. */
const maxAudioBodyBytes = maxBodyBytes + Math.ceil(maxAudioBytes / 3) * 4;
const audioCalls: readonly CallName[] = ['speak', 'voices.add'];

/** Calls that a page may not make: they name paths of this computer. It saves by download. */
const refusedCalls: ReadonlySet<CallName> = new Set(['jobs.export', 'runtime.export_trace', 'models.add']);

/**
 * The studio as a page on this computer only: the renderer's files and the contract (see main/contract/wire.ts),
 * guarded by Host, Origin and a random token.
 */
export async function startStudioServer(options: StudioServerOptions): Promise<StudioServer> {
  const token = randomBytes(32).toString('hex');
  const downloads = new Downloads(options.client);
  let port = 0;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch((error: unknown) => fail(request, response, error));
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0]!;
    const isFile = !path.startsWith('/studio/') && !path.startsWith('/api/');
    const stranger = strangerOf(request, port);
    if (stranger !== null) {
      if (isFile) return refuse(request, response, 403, stranger);
      throw new RequestError(403, stranger);
    }
    if (isFile) return serveFile(options.folder, request, response);
    if (path.startsWith(`${wirePaths.download}/`) && request.method === 'GET') {
      return downloads.serve(path.slice(wirePaths.download.length + 1), request, response);
    }
    if (!hasToken(request, token)) {
      throw new RequestError(401, 'httpTokenOfPage');
    }
    if (path === wirePaths.events && request.method === 'GET') return streamEvents(options.client, response);
    if (path === wirePaths.runtime) return sendRuntimeReport(options.client, request, response);
    if (path.startsWith('/api/')) throw new RequestError(404, 'httpNothing');
    if (request.method !== 'POST') throw new RequestError(405, 'httpOnly', { method: 'POST' });
    const carriesAudio = audioCalls.some((name) => path === wirePaths.call + name);
    const body = await readJson(request, carriesAudio ? maxAudioBodyBytes : maxBodyBytes);
    if (path === wirePaths.download) return send(request, response, await downloads.offer(body));
    if (path.startsWith(wirePaths.call))
      return send(request, response, await call(path.slice(wirePaths.call.length), body));
    throw new RequestError(404, 'httpNothing');
  }

  function call(name: string, body: unknown): Promise<unknown> {
    if (!callNames.includes(name as CallName)) throw new RequestError(404, 'httpNoCall');
    if (refusedCalls.has(name as CallName)) throw new RequestError(403, 'httpNoFiles');
    // The host validates: what arrives here is only known to be JSON.
    return options.client.call(name as CallName, body as never);
  }

  const main = await listen(answer, '127.0.0.1', options.port ?? defaultPort, true);
  port = (main.address() as AddressInfo).port;
  // `localhost` may mean ::1. Where IPv6 is off, or the port is taken there, 127.0.0.1 is enough.
  const servers = [main, await listen(answer, '::1', port, false).catch(() => null)].filter(
    (server) => server !== null,
  );
  return {
    port,
    token,
    url: `http://127.0.0.1:${port}/#${tokenFragment}=${token}`,
    close: async () => {
      await Promise.all(
        servers.map((server) => {
          const closed = new Promise<void>((resolve) => server.close(() => resolve()));
          server.closeAllConnections();
          return closed;
        }),
      );
    },
  };
}

/** Why a request is not this page's or this computer's; null where it is. */
function strangerOf(request: IncomingMessage, port: number): 'httpNotOurs' | 'httpOtherSite' | null {
  if (!isOwnHost(request, port)) return 'httpNotOurs';
  return isOwnOrigin(request, port) ? null : 'httpOtherSite';
}

function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  address: string,
  port: number,
  orAny: boolean,
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ maxHeaderSize: 16 * 1024 }, answer);
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (orAny && port !== 0 && (error.code === 'EADDRINUSE' || error.code === 'EACCES')) {
        resolve(listen(answer, address, 0, false));
      } else reject(error);
    });
    server.listen(port, address, () => resolve(server));
  });
}
