import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../contract/index.ts';
import { openTestHost } from './testing/fixture.ts';

let test: ReturnType<typeof openTestHost>;
beforeEach(() => {
  test = openTestHost();
});
afterEach(() => test.close());

const speak = (request: object): Promise<{ job_id: string }> =>
  test.call('speak', { engine: 'tone', seed: 1, text: 'One. Two. Three.', ...request });
const get = ({ job_id }: { job_id: string }): Promise<Job> => test.call('jobs.get', { job_id });
const cancel = ({ job_id }: { job_id: string }): Promise<{ state: string }> =>
  test.call('jobs.cancel', { job_id });
const simulated = { settings: { 'compute.simulate_vram_mb': 8 } };

describe('the queue', () => {
  it('runs one job after the other on a device', async () => {
    const jobs = [await speak({ voice: 'slow' }), await speak({ voice: 'slow' }), await speak({})];
    expect((await get(jobs[1]!)).state).toBe('waiting');
    await test.until('job.finished', (data) => data.job_id === jobs[2]!.job_id);
    const order = test.of('job.audio').map(({ data }) => jobs.findIndex((job) => job.job_id === data.job_id));
    expect(order).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2]);
  });

  it('runs jobs of two devices side by side', async () => {
    const stalled = await speak({ voice: 'stall' });
    await test.until('job.audio');
    const other = await speak(simulated);
    await test.until('job.finished', (data) => data.job_id === other.job_id);
    expect((await get(stalled)).state).toBe('running');
  });

  it('goes on after a failure', async () => {
    const bad = await speak({ voice: 'throw' });
    const good = await speak({});
    await test.until('job.finished', (data) => data.job_id === good.job_id);
    const failed = await get(bad);
    expect(failed.state).toBe('failed');
    expect(failed.error).toMatchObject({
      code: 'internal',
      message: expect.not.stringContaining('scripted'),
    });
    expect(failed.error?.detail).toContain('scripted failure');
  });

  it.each([
    ['memory', 'out_of_device_memory', 'Needed 700 MiB'],
    ['refuse', 'text_not_speakable', 'Choose another voice'],
    ['nan', 'job_failed', 'not a finite number'],
  ])('a job of voice %s fails with %s', async (voice, code, message) => {
    const { job_id } = await speak({ voice });
    const { error } = await test.until('job.failed', (data) => data.job_id === job_id);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('tells progress with what remains, at most ten times a second', async () => {
    const { job_id } = await speak({ voice: 'slow', text: 'A. '.repeat(12) });
    await test.until('job.finished', (data) => data.job_id === job_id);
    const progress = test.of('job.progress').map(({ data }) => data);
    expect(progress[0]).toMatchObject({ state: 'loading', fraction: 0, remaining_seconds: null });
    const running = progress.filter(({ state }) => state === 'running');
    expect(running.length).toBeGreaterThan(4);
    const fractions = running.map(({ fraction }) => fraction);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    const late = running.at(-1)!;
    expect(late.remaining_seconds).toBeGreaterThan(0);
    const guess = (late.elapsed_seconds * (1 - late.fraction)) / late.fraction;
    expect(late.remaining_seconds).toBeLessThanOrEqual(guess);
    expect(late.remaining_seconds).toBeGreaterThan(guess / 2);
    expect(test.of('job.progress').length).toBeLessThan(20);
  });
});

describe('cancelling', () => {
  it('ends a waiting job at once', async () => {
    const running = await speak({ voice: 'stall' });
    await test.until('job.audio');
    const waiting = await speak({});
    expect(await cancel(waiting)).toEqual({ state: 'cancelled' });
    expect((await get(waiting)).state).toBe('cancelled');
    expect((await get(running)).state).toBe('running');
    await expect(test.call('jobs.wav', waiting)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('ends a loading job without a sound', async () => {
    const job = await speak({});
    await test.until('job.progress', (data) => data.state === 'loading');
    expect(await cancel(job)).toEqual({ state: 'stopping' });
    await test.until('job.cancelled');
    expect(test.of('job.audio')).toEqual([]);
  });

  it('stops a running job within a step and keeps what was finished', async () => {
    const job = await speak({ voice: 'stall' });
    await test.until('job.audio');
    const asked = performance.now();
    expect(await cancel(job)).toEqual({ state: 'stopping' });
    await test.until('job.cancelled');
    expect(performance.now() - asked).toBeLessThan(200);
    const { wav } = (await test.call('jobs.wav', job)) as { wav: Uint8Array };
    expect(wav.length).toBe(44 + 2 * test.of('job.audio')[0]!.data.samples.length);
  });

  it('shows "stopping" for as long as an engine does not hear, and holds its device', async () => {
    const deaf = await speak({ voice: 'deaf' });
    await test.until('job.audio');
    const next = await speak({});
    await cancel(deaf);
    const { state } = await test.until(
      'job.progress',
      (data) => data.job_id === deaf.job_id && data.state === 'stopping',
    );
    expect(state).toBe('stopping');
    expect(await cancel(deaf)).toEqual({ state: 'stopping' });
    expect((await get(next)).state).toBe('waiting');
    await test.until('job.finished', (data) => data.job_id === next.job_id);
    expect((await get(deaf)).state).toBe('cancelled');
    expect(test.of('job.audio').filter(({ data }) => data.job_id === deaf.job_id)).toHaveLength(1);
  });

  it('changes nothing once a job is settled', async () => {
    const done = await speak({});
    await test.until('job.finished');
    expect(await cancel(done)).toEqual({ state: 'finished' });
    const failing = await speak({ voice: 'throw' });
    await test.until('job.failed');
    expect(await cancel(failing)).toEqual({ state: 'failed' });
  });
});

it('remembers the last fifty settled jobs', async () => {
  const jobs: { job_id: string }[] = [];
  for (let n = 0; n < 53; n++) jobs.push(await speak({ text: `Number ${n}.` }));
  await test.until('job.finished', (data) => data.job_id === jobs.at(-1)!.job_id);
  const { jobs: kept } = (await test.call('jobs.list', {})) as { jobs: Job[] };
  expect(kept.map(({ job_id }) => job_id)).toEqual(jobs.slice(3).map(({ job_id }) => job_id));
  await expect(get(jobs[0]!)).rejects.toMatchObject({ code: 'job_not_found' });
});
