import { describe, expect, it, vi } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import { encodeFrame, encodeWire, type StreamMessage, wireContentType } from '../../../main/contract/wire.ts';
import { browserBridge, takeToken } from './browser.ts';
import type { LinkState } from './types.ts';

interface Asked {
  path: string;
  init: RequestInit;
}

/** A server in a function: answers calls as told, and holds the event stream open. */
function server(answer: (path: string) => Response) {
  const asked: Asked[] = [];
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const downloads: [string, string][] = [];
  const bridge = (token: string | null = 'secret') =>
    browserBridge({
      fetch: async (input, init = {}) => {
        const path = String(input);
        asked.push({ path, init });
        if (path !== '/studio/events') return answer(path);
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => void streams.push(controller),
        });
        return new Response(body, { headers: { 'content-type': wireContentType } });
      },
      token,
      locale: 'en-US',
      platform: 'linux',
      download: (url, name) => void downloads.push([url, name]),
      openWindow: () => {},
    });
  const send = (message: StreamMessage) => streams.at(-1)!.enqueue(encodeFrame(message));
  return { asked, streams, downloads, bridge, send };
}

const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } });

describe('the contract over HTTP', () => {
  it('posts calls with the token, in a header and nowhere else', async () => {
    const { bridge, asked } = server(() => json({ engines: [] }));
    expect(await bridge().call('engines.list', {})).toEqual({ engines: [] });
    const call = asked.find(({ path }) => path.includes('call'))!;
    expect(call.path).toBe('/studio/call/engines.list');
    expect(call.init.method).toBe('POST');
    expect(new Headers(call.init.headers).get('authorization')).toBe('Bearer secret');
    expect(asked.every(({ path }) => !path.includes('secret'))).toBe(true);
  });

  it('reads audio from wire messages', async () => {
    const wav = Uint8Array.of(1, 2, 3);
    const { bridge } = server(
      () => new Response(encodeWire({ wav }), { headers: { 'content-type': wireContentType } }),
    );
    expect(await bridge().call('jobs.wav', { job_id: 'a' })).toEqual({ wav });
  });

  it('keeps the host’s errors, and says something of other failures', async () => {
    const body = new StudioError('text_empty', 'No text.', { params: { a: 1 } }).toBody();
    const answers = [
      json({ error: body }, 400),
      new Response('<html>', { status: 502 }),
      new Response('', { status: 401 }),
    ];
    const { bridge } = server(() => answers.shift()!);
    const open = bridge();
    await expect(open.call('speak', { text: '' })).rejects.toMatchObject({
      code: 'text_empty',
      params: { a: 1 },
    });
    await expect(open.call('speak', { text: '' })).rejects.toMatchObject({
      code: 'internal',
      params: { status: 502 },
    });
    await expect(open.call('speak', { text: '' })).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('is unreachable when nobody answers', async () => {
    const { bridge } = server(() => {
      throw new TypeError('fetch failed');
    });
    await expect(bridge().call('host.info', {})).rejects.toMatchObject({
      code: 'host_unreachable',
      retryable: true,
    });
  });

  it('asks nothing without a token', async () => {
    const { bridge, asked } = server(() => json({}));
    const links: LinkState[] = [];
    const open = bridge(null);
    open.onLink!((state) => links.push(state));
    await expect(open.call('host.info', {})).rejects.toMatchObject({ code: 'forbidden' });
    expect(asked).toHaveLength(0);
    expect(links.at(-1)).toMatchObject({ up: false, error: { code: 'forbidden' } });
  });

  it('saves by an address that works once', async () => {
    const { bridge, downloads } = server(() => json({ url: '/studio/download/xyz' }));
    expect(await bridge().saveAudio({ job_id: 'a', suggested_name: 'Hello.wav' })).toEqual({
      path: 'Hello.wav',
    });
    expect(downloads).toEqual([['/studio/download/xyz', 'Hello.wav']]);
  });
});

describe('the event stream', () => {
  it('delivers events with their audio, and comes back after it broke off', async () => {
    vi.useFakeTimers();
    try {
      const { bridge, streams, send, asked } = server(() => json({}));
      const open = bridge();
      const links: boolean[] = [];
      const chunks: Float32Array[] = [];
      open.onLink!((state) => links.push(state.up));
      const stop = open.on('job.audio', (chunk) => chunks.push(chunk.samples));
      await vi.advanceTimersByTimeAsync(0);
      send({ type: 'hello', pid: 1 });
      const data = {
        job_id: 'a',
        index: 0,
        sample_rate: 24000,
        start: 0,
        samples: Float32Array.of(0.5, -1),
        text: '',
      };
      send({ type: 'event', name: 'job.audio', data });
      await vi.advanceTimersByTimeAsync(0);
      expect(links).toEqual([true]);
      expect(chunks).toEqual([Float32Array.of(0.5, -1)]);

      streams[0]!.close();
      await vi.advanceTimersByTimeAsync(100);
      expect(links).toEqual([true, false]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(asked.filter(({ path }) => path === '/studio/events')).toHaveLength(2);
      send({ type: 'hello', pid: 2 });
      stop();
      send({ type: 'event', name: 'job.audio', data });
      await vi.advanceTimersByTimeAsync(0);
      expect(links).toEqual([true, false, true]);
      expect(chunks).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not wait when asked to try now', async () => {
    vi.useFakeTimers();
    try {
      const { bridge, streams } = server(() => json({}));
      const open = bridge();
      for (let i = 0; i < 3; i++) {
        await vi.advanceTimersByTimeAsync(0);
        streams.at(-1)!.close();
        await vi.advanceTimersByTimeAsync(0);
        open.reconnect!();
        await vi.advanceTimersByTimeAsync(0);
      }
      expect(streams).toHaveLength(4);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('the token', () => {
  it('is taken out of the address and survives a reload', () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    } as Storage;
    const shown: string[] = [];
    const history = {
      replaceState: (_: unknown, __: string, url: string) => void shown.push(url),
    } as unknown as History;
    const at = (hash: string) => ({ hash, pathname: '/', search: '?a=1' }) as Location;
    expect(takeToken(at('#token=abc'), history, storage)).toBe('abc');
    expect(shown).toEqual(['/?a=1']);
    expect(takeToken(at(''), history, storage)).toBe('abc');
    kept.clear();
    expect(takeToken(at(''), history, storage)).toBeNull();
  });
});
