import type {
  CallInput,
  CallName,
  CallResponse,
  EventData,
  EventName,
} from '../../../main/contract/calls.ts';
import { type ErrorBody, StudioError } from '../../../main/contract/errors.ts';
import {
  type DownloadRequest,
  decodeWire,
  FrameReader,
  type StreamMessage,
  tokenFragment,
  wireContentType,
  wirePaths,
} from '../../../main/contract/wire.ts';
import { toErrorBody } from './errors.ts';
import type { LinkState, StudioBridge } from './types.ts';

/** Beats come every 15 s: after this long without a word the link is dead. */
const silenceLimit = 40_000;
const backOff = [500, 1000, 2000, 5000];

export interface BrowserParts {
  fetch: typeof fetch;
  token: string | null;
  locale: string;
  platform: string;
  /** Starts a download of an address of our own origin. */
  download(url: string, name: string): void;
  openWindow(url: string): void;
}

/** Reads the token from the address's fragment and takes it out of sight; a reload finds it in the tab's storage. */
export function takeToken(location: Location, history: History, storage: Storage): string | null {
  const key = 'mizuoto.token';
  const token = new URLSearchParams(location.hash.slice(1)).get(tokenFragment);
  if (token === null || token === '') return storage.getItem(key);
  storage.setItem(key, token);
  history.replaceState(null, '', location.pathname + location.search);
  return token;
}

/** The contract over HTTP, for the studio in a browser. */
export function browserBridge(parts: BrowserParts): StudioBridge {
  const listeners = new Map<EventName, Set<(data: never) => void>>();
  const linkListeners = new Set<(state: LinkState) => void>();
  let link: LinkState | null = null;
  let wake: (() => void) | null = null;

  const setLink = (state: LinkState) => {
    link = state;
    for (const listener of linkListeners) listener(state);
  };

  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    if (parts.token === null) {
      throw new StudioError(
        'forbidden',
        'The address of this page carries no token. Open the one that was printed.',
      );
    }
    let response: Response;
    try {
      response = await parts.fetch(path, {
        ...init,
        // The window says everything in its own language, by code; the message is for its details, in English.
        headers: { ...init.headers, authorization: `Bearer ${parts.token}`, 'accept-language': 'en' },
        cache: 'no-store',
      });
    } catch (cause) {
      throw new StudioError('host_unreachable', 'The engine host does not answer.', {
        retryable: true,
        detail: String(cause),
      });
    }
    if (!response.ok) throw await failure(response);
    return response;
  }

  const post = (path: string, body: unknown) =>
    request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  function deliver(message: StreamMessage): void {
    if (message.type !== 'event') return;
    for (const listener of listeners.get(message.name) ?? []) listener(message.data as never);
  }

  /** One connection of the event stream, until it ends. */
  async function listen(): Promise<void> {
    const abort = new AbortController();
    let watchdog = setTimeout(() => abort.abort(), silenceLimit);
    try {
      const response = await request(wirePaths.events, { signal: abort.signal });
      const reader = response.body!.getReader();
      const frames = new FrameReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), silenceLimit);
        for (const message of frames.push(value)) {
          if (message.type === 'hello') setLink({ up: true });
          deliver(message);
        }
      }
    } finally {
      clearTimeout(watchdog);
      abort.abort();
    }
  }

  async function listenForever(): Promise<void> {
    let failures = 0;
    for (;;) {
      const before = link;
      let error: ErrorBody | null = null;
      try {
        await listen();
      } catch (thrown) {
        const body = toErrorBody(thrown);
        // A stream that breaks off in the middle is a lost link, not a fault of the page.
        error = body.code === 'internal' ? null : body;
      }
      if (link !== before && link?.up === true) failures = 0;
      setLink({
        up: false,
        error:
          error ??
          new StudioError('host_unreachable', 'The link to the engine host broke off.', {
            retryable: true,
          }).toBody(),
      });
      const wait = backOff[Math.min(failures++, backOff.length - 1)]!;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = null;
    }
  }
  void listenForever();

  return {
    shell: {
      kind: 'browser',
      platform: parts.platform,
      locale: parts.locale,
      version: '',
    },

    async call<N extends CallName>(name: N, input: CallInput<N>): Promise<CallResponse<N>> {
      const response = await post(wirePaths.call + name, input);
      const type = response.headers.get('content-type') ?? '';
      if (!type.startsWith(wireContentType)) return (await response.json()) as CallResponse<N>;
      return decodeWire(new Uint8Array(await response.arrayBuffer())) as CallResponse<N>;
    },

    on<N extends EventName>(name: N, listener: (data: EventData<N>) => void): () => void {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set.add(listener));
      return () => {
        set.delete(listener);
      };
    },

    async saveAudio({ job_id, suggested_name }) {
      const body: DownloadRequest = { job_id, suggested_name };
      const response = await post(wirePaths.download, body);
      const { url } = (await response.json()) as { url: string };
      parts.download(url, suggested_name);
      return { path: suggested_name };
    },

    async saveTrace({ suggested_name }) {
      const response = await post(`${wirePaths.call}runtime.trace`, {});
      const file = new Blob([await response.text()], { type: 'application/json' });
      const url = URL.createObjectURL(file);
      parts.download(url, suggested_name);
      // The download has read it long before.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      return { path: suggested_name };
    },

    async openExternal(url) {
      parts.openWindow(url);
    },

    onLink(listener) {
      linkListeners.add(listener);
      if (link !== null) listener(link);
      return () => {
        linkListeners.delete(listener);
      };
    },

    reconnect() {
      wake?.();
    },
  };
}

async function failure(response: Response): Promise<StudioError> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  const error = typeof body === 'object' && body !== null && 'error' in body ? toErrorBody(body.error) : null;
  if (error !== null) return StudioError.fromBody(error);
  return new StudioError(
    response.status === 401 || response.status === 403 ? 'forbidden' : 'internal',
    `The engine host answered ${response.status}.`,
    { params: { status: response.status } },
  );
}
