import { randomUUID } from 'node:crypto';
import type {
  ErrorBody,
  JobProgress,
  Job as JobRecord,
  SpeakRequest,
  SpeakResult,
} from '../contract/index.ts';
import type { JobAudio } from './audio-store.ts';
import type { SpeechProgress, SpeechTask } from './backend.ts';

export type JobState = JobRecord['state'];

const settledStates: ReadonlySet<JobState> = new Set(['finished', 'failed', 'cancelled']);
const previewLength = 120;

/** One request on its way: what is known of it, and its audio. The queue alone changes it. */
export class Job {
  readonly id = randomUUID();
  readonly abort = new AbortController();
  readonly createdAt = Date.now();
  /** Id of the speaker or the saved voice; empty where there is neither. */
  readonly voice: string;
  state: JobState = 'waiting';
  startedAt: number | null = null;
  /** When it first computed: loading before that says nothing about the speed. */
  computingSince: number | null = null;
  result: SpeakResult | null = null;
  error: ErrorBody | null = null;
  progress: SpeechProgress | null = null;

  constructor(
    public task: SpeechTask,
    readonly source: SpeakRequest['source'],
    readonly queue: string,
    /** Null where nobody will ask for the audio again. */
    readonly audio: JobAudio | null,
  ) {
    this.voice = task.reference?.voice ?? task.voice;
  }

  /** Reference audio is large, and nobody will speak with it again. */
  forgetReference(): void {
    this.task = { ...this.task, reference: null };
  }

  get settled(): boolean {
    return settledStates.has(this.state);
  }

  get preview(): string {
    // The cut may fall within a pair: half a character is not shown.
    const head = this.task.text.slice(0, previewLength * 2 + 2).replace(/[\ud800-\udbff]$/, '');
    const line = head.replace(/\s+/g, ' ').trim();
    const letters = [...line];
    return letters.length > previewLength ? `${letters.slice(0, previewLength - 1).join('')}…` : line;
  }

  /** Null once settled: the result or the error says what is left to say. */
  progressRecord(now = Date.now()): JobProgress | null {
    if (this.settled) return null;
    const elapsed = this.startedAt === null ? 0 : (now - this.startedAt) / 1000;
    const fraction = Math.min(1, Math.max(0, this.progress?.fraction ?? 0));
    return {
      job_id: this.id,
      state: this.state as JobProgress['state'],
      stage: this.progress?.stage ?? null,
      fraction,
      chunks_done: this.progress?.chunksDone ?? 0,
      chunks_total: this.progress?.chunksTotal ?? 0,
      elapsed_seconds: elapsed,
      remaining_seconds: this.#remaining(fraction, now),
    };
  }

  /** Nothing is promised on the first two per cent: a guess from so little would jump. */
  #remaining(fraction: number, now: number): number | null {
    if (this.computingSince === null || this.state === 'stopping' || fraction < 0.02) return null;
    return ((now - this.computingSince) / 1000) * ((1 - fraction) / fraction);
  }

  record(): JobRecord {
    return {
      job_id: this.id,
      engine: this.task.engine,
      model: this.task.model,
      voice: this.voice || null,
      text_preview: this.preview,
      source: this.source,
      state: this.state,
      created_at: this.createdAt,
      progress: this.progressRecord(),
      result: this.result,
      error: this.error,
    };
  }
}
