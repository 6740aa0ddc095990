import type { Recording } from '../audio/recording.ts';
import { learnedPace, measureRequest } from './estimate.ts';
import type { Studio } from './studio.ts';

/** Tells the store what a recording has become. Length is judged only where the whole text and the end are known. */
export function summarise(studio: Studio, jobId: string, recording: Recording): void {
  studio.store.setState((state) => {
    const request = state.jobRequests[jobId];
    const job = state.jobs[jobId];
    const expected =
      request === undefined || job?.state !== 'finished'
        ? undefined
        : (measureRequest(request).seconds * learnedPace(state, job.engine, undefined)) /
          (request.speed ?? 1);
    return {
      jobAudio: {
        ...state.jobAudio,
        [jobId]: {
          frames: recording.frames,
          sampleRate: recording.sampleRate,
          chunks: recording.chunks,
          complete: recording.isComplete && !recording.gap,
          findings: recording.findings(expected),
        },
      },
    };
  });
}

const shortestInterval = 100;
const due = new WeakMap<Studio, Map<string, number>>();

/** The same while chunks pour in: the first at once, then at most ten times a second. */
export function summariseSoon(studio: Studio, jobId: string, recording: Recording): void {
  const timers = due.get(studio) ?? new Map<string, number>();
  due.set(studio, timers);
  if (timers.has(jobId)) return;
  summarise(studio, jobId, recording);
  const timer = studio.parts.setTimeout(() => {
    timers.delete(jobId);
    const told = studio.store.getState().jobAudio[jobId];
    if (told === undefined || told.frames < recording.frames) summarise(studio, jobId, recording);
  }, shortestInterval);
  timers.set(jobId, timer);
}
