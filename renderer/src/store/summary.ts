import type { Recording } from '../audio/recording.ts';
import { learnedPace } from './estimate.ts';
import type { Studio } from './studio.ts';
import { measureText } from './text-metrics.ts';

/** Tells the store what a recording has become. Length is judged only where the whole text and the end are known. */
export function summarise(studio: Studio, jobId: string, recording: Recording): void {
  studio.store.setState((state) => {
    const request = state.jobRequests[jobId];
    const job = state.jobs[jobId];
    const expected =
      request === undefined || job?.state !== 'finished'
        ? undefined
        : (measureText(request.text).seconds * learnedPace(state, job.engine, undefined)) /
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
