import { describe, expect, it } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import { type Said, say } from '../../../main/contract/said.ts';
import { fakeJob, fakeResult, fakeSettings, fakeSnapshot, wholly } from '../bridge/fake-data.ts';
import { settle } from '../testing/fake-timers.ts';
import { testStudio } from '../testing/studio.ts';
import { editDraft, generate, stopRunning } from './commands.ts';
import { queuePosition, selectRunningJob } from './jobs.ts';

const progress = (job_id: string, fraction = 0.5) => ({
  job_id,
  state: 'running' as const,
  stage: 'acoustic',
  fraction,
  chunks_done: 1,
  chunks_total: 2,
  elapsed_seconds: 1,
  remaining_seconds: 1,
});
const audio = (job_id: string, start: number, length = 100) => ({
  job_id,
  index: start / 100,
  sample_rate: 24000,
  start,
  samples: new Float32Array(length).fill(0.25),
  text: 'words',
});

describe('the store follows the host', () => {
  it('reads everything when it connects', async () => {
    const { studio, host } = await testStudio();
    expect(host.asked.map((call) => call.name)).toEqual([
      'host.info',
      'settings.get',
      'engines.list',
      'voices.list',
      'runtime.snapshot',
      'jobs.list',
    ]);
    const state = studio.store.getState();
    expect(state.connection).toEqual({ status: 'ready' });
    expect(state.engines).toHaveLength(1);
    expect(state.settings?.['ui.language']).toBe('system');
  });

  it('tells once what is wrong with the files of the studio, and nothing else of the log', async () => {
    const { studio, host } = await testStudio();
    const line = (said?: Said) => ({
      at: 1,
      level: 'warning' as const,
      message: said?.message ?? 'Something.',
      ...(said === undefined ? {} : { said }),
    });
    const aside = say('settings_kept_aside', {
      path: '/s.json',
      reason: 'it is not JSON',
      aside: '/s.json.bak',
    });
    for (const said of [aside, aside, say('text_controls', { count: 1 }), undefined]) {
      host.emit('log.line', line(said));
    }
    expect(studio.store.getState().notices.map(({ notice }) => notice)).toEqual([
      { kind: 'warning', said: aside },
    ]);
  });

  it('tells what was wrong before it connected', async () => {
    const said = say('calibration_damaged', { path: '/c.json' });
    const { studio } = await testStudio({ runtime: fakeSnapshot({ incidents: [{ at: 1, said }] }) });
    expect(studio.store.getState().notices.map(({ notice }) => notice)).toEqual([{ kind: 'warning', said }]);
  });

  it('carries a job from the queue to its end', async () => {
    const { studio, host, timers } = await testStudio();
    editDraft(studio, { text: 'Hello.' });
    await generate(studio);
    expect(selectRunningJob(studio.store.getState())?.job_id).toBe('job-1');
    host.emit('job.progress', progress('job-1'));
    expect(studio.store.getState().jobs['job-1']).toMatchObject({
      state: 'running',
      progress: { fraction: 0.5 },
    });
    host.emit('job.audio', audio('job-1', 0));
    host.emit('job.audio', audio('job-1', 100));
    // The first chunk shows at once, the following at most ten times a second.
    expect(studio.store.getState().jobAudio['job-1']).toMatchObject({ frames: 100, chunks: 1 });
    await timers.advance(100);
    expect(studio.store.getState().jobAudio['job-1']).toMatchObject({
      frames: 200,
      chunks: 2,
      complete: false,
    });
    host.emit('job.finished', { job_id: 'job-1', result: fakeResult() });
    const state = studio.store.getState();
    expect(state.jobs['job-1']).toMatchObject({ state: 'finished', result: { seconds: 8.4 } });
    expect(state.jobAudio['job-1']?.complete).toBe(true);
    expect(selectRunningJob(state)).toBeUndefined();
  });

  it('does not wake a job that has ended by a late message', async () => {
    const { studio, host } = await testStudio();
    host.emit('job.queued', fakeJob());
    host.emit('job.cancelled', { job_id: 'job-1' });
    host.emit('job.progress', progress('job-1'));
    host.emit('job.queued', fakeJob());
    host.emit('job.audio', audio('job-1', 0));
    expect(studio.store.getState().jobs['job-1']?.state).toBe('cancelled');
    expect(studio.store.getState().jobAudio['job-1']).toBeUndefined();
  });

  it('keeps the jobs of a queue apart', async () => {
    const { studio, host } = await testStudio();
    for (const job_id of ['a', 'b', 'c']) host.emit('job.queued', fakeJob({ job_id }));
    host.emit('job.progress', progress('a'));
    const state = studio.store.getState();
    expect(['a', 'b', 'c'].map((id) => queuePosition(state, id))).toEqual([0, 1, 2]);
    host.emit('job.failed', {
      job_id: 'a',
      error: new StudioError('device_lost', 'The device is gone.').toBody(),
    });
    expect(studio.store.getState().jobs.a?.error?.code).toBe('device_lost');
    expect(selectRunningJob(studio.store.getState())?.job_id).toBe('b');
    expect(queuePosition(studio.store.getState(), 'c')).toBe(1);
  });

  it('asks for a job whose beginning it missed', async () => {
    const { studio, host } = await testStudio();
    host.answers['jobs.get'] = ({ job_id }) => fakeJob({ job_id, state: 'running', text_preview: 'Missed' });
    host.emit('job.progress', progress('late'));
    await settle();
    expect(studio.store.getState().jobs.late?.text_preview).toBe('Missed');
  });

  it('leaves the audio of other programs on the host', async () => {
    const { studio, host } = await testStudio();
    host.emit('job.queued', fakeJob({ source: 'http' }));
    host.emit('job.audio', audio('job-1', 0));
    expect(studio.library.peek('job-1')).toBeUndefined();
  });

  it('takes snapshots by their version, whatever order they come in', async () => {
    const { studio, host } = await testStudio();
    const older = fakeSnapshot();
    const newer = fakeSnapshot({ models: [wholly()] });
    host.emit('runtime.changed', newer);
    host.emit('runtime.changed', older);
    expect(studio.store.getState().runtime?.models).toHaveLength(1);
    // A host that was started anew counts from one again.
    host.emit('runtime.changed', { ...fakeSnapshot(), version: 1, at: newer.at + 1000 });
    expect(studio.store.getState().runtime?.version).toBe(1);
  });

  it('takes settings that were changed elsewhere', async () => {
    const { studio, host } = await testStudio();
    host.emit('settings.changed', fakeSettings({ 'ui.theme': 'dark' }));
    expect(studio.store.getState().settings?.['ui.theme']).toBe('dark');
  });

  it('says "stopping" at once, before the host has answered', async () => {
    const { studio, host } = await testStudio();
    host.emit('job.queued', fakeJob());
    let release = () => {};
    host.answers['jobs.cancel'] = () =>
      new Promise((resolve) => {
        release = () => resolve({ state: 'stopping' });
      });
    stopRunning(studio);
    expect(studio.store.getState().jobStopping).toEqual({ 'job-1': true });
    release();
    await settle();
    host.emit('job.cancelled', { job_id: 'job-1' });
    expect(studio.store.getState().jobStopping).toEqual({});
  });
});

describe('a link that drops', () => {
  it('reads everything again, and fetches what it missed before it plays', async () => {
    const { studio, host } = await testStudio({ link: true });
    expect(host.asked).toHaveLength(0);
    host.setLink({ up: true });
    await settle();
    expect(studio.store.getState().connection.status).toBe('ready');
    editDraft(studio, { text: 'Hello there.' });
    await generate(studio);
    host.emit('job.audio', audio('job-1', 0));
    host.setLink({ up: false, error: new StudioError('host_unreachable', 'Gone.').toBody() });
    expect(studio.store.getState().connection.status).toBe('lost');
    expect(studio.store.getState().draft.text).toBe('Hello there.');
    const done = fakeJob({ state: 'finished', result: fakeResult() });
    host.answers['jobs.list'] = () => ({ jobs: [done] });
    host.setLink({ up: true });
    await settle();
    expect(studio.store.getState().connection.status).toBe('ready');
    expect(studio.store.getState().jobs['job-1']?.state).toBe('finished');
  });

  it('keeps results and fails running jobs when the host was started anew', async () => {
    const { studio, host } = await testStudio({ link: true });
    host.setLink({ up: true });
    await settle();
    host.emit('job.queued', fakeJob({ job_id: 'done', created_at: 1 }));
    host.emit('job.finished', { job_id: 'done', result: fakeResult() });
    host.emit('job.queued', fakeJob({ job_id: 'running', created_at: 2 }));
    host.setLink({ up: true });
    await settle();
    const { jobs, jobOrder } = studio.store.getState();
    expect(jobOrder).toEqual(['done', 'running']);
    expect(jobs.done?.state).toBe('finished');
    expect(jobs.running).toMatchObject({ state: 'failed', error: { code: 'host_crashed' } });
  });

  it('tries again by itself where nobody tells of the link', async () => {
    const { studio, host, timers } = await testStudio({ connect: false });
    const { startSync } = await import('./sync.ts');
    const info = host.answers['host.info']!;
    host.answers['host.info'] = () => {
      throw new StudioError('host_unreachable', 'Not yet.');
    };
    const stop = startSync(studio);
    await settle();
    expect(studio.store.getState().connection).toMatchObject({
      status: 'lost',
      error: { code: 'host_unreachable' },
    });
    host.answers['host.info'] = info;
    await timers.advance(2500);
    expect(studio.store.getState().connection).toEqual({ status: 'ready' });
    stop();
    expect(timers.pending).toBe(0);
  });

  it('reads again after a crash of the host', async () => {
    const { host } = await testStudio();
    host.emit('job.queued', fakeJob());
    const before = host.asked.length;
    host.emit('job.failed', {
      job_id: 'job-1',
      error: new StudioError('host_crashed', 'It ended.').toBody(),
    });
    await settle();
    expect(host.asked.slice(before).map((call) => call.name)).toContain('runtime.snapshot');
  });
});
