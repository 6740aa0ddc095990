import { request as httpRequest, type IncomingMessage } from 'node:http';
import {
  type CallInput,
  type CallName,
  type CallResponse,
  decodeWire,
  type EventData,
  type EventName,
  errorSchema,
  FrameReader,
  type StudioClient,
  StudioError,
  wireContentType,
  wirePaths,
} from '../contract/index.ts';
import { announcedStudios, type StudioNotice } from './discovery.ts';

const handshakeMs = 10_000;
/** Beats come every 15 s: twice as long without one, and the studio is gone. */
const silenceMs = 40_000;

/** A studio that runs in another process of this computer: the same calls and events as the host's own client. */
export class RunningStudio implements StudioClient {
  /** Rejects when the stream of events ends; pending until then, and forever where nobody listens. */
  readonly lost: Promise<never>;
  #lose!: (error: StudioError) => void;
  #events: { destroy(): void } | null = null;
  readonly #listeners = new Map<EventName, Set<(data: never) => void>>();

  constructor(readonly notice: StudioNotice) {
    this.lost = new Promise<never>((_, reject) => {
      this.#lose = reject;
    });
    this.lost.catch(() => {});
  }

  async call<N extends CallName>(
    name: N,
    request: CallInput<N>,
    options: { timeoutMs?: number } = {},
  ): Promise<CallResponse<N>> {
    const response = await this.#ask('POST', `${wirePaths.call}${name}`, JSON.stringify(request), options);
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const type = response.headers['content-type'] ?? '';
    if (type.startsWith(wireContentType)) return decodeWire(body) as CallResponse<N>;
    const value = JSON.parse(body.toString()) as unknown;
    if (response.statusCode === 200) return value as CallResponse<N>;
    throw StudioError.fromBody(errorSchema.parse((value as { error?: unknown }).error));
  }

  on<N extends EventName>(name: N, listener: (data: EventData<N>) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(listener as (data: never) => void));
    if (this.#events === null) {
      this.#events = { destroy: () => {} };
      void this.#listen().catch((error: unknown) => this.#lose(gone(error)));
    }
    return () => {
      set.delete(listener as (data: never) => void);
    };
  }

  close(): void {
    this.#events?.destroy();
    this.#listeners.clear();
  }

  async #listen(): Promise<void> {
    const stream = await this.#ask('GET', wirePaths.events, null);
    if (stream.statusCode !== 200) throw new Error(`It answers with ${stream.statusCode}.`);
    this.#events = stream;
    const frames = new FrameReader();
    stream.setTimeout(silenceMs, () => stream.destroy(new Error('It is silent.')));
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      for (const message of frames.push(chunk)) {
        if (message.type !== 'event') continue;
        for (const listener of [...(this.#listeners.get(message.name) ?? [])])
          listener(message.data as never);
      }
    }
    throw new Error('It ended.');
  }

  #ask(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    { timeoutMs }: { timeoutMs?: number } = {},
  ): Promise<IncomingMessage> {
    const { at, token } = this.notice;
    const where =
      'socket' in at ? { socketPath: at.socket, host: 'localhost' } : { host: '127.0.0.1', port: at.port };
    const host = 'socket' in at ? 'localhost' : `127.0.0.1:${at.port}`;
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        {
          ...where,
          method,
          path,
          agent: false,
          headers: {
            host,
            authorization: `Bearer ${token}`,
            ...(body === null ? {} : { 'content-type': 'application/json' }),
          },
          ...(timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) }),
        },
        resolve,
      );
      outgoing.on('error', (error) => reject(gone(error)));
      outgoing.end(body ?? undefined);
    });
  }
}

function gone(error: unknown): StudioError {
  const detail = error instanceof Error ? error.message : String(error);
  return new StudioError('host_unreachable', 'The studio ended or does not answer.', {
    params: { reason: 'the studio ended or does not answer' },
    detail,
    cause: error,
  });
}

/** The newest studio of this person that runs and answers; null where there is none. */
export async function findRunningStudio(configFolder: string): Promise<RunningStudio | null> {
  for (const notice of await announcedStudios(configFolder)) {
    const studio = new RunningStudio(notice);
    // The number of a process that was killed may be another's by now: only the studio itself knows its own.
    const pid = await studio.call('host.info', {}, { timeoutMs: handshakeMs }).then(
      (info) => info.pid,
      () => null,
    );
    if (pid === notice.pid) return studio;
    studio.close();
  }
  return null;
}
