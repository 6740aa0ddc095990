import { Recording } from '../audio/recording.ts';
import { toErrorBody } from '../bridge/errors.ts';
import { hasAudio, isFinal, selectActiveJobs } from './jobs.ts';
import { notify } from './notices.ts';
import type { Studio } from './studio.ts';
import { summarise } from './summary.ts';

function setPlayer(studio: Studio, patch: Partial<ReturnType<Studio['store']['getState']>['player']>): void {
  studio.store.setState((state) => ({ player: { ...state.player, ...patch } }));
}

/**
 * The first audio of a job of this window plays as soon as it exists, unless something else sounds. Whoever paused
 * wants quiet from the jobs that were under way then, not from those asked for later.
 */
export function startWhenFree(studio: Studio, jobId: string): void {
  const { player, jobRequests, jobHidden } = studio.store.getState();
  if (jobRequests[jobId] === undefined || jobHidden[jobId] || player.jobId === jobId) return;
  if (player.quiet.includes(jobId) || player.fetching) return;
  if (player.status === 'playing' || player.status === 'waiting' || player.status === 'blocked') return;
  const recording = studio.library.get(jobId);
  if (recording === undefined || recording.frames === 0) return;
  setPlayer(studio, { jobId });
  studio.transport.load(recording);
  studio.transport.play();
}

/** Puts a job into the player; reads its audio back from the host when the page does not hold all of it. */
export async function playJob(studio: Studio, jobId: string, atSeconds = 0): Promise<void> {
  setPlayer(studio, { jobId, fetching: false });
  let recording = studio.library.get(jobId);
  if (recording === undefined || (recording.gap && hasEnded(studio, jobId))) {
    const fetched = await fetchRecording(studio, jobId, recording);
    // Somebody may have chosen another one meanwhile.
    if (studio.store.getState().player.jobId !== jobId) return;
    recording = fetched ?? recording;
    setPlayer(studio, { fetching: false, ...(recording === undefined ? { jobId: null } : {}) });
    if (recording === undefined) return;
  }
  studio.transport.load(recording, Math.min(recording.frames, Math.round(atSeconds * recording.sampleRate)));
  studio.transport.play();
}

function hasEnded(studio: Studio, jobId: string): boolean {
  const job = studio.store.getState().jobs[jobId];
  return job === undefined || isFinal(job);
}

/** The whole of a job's audio from the host; undefined, with a notice, when it cannot be had. */
async function fetchRecording(
  studio: Studio,
  jobId: string,
  known: Recording | undefined,
): Promise<Recording | undefined> {
  studio.transport.load(null);
  setPlayer(studio, { fetching: true });
  try {
    const { wav } = await studio.bridge.call('jobs.wav', { job_id: jobId, encoding: 'pcm16' });
    const recording = Recording.fromWav(wav, known?.marks);
    studio.library.set(jobId, recording);
    summarise(studio, jobId, recording);
    return recording;
  } catch (thrown) {
    notify(studio, { kind: 'failed', error: toErrorBody(thrown) });
    return undefined;
  }
}

export function togglePlay(studio: Studio): void {
  const state = studio.store.getState();
  const { player } = state;
  if (player.status === 'playing' || player.status === 'waiting') {
    studio.transport.pause();
    setPlayer(studio, { quiet: selectActiveJobs(state).map((job) => job.job_id) });
    return;
  }
  if (player.status === 'blocked') {
    // The output was waiting for exactly this gesture.
    studio.transport.pause();
    studio.transport.play();
    return;
  }
  if (player.jobId !== null) {
    // What ended here may be only the beginning: the link dropped before the rest came.
    const { jobId } = player;
    const recording = studio.library.peek(jobId);
    if (player.status === 'ended' && recording?.gap && hasEnded(studio, jobId)) {
      void playJob(studio, jobId, recording.seconds);
    } else studio.transport.play();
    return;
  }
  const latest = [...state.jobOrder]
    .reverse()
    .find((id) => !state.jobHidden[id] && hasAudio(state.jobs[id]!, state.jobAudio[id]));
  if (latest !== undefined) void playJob(studio, latest);
}

/** To a moment of what is in the player, in seconds. */
export function seekTo(studio: Studio, seconds: number): void {
  const { player, jobAudio } = studio.store.getState();
  const audio = player.jobId === null ? undefined : jobAudio[player.jobId];
  if (audio === undefined) return;
  studio.transport.seek(seconds * audio.sampleRate);
  setPlayer(studio, { jumps: player.jumps + 1 });
}

export function setVolume(studio: Studio, volume: number, muted = false): void {
  setPlayer(studio, { volume, muted });
  studio.transport.setVolume(muted ? 0 : volume);
  studio.parts.keeper.keepVolume({ volume, muted });
}

export function unloadPlayer(studio: Studio): void {
  studio.transport.load(null);
  setPlayer(studio, { jobId: null, fetching: false });
}
