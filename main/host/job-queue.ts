import { type EventData, type EventName, type SpeakRequest, StudioError } from '../contract/index.ts';
import { JobAudio } from './audio-store.ts';
import type {
  DeviceQueue,
  SpeechBackend,
  SpeechOutcome,
  SpeechProgress,
  SpeechTask,
  SpokenChunk,
} from './backend.ts';
import { toErrorBody } from './failures.ts';
import { Job, type JobState } from './job.ts';
import { Throttle } from './throttle.ts';

export type Emit = <N extends EventName>(name: N, data: EventData<N>) => void;

export interface JobQueueOptions {
  backend: SpeechBackend;
  emit: Emit;
  /** Something about the jobs changed that a snapshot shows. */
  onChange: () => void;
  /** Folder for long audio; null: the audio leaves as events and is not kept. */
  audioFolder: string | null;
}

const progressIntervalMs = 100;
/** Settled jobs that are remembered with their audio; the oldest go first. */
const keptJobs = 50;

/** Jobs in order of arrival, side by side on different devices, one after the other on the same. */
export class JobQueue {
  readonly #jobs = new Map<string, Job>();
  readonly #slots = new Map<string, number>();
  readonly #running = new Map<Job, Promise<void>>();
  readonly #progress = new Map<Job, Throttle<void>>();
  #closed = false;

  constructor(private readonly options: JobQueueOptions) {}

  submit(task: SpeechTask, source: SpeakRequest['source']): Job {
    if (this.#closed)
      throw new StudioError('host_unreachable', 'The studio is closing; nothing new is started.');
    const { backend, audioFolder } = this.options;
    const queue: DeviceQueue = backend.queueFor(task.engine, task.settings);
    const job = new Job(
      task,
      source,
      queue.id,
      audioFolder === null ? null : new JobAudio(task.sampleRate, audioFolder),
    );
    this.#slots.set(queue.id, queue.slots);
    this.#jobs.set(job.id, job);
    this.#progress.set(job, new Throttle(() => this.#emitProgress(job), progressIntervalMs));
    this.options.emit('job.queued', job.record());
    this.#changed();
    // The answer to the call leaves before the first event of the job.
    setImmediate(() => this.#pump());
    return job;
  }

  list(): Job[] {
    return [...this.#jobs.values()];
  }

  /** Throws job_not_found. */
  get(id: string): Job {
    const job = this.#jobs.get(id);
    if (job) return job;
    throw new StudioError(
      'job_not_found',
      `There is no job ${id.slice(0, 60)}: it was never started here, or is older than the last ${keptJobs}.`,
      { params: { job_id: id.slice(0, 60) } },
    );
  }

  /** Waiting jobs end at once; running ones stop at their next step. Settled ones stay as they are. */
  cancel(id: string): JobState {
    const job = this.get(id);
    if (job.settled || job.state === 'stopping') return job.state;
    job.abort.abort();
    if (job.state === 'waiting') this.#settle(job, 'cancelled');
    else this.#setState(job, 'stopping');
    return job.state;
  }

  /** Cancel everything and wait until the devices are quiet. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#jobs.values()) this.cancel(job.id);
    await Promise.all(this.#running.values());
    await Promise.all(this.list().map((job) => job.audio?.dispose()));
  }

  #pump(): void {
    const busy = new Map<string, number>();
    for (const job of this.#running.keys()) busy.set(job.queue, (busy.get(job.queue) ?? 0) + 1);
    for (const job of this.#jobs.values()) {
      if (job.state !== 'waiting') continue;
      const used = busy.get(job.queue) ?? 0;
      if (used >= (this.#slots.get(job.queue) ?? 1)) continue;
      busy.set(job.queue, used + 1);
      const end = this.#run(job).finally(() => {
        this.#running.delete(job);
        this.#pump();
      });
      this.#running.set(job, end);
    }
  }

  async #run(job: Job): Promise<void> {
    job.startedAt = Date.now();
    this.#setState(job, 'loading');
    const meter = new SpeechMeter(job.task.sampleRate);
    try {
      const outcome = await this.#speak(job, meter);
      // A cancel that arrived with the last sample still is a cancel: the person saw "stopping".
      if (job.abort.signal.aborted) return this.#settle(job, 'cancelled');
      job.result = meter.result(job, outcome);
      this.#settle(job, 'finished');
    } catch (error) {
      if (job.abort.signal.aborted) return this.#settle(job, 'cancelled');
      job.error = toErrorBody(error);
      this.#settle(job, 'failed');
    }
  }

  async #speak(job: Job, meter: SpeechMeter): Promise<SpeechOutcome> {
    const { signal } = job.abort;
    const stream = this.options.backend.speak(job.task, {
      signal,
      progress: (progress) => {
        meter.state(progress.state);
        this.#advance(job, progress);
      },
    });
    try {
      for (;;) {
        const step = await stream.next();
        if (step.done) return step.value;
        if (signal.aborted) throw new StudioError('cancelled', 'Cancelled.');
        await this.#append(job, meter, step.value);
      }
    } finally {
      // Its model is free again, whatever ended it: a full disk, say.
      await stream.return(undefined as never);
    }
  }

  async #append(job: Job, meter: SpeechMeter, { samples, text }: SpokenChunk): Promise<void> {
    const bad = samples.findIndex((sample) => !Number.isFinite(sample));
    if (bad >= 0) throw notAudio(job.task.engine, meter.samples + bad);
    const start = meter.samples;
    await job.audio?.append(samples);
    meter.chunk(samples.length);
    this.options.emit('job.audio', {
      job_id: job.id,
      index: meter.chunks - 1,
      sample_rate: meter.sampleRate,
      start,
      samples: samples as Float32Array<ArrayBuffer>,
      text,
    });
  }

  /** Stages load and run in turn, many times a second: only the first sound of either is news at once. */
  #advance(job: Job, progress: SpeechProgress): void {
    job.progress = progress;
    if (job.state !== 'loading' && job.state !== 'running') return;
    const first = progress.state === 'running' && job.computingSince === null;
    if (first) job.computingSince = Date.now();
    if (first) this.#setState(job, 'running');
    else {
      job.state = progress.state;
      this.#progress.get(job)?.push();
    }
  }

  #setState(job: Job, state: JobState): void {
    job.state = state;
    this.#progress.get(job)?.now();
    this.#changed();
  }

  #emitProgress(job: Job): void {
    const progress = job.progressRecord();
    if (progress) this.options.emit('job.progress', progress);
  }

  #settle(job: Job, state: 'finished' | 'failed' | 'cancelled'): void {
    job.state = state;
    job.forgetReference();
    this.#progress.get(job)?.cancel();
    this.#progress.delete(job);
    const { emit } = this.options;
    if (state === 'finished') emit('job.finished', { job_id: job.id, result: job.result! });
    else if (state === 'failed') emit('job.failed', { job_id: job.id, error: job.error! });
    else emit('job.cancelled', { job_id: job.id });
    this.#forget();
    this.#changed();
  }

  #forget(): void {
    const settled = this.list().filter((job) => job.settled);
    for (const job of settled.slice(0, Math.max(0, settled.length - keptJobs))) {
      this.#jobs.delete(job.id);
      void job.audio?.dispose();
    }
  }

  #changed(): void {
    this.options.onChange();
  }
}

/** Better no sound than noise that a person has to notice. */
function notAudio(engine: string, sample: number): StudioError {
  return new StudioError(
    'job_failed',
    `The engine "${engine}" computed something that is not audio (sample ${sample} is not a finite number). ` +
      'Try another device; if it happens there too, its weights are damaged.',
    { params: { engine, sample } },
  );
}

/** Times and counts of one job. Loading is not computing: it does not count into the real-time factor. */
class SpeechMeter {
  readonly #begin = performance.now();
  #runningSince: number | null = null;
  #computeMs = 0;
  #firstAudioMs: number | null = null;
  samples = 0;
  chunks = 0;

  constructor(readonly sampleRate: number) {}

  state(state: 'loading' | 'running'): void {
    const now = performance.now();
    if (state === 'running') this.#runningSince ??= now;
    else if (this.#runningSince !== null) {
      this.#computeMs += now - this.#runningSince;
      this.#runningSince = null;
    }
  }

  chunk(samples: number): void {
    this.samples += samples;
    this.chunks++;
    this.#firstAudioMs ??= performance.now() - this.#begin;
  }

  result({ task, voice }: Job, outcome: SpeechOutcome) {
    this.state('loading');
    const seconds = this.samples / this.sampleRate;
    const computeSeconds = this.#computeMs / 1000;
    return {
      seconds,
      sample_rate: this.sampleRate,
      seed: task.seed,
      rtf: seconds > 0 ? computeSeconds / seconds : 0,
      engine: task.engine,
      model: task.model,
      voice,
      applied: outcome.applied,
      meta: {
        memory: outcome.memory,
        compute_seconds: computeSeconds,
        first_audio_seconds: (this.#firstAudioMs ?? 0) / 1000,
        chunks: this.chunks,
      },
      warnings: [...task.warnings, ...outcome.warnings],
    };
  }
}
