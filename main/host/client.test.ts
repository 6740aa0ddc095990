import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AudioChunkEvent, EventData, JobProgress } from '../contract/index.ts';
import { HostClient, type HostClientOptions } from './client.ts';
import { bundleForTest } from './testing/bundle.ts';
import { toneOf } from './testing/tone-engine.ts';

let bundle: Awaited<ReturnType<typeof bundleForTest>>;
let folder: string;
let client: HostClient | null = null;

beforeAll(async () => {
  bundle = await bundleForTest(['host-worker']);
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-client-'));
});
afterEach(async () => {
  await client?.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(options: HostClientOptions = {}): HostClient {
  client = new HostClient({
    worker: bundle.path('host-worker'),
    configFolder: folder,
    cacheFolder: folder,
    testEngines: true,
    ...options,
  });
  return client;
}

const request = { engine: 'tone', seed: 1, source: 'test' as const };

describe('a client of the host', () => {
  it('calls before the host is up, and gets typed errors back', async () => {
    const studio = open();
    const [info, engines] = await Promise.all([
      studio.call('host.info', {}),
      studio.call('engines.list', {}),
    ]);
    expect(info.pid).toBe(process.pid);
    expect(engines.engines.map(({ id }) => id)).toEqual(['tone', 'hum', 'echo']);
    await expect(studio.call('jobs.get', { job_id: 'none' })).rejects.toMatchObject({
      name: 'StudioError',
      code: 'job_not_found',
    });
    await expect(studio.call('settings.set', { patch: { f: () => 1 } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('speaks as an async iterator', async () => {
    const stream = open().speak({ ...request, text: 'One. Two.' });
    const states: JobProgress['state'][] = [];
    stream.onProgress(({ state }) => states.push(state));
    const chunks: AudioChunkEvent[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ samples }) => samples)).toEqual(
      ['One.', 'Two.'].map((text) => toneOf(text, { seed: 1, speed: 1, pitch: 1 })),
    );
    expect((await stream.result).meta.chunks).toBe(2);
    expect(states).toContain('running');
    const { wav } = await client!.call('jobs.wav', { job_id: await stream.jobId });
    expect(wav.length).toBe(44 + 2 * (chunks[0]!.samples.length + chunks[1]!.samples.length));
  });

  it('speaks several requests at once without mixing them', async () => {
    const studio = open();
    const texts = ['One. Two.', 'Three, longer than the others.', 'Four. Five. Six.'];
    const heard = await Promise.all(
      texts.map(async (text) => {
        const parts: string[] = [];
        for await (const chunk of studio.speak({ ...request, text })) parts.push(chunk.text);
        return parts.join(' ');
      }),
    );
    expect(heard).toEqual(texts);
  });

  it('throws what the request failed of', async () => {
    const studio = open();
    const run = async (fields: object) => {
      for await (const _ of studio.speak({ ...request, text: 'One. Two.', ...fields }));
    };
    await expect(run({ text: ' ' })).rejects.toMatchObject({ code: 'text_empty' });
    await expect(run({ voice: 'memory' })).rejects.toMatchObject({
      code: 'out_of_device_memory',
      retryable: true,
    });
    const stream = studio.speak({ ...request, text: 'One.', voice: 'throw' });
    await expect(stream.result).rejects.toMatchObject({ code: 'internal' });
  });

  it.each(['before', 'during', 'by leaving the loop'])('cancels: %s', async (when) => {
    const studio = open();
    const cancelled: EventData<'job.cancelled'>[] = [];
    studio.on('job.cancelled', (event) => cancelled.push(event));
    const abort = new AbortController();
    if (when === 'before') abort.abort();
    const stream = studio.speak({ ...request, text: 'One. Two.', voice: 'stall' }, { signal: abort.signal });
    const run = async () => {
      for await (const _ of stream) {
        if (when === 'during') abort.abort();
        else return;
      }
    };
    if (when === 'by leaving the loop') await run();
    else await expect(run()).rejects.toMatchObject({ code: 'cancelled' });
    await expect(stream.result).rejects.toMatchObject({ code: 'cancelled' });
    expect(cancelled).toHaveLength(when === 'before' ? 0 : 1);
  });

  it('goes on when one listener throws', async () => {
    const studio = open();
    const lines: string[] = [];
    studio.on('settings.changed', () => {
      throw new Error('bad listener');
    });
    studio.on('settings.changed', ({ 'ui.theme': theme }) => lines.push(theme));
    studio.on('log.line', ({ message }) => lines.push(message));
    await studio.call('settings.set', { patch: { 'ui.theme': 'dark' } });
    expect(lines).toEqual([expect.stringContaining('bad listener'), 'dark']);
  });
});

describe('a host that crashes', () => {
  const crash = async (studio: HostClient) => {
    const failed = new Promise<EventData<'job.failed'>>((resolve) => {
      studio.on('job.failed', resolve);
    });
    const stream = studio.speak({ ...request, text: 'One. Two.', voice: 'crash' });
    await expect(stream.result).rejects.toMatchObject({ code: 'host_crashed' });
    expect((await failed).job_id).toBe(await stream.jobId);
  };

  it('fails what was in flight and starts again', async () => {
    const studio = open();
    const lines: string[] = [];
    studio.on('log.line', ({ message }) => lines.push(message));
    await crash(studio);
    expect(lines.join('\n')).toContain('scripted crash');
    expect((await studio.call('jobs.list', {})).jobs).toEqual([]);
    const stream = studio.speak({ ...request, text: 'One.' });
    expect((await stream.result).seconds).toBeGreaterThan(0);
  });

  it('waits longer each time and then stays down', async () => {
    const studio = open({ restartDelays: [0, 0.4] });
    await crash(studio);
    await crash(studio);
    const asked = performance.now();
    await studio.call('jobs.list', {});
    expect(performance.now() - asked).toBeGreaterThan(300);
    await crash(studio);
    await expect(studio.call('jobs.list', {})).rejects.toMatchObject({
      code: 'host_unreachable',
      message: expect.stringContaining('crashed 3 times'),
    });
    await studio.restart();
    expect((await studio.call('jobs.list', {})).jobs).toEqual([]);
  });

  it('forgets its crashes after a calm time', async () => {
    const studio = open({ restartDelays: [0], calmSeconds: 0.05 });
    await crash(studio);
    await studio.call('jobs.list', {});
    await new Promise((resolve) => setTimeout(resolve, 150));
    await crash(studio);
    expect((await studio.call('jobs.list', {})).jobs).toEqual([]);
  });

  it('can be ended by force while an engine hangs', async () => {
    const studio = open();
    const stream = studio.speak({ ...request, text: 'One. Two.', voice: 'stall' });
    await stream.jobId;
    await studio.restart();
    await expect(stream.result).rejects.toMatchObject({ code: 'host_crashed' });
    expect((await studio.call('jobs.list', {})).jobs).toEqual([]);
  });
});

describe('closing', () => {
  it('cancels what runs, waits for it, and refuses new calls', async () => {
    const studio = open();
    const stream = studio.speak({ ...request, text: 'One. Two.', voice: 'stall' });
    await stream.jobId;
    await studio.close();
    await expect(stream.result).rejects.toMatchObject({ code: 'cancelled' });
    await expect(studio.call('jobs.list', {})).rejects.toMatchObject({ code: 'host_unreachable' });
    await studio.close();
  });

  it('works before the host was ever asked', async () => {
    await open().close();
  });
});
