import {
  type AudioChunkEvent,
  type CallInput,
  type EventData,
  type JobProgress,
  type SpeakResult,
  type StudioClient,
  StudioError,
} from '../contract/index.ts';

type Outcome = { result: SpeakResult } | { error: StudioError };

/**
 * One speak request over any client: iterate it for the audio, await `result` for what it says of itself. Leaving the
 * loop early, or the signal, cancels the job. Iterating throws the job's error; a cancelled job throws `cancelled`.
 */
export class SpeakStream implements AsyncIterable<AudioChunkEvent> {
  readonly jobId: Promise<string>;
  readonly result: Promise<SpeakResult>;
  readonly #chunks: AudioChunkEvent[] = [];
  readonly #unsubscribe: (() => void)[] = [];
  readonly #progressListeners = new Set<(progress: JobProgress) => void>();
  /** Events of jobs whose id is not known yet: ours may be among them. */
  #early: (() => void)[] | null = [];
  #id: string | null = null;
  #outcome: Outcome | null = null;
  #wake: (() => void) | null = null;
  #settle!: (outcome: Outcome) => void;

  constructor(
    private readonly client: StudioClient,
    request: CallInput<'speak'>,
    signal?: AbortSignal,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.#settle = (outcome) => {
        if (this.#outcome) return;
        this.#outcome = outcome;
        for (const off of this.#unsubscribe) off();
        if ('result' in outcome) resolve(outcome.result);
        else reject(outcome.error);
        this.#wake?.();
      };
    });
    // Whoever only iterates gets the error there.
    this.result.catch(() => {});
    this.#subscribe();
    this.jobId = this.#begin(request, signal);
    this.jobId.catch(() => {});
  }

  onProgress(listener: (progress: JobProgress) => void): this {
    this.#progressListeners.add(listener);
    return this;
  }

  /** Stops the job; the iterator ends with `cancelled` once the host confirms. */
  async cancel(): Promise<void> {
    const job_id = await this.jobId.catch(() => null);
    if (job_id !== null && !this.#outcome) await this.client.call('jobs.cancel', { job_id });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AudioChunkEvent, void, void> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) yield chunk;
        else if (this.#outcome) {
          if ('error' in this.#outcome) throw this.#outcome.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#outcome) await this.cancel().catch(() => {});
    }
  }

  async #begin(request: CallInput<'speak'>, signal?: AbortSignal): Promise<string> {
    try {
      if (signal?.aborted) throw cancelled();
      const { job_id } = await this.client.call('speak', request);
      this.#id = job_id;
      const early = this.#early ?? [];
      this.#early = null;
      for (const replay of early) replay();
      const stop = () => void this.cancel().catch(() => {});
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop);
      this.#unsubscribe.push(() => signal?.removeEventListener('abort', stop));
      return job_id;
    } catch (error) {
      this.#settle({ error: error as StudioError });
      throw error;
    }
  }

  #subscribe(): void {
    const listen = <N extends 'job.audio' | 'job.progress' | 'job.finished' | 'job.failed' | 'job.cancelled'>(
      name: N,
      body: (data: EventData<N>) => void,
    ) => {
      const own = (data: EventData<N>): void => {
        if (this.#id === data.job_id) body(data);
        else this.#early?.push(() => own(data));
      };
      this.#unsubscribe.push(this.client.on(name, own));
    };
    listen('job.audio', (chunk) => {
      this.#chunks.push(chunk);
      this.#wake?.();
    });
    listen('job.progress', (progress) => {
      for (const listener of this.#progressListeners) listener(progress);
    });
    listen('job.finished', ({ result }) => this.#settle({ result }));
    listen('job.failed', ({ error }) => this.#settle({ error: StudioError.fromBody(error) }));
    listen('job.cancelled', () => this.#settle({ error: cancelled() }));
  }
}

function cancelled(): StudioError {
  return new StudioError('cancelled', 'Cancelled; nothing was saved.');
}
