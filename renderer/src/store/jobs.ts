import type { ErrorBody } from '../../../main/contract/errors.ts';
import type { Job, JobProgress, SpeakRequestInput, SpeakResult } from '../../../main/contract/speech.ts';
import type { Finding } from '../audio/checks.ts';

/** What components need to know of a recording; the samples live outside the store. */
export interface AudioSummary {
  frames: number;
  sampleRate: number;
  chunks: number;
  complete: boolean;
  findings: Finding[];
}

export interface JobsSlice {
  jobs: Record<string, Job>;
  /** Oldest first. */
  jobOrder: string[];
  /** Requests of this window, so that their settings can be used again with the whole text. */
  jobRequests: Record<string, SpeakRequestInput>;
  jobAudio: Record<string, AudioSummary>;
  /** Stop was pressed and not answered yet. */
  jobStopping: Record<string, true>;
  /** Deleted from the list of this run. */
  jobHidden: Record<string, true>;
  /** The request itself was refused: there is no job that could tell why. */
  requestError: ErrorBody | null;
}

export const jobsSlice = (hidden: string[]): JobsSlice => ({
  jobs: {},
  jobOrder: [],
  jobRequests: {},
  jobAudio: {},
  jobStopping: {},
  jobHidden: Object.fromEntries(hidden.map((id) => [id, true as const])),
  requestError: null,
});

const finalStates: ReadonlySet<Job['state']> = new Set(['finished', 'failed', 'cancelled']);
export const isFinal = (job: Job): boolean => finalStates.has(job.state);

/** A job as an event or a list tells it; what has ended never comes back to life by a late message. */
export function upsertJob(state: JobsSlice, job: Job): Partial<JobsSlice> {
  const known = state.jobs[job.job_id];
  if (known !== undefined && isFinal(known) && !isFinal(job)) return {};
  return {
    jobs: { ...state.jobs, [job.job_id]: job },
    jobOrder: known === undefined ? [...state.jobOrder, job.job_id] : state.jobOrder,
  };
}

export function applyProgress(state: JobsSlice, progress: JobProgress): Partial<JobsSlice> {
  const job = state.jobs[progress.job_id];
  if (job === undefined || isFinal(job)) return {};
  return { jobs: { ...state.jobs, [job.job_id]: { ...job, state: progress.state, progress } } };
}

export type Outcome =
  | { state: 'finished'; result: SpeakResult }
  | { state: 'failed'; error: ErrorBody }
  | { state: 'cancelled' };

export function applyOutcome(state: JobsSlice, jobId: string, outcome: Outcome): Partial<JobsSlice> {
  const job = state.jobs[jobId];
  if (job === undefined) return {};
  const { [jobId]: _, ...jobStopping } = state.jobStopping;
  return { jobs: { ...state.jobs, [jobId]: { ...job, ...outcome } }, jobStopping };
}

const lost: ErrorBody = {
  code: 'host_crashed',
  message: 'The engine host ended before the job was finished.',
  params: {},
  retryable: true,
};

/**
 * The list after a (re)connect: the host's word replaces ours. A host that was started anew knows nothing of earlier
 * jobs: results stay in the list as long as the page lives, and what was still running is lost.
 */
export function replaceJobs(state: JobsSlice, jobs: Job[]): Partial<JobsSlice> {
  const told = new Set(jobs.map((job) => job.job_id));
  const kept = Object.values(state.jobs)
    .filter((job) => !told.has(job.job_id))
    .map((job): Job => (isFinal(job) ? job : { ...job, state: 'failed', progress: null, error: lost }));
  const all = [...kept, ...jobs].sort((a, b) => a.created_at - b.created_at);
  return {
    jobs: Object.fromEntries(all.map((job) => [job.job_id, job])),
    jobOrder: all.map((job) => job.job_id),
    jobStopping: Object.fromEntries(
      Object.entries(state.jobStopping).filter(([id]) =>
        jobs.some((job) => job.job_id === id && !isFinal(job)),
      ),
    ),
  };
}

/** Jobs that have not ended, in the order in which they will run. */
export function selectActiveJobs(state: JobsSlice): Job[] {
  return state.jobOrder.map((id) => state.jobs[id]!).filter((job) => !isFinal(job));
}

/** The job that works now, or the next one to. */
export function selectRunningJob(state: JobsSlice): Job | undefined {
  const active = selectActiveJobs(state);
  return active.find((job) => job.state !== 'waiting') ?? active[0];
}

/** How many jobs stand before this one; 0 when it is next or works already. */
export function queuePosition(state: JobsSlice, jobId: string): number {
  return Math.max(
    0,
    selectActiveJobs(state).findIndex((job) => job.job_id === jobId),
  );
}

export function hasAudio(job: Job, audio: AudioSummary | undefined): boolean {
  return job.state === 'finished' || (audio?.frames ?? 0) > 0;
}
