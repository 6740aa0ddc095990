import { isOfFiles, type Said } from '../../../main/contract/said.ts';
import type { AudioChunkEvent } from '../../../main/contract/speech.ts';
import { Recording } from '../audio/recording.ts';
import { toErrorBody } from '../bridge/errors.ts';
import type { ConnectStep } from './connection.ts';
import { applyOutcome, applyProgress, isFinal, type Outcome, replaceJobs, upsertJob } from './jobs.ts';
import { notify } from './notices.ts';
import { startWhenFree } from './play.ts';
import { applySnapshot } from './runtime.ts';
import type { Studio } from './studio.ts';
import { summarise, summariseSoon } from './summary.ts';

/**
 * Keeps the store equal to the host: listens to its events, and reads everything again after each (re)connection,
 * since events may have been missed. Returns the function that ends it.
 */
export function startSync(studio: Studio): () => void {
  const { store, bridge, library } = studio;
  const set = store.setState;
  let retry: number | null = null;
  let epoch = 0;

  async function readAll(): Promise<void> {
    const current = ++epoch;
    const step = (name: ConnectStep) =>
      set((state) => ({
        connection: {
          status: 'connecting',
          step: name,
          since: state.connection.status === 'connecting' ? state.connection.since : studio.parts.now(),
        },
      }));
    try {
      step('host');
      const host = await bridge.call('host.info', {});
      set({ host });
      step('settings');
      const settings = await bridge.call('settings.get', {});
      step('engines');
      const [{ engines }, { voices }] = await Promise.all([
        bridge.call('engines.list', {}),
        bridge.call('voices.list', {}),
      ]);
      set({ settings, engines, savedVoices: voices });
      step('runtime');
      const runtime = await bridge.call('runtime.snapshot', {});
      // A read is the truth of now, whatever version an earlier host process had reached.
      set((state) => applySnapshot({ ...state, runtime: null }, runtime));
      for (const { said } of runtime.incidents.toReversed()) tell(said);
      step('jobs');
      const { jobs } = await bridge.call('jobs.list', {});
      if (current !== epoch) return;
      set((state) => ({ ...replaceJobs(state, jobs), connection: { status: 'ready' } }));
    } catch (thrown) {
      if (current === epoch) lose(toErrorBody(thrown));
    }
  }

  /** Each is told once, however often the host is read again. */
  const told = new Set<string>();
  function tell(said: Said): void {
    if (!isOfFiles(said) || told.has(said.message)) return;
    told.add(said.message);
    notify(studio, { kind: 'warning', said });
  }

  function lose(error: ReturnType<typeof toErrorBody>): void {
    epoch++;
    set({ connection: { status: 'lost', error } });
    // Where the bridge says itself when the link is back, it needs no knocking.
    if (bridge.onLink !== undefined || retry !== null) return;
    retry = studio.parts.setTimeout(() => {
      retry = null;
      void readAll();
    }, 2000);
  }

  function settle(jobId: string, outcome: Outcome): void {
    set((state) => applyOutcome(state, jobId, outcome));
    const recording = library.peek(jobId);
    if (recording === undefined) return;
    recording.complete();
    summarise(studio, jobId, recording);
    library.trim();
    void studio.transport.pump();
  }

  /** An event of a job whose beginning was missed: ask for the whole of it. */
  async function adopt(jobId: string): Promise<void> {
    try {
      const job = await bridge.call('jobs.get', { job_id: jobId });
      set((state) => upsertJob(state, job));
    } catch {
      // The job is gone again: nothing to show.
    }
  }

  /** A model came or went; the newest answer counts. */
  let lookups = 0;
  async function readEngines(): Promise<void> {
    const current = ++lookups;
    try {
      const { engines } = await bridge.call('engines.list', {});
      if (current === lookups) set({ engines });
    } catch {
      // The link is down: everything is read again when it is back.
    }
  }

  const known = (jobId: string): boolean => store.getState().jobs[jobId] !== undefined;
  const outcome = (jobId: string, ended: Outcome): void => {
    if (known(jobId)) settle(jobId, ended);
    else void adopt(jobId);
  };

  const stops = [
    bridge.on('runtime.changed', (snapshot) => set((state) => applySnapshot(state, snapshot))),
    bridge.on('log.line', ({ said }) => said !== undefined && tell(said)),
    bridge.on('settings.changed', (settings) => set({ settings })),
    bridge.on('models.changed', () => void readEngines()),
    bridge.on('voices.changed', ({ voices }) => set({ savedVoices: voices })),
    bridge.on('job.queued', (job) => set((state) => upsertJob(state, job))),
    bridge.on('job.progress', (progress) => {
      if (known(progress.job_id)) set((state) => applyProgress(state, progress));
      else void adopt(progress.job_id);
    }),
    bridge.on('job.audio', (chunk) => addChunk(studio, chunk)),
    bridge.on('job.finished', ({ job_id, result }) => outcome(job_id, { state: 'finished', result })),
    bridge.on('job.failed', ({ job_id, error }) => {
      outcome(job_id, { state: 'failed', error });
      // The new host holds no models: what memory looked like is no longer true.
      if (error.code === 'host_crashed') void readAll();
    }),
    bridge.on('job.cancelled', ({ job_id }) => outcome(job_id, { state: 'cancelled' })),
  ];
  if (bridge.onLink === undefined) void readAll();
  else {
    stops.push(
      bridge.onLink((link) => {
        if (link.up) void readAll();
        else lose(link.error);
      }),
    );
  }
  return () => {
    epoch++;
    for (const stop of stops) stop();
    if (retry !== null) studio.parts.clearTimeout(retry);
  };
}

/** Audio of jobs that other programs asked for stays on the host until someone here plays it. */
function addChunk(studio: Studio, chunk: AudioChunkEvent): void {
  const { store, library } = studio;
  const job = store.getState().jobs[chunk.job_id];
  if (job === undefined || isFinal(job) || job.source !== 'app') return;
  let recording = library.peek(chunk.job_id);
  if (recording === undefined) {
    recording = new Recording(chunk.sample_rate);
    library.set(chunk.job_id, recording);
  }
  recording.add(chunk);
  summariseSoon(studio, chunk.job_id, recording);
  startWhenFree(studio, chunk.job_id);
  void studio.transport.pump();
}
