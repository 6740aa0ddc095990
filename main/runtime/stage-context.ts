import type { Arena, CancelToken, Device } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import type { Said } from '../contract/said.ts';
import type { MemoryReport } from '../contract/speech.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import type { ModelManager } from '../memory/model-manager.ts';
import { isOutOfDeviceMemory } from '../memory/out-of-memory.ts';
import { mib, reason, saidOf } from '../memory/planner/reasons.ts';
import type { VramPolicy } from '../memory/policy.ts';
import type { LoadOptions, Placement, StageFailure } from '../memory/stages.ts';
import { LazyStage, type StageBody } from './lazy-stage.ts';
import { outOfMemoryError } from './out-of-memory-error.ts';
import type {
  AnnouncedStage,
  Replayable,
  RequestOutlook,
  RunStageOptions,
  StageContext,
  StageProgress,
  UseStageOptions,
} from './types.ts';
import { UsedComponents } from './used-components.ts';

type HowItRuns = Pick<RunStageOptions<unknown>, 'passes' | 'goesOn'>;

/** The first attempt and two retries. */
export const maxAttempts = 3;

export interface RequestOptions {
  manager: ModelManager;
  book: DeviceBook;
  /** Unique per request. */
  owner: string;
  policy: VramPolicy;
  signal: CancelToken;
  rng?: Replayable | null;
  priority?: number;
  onProgress?: (progress: StageProgress) => void;
}

/** One request's stages: places components around each, repeats a stage exactly after it ran out of memory. */
export class RequestContext implements StageContext {
  readonly device: Device;
  readonly signal: CancelToken;
  readonly rng: Replayable | null;
  readonly applied: Record<string, unknown> = {};
  readonly warnings: Said[] = [];
  readonly #options: RequestOptions;
  readonly #used: UsedComponents;
  #announced: readonly AnnouncedStage[] = [];
  /** Stages that were said to run over budget: once is enough. */
  readonly #tight = new Set<string>();
  #progress: StageProgress = { stage: null, fraction: 0, chunksDone: 0, chunksTotal: 0, state: 'loading' };

  constructor(options: RequestOptions) {
    this.#options = options;
    this.device = options.book.device;
    this.signal = options.signal;
    this.rng = options.rng ?? null;
    this.#used = new UsedComponents(options.book);
    if (this.kvCache === 'static') this.applied.kv_cache = 'static';
  }

  get kvCache(): 'dynamic' | 'static' {
    return this.#options.policy.kvCache;
  }

  get arena(): Arena {
    return this.#options.book.arena;
  }

  use<T>(
    handles: ModelHandle[],
    memory: number,
    body: () => AsyncIterable<T>,
    options?: UseStageOptions,
  ): AsyncIterable<T>;
  use<T>(
    handles: ModelHandle[],
    memory: number,
    body: () => Promise<T>,
    options?: UseStageOptions,
  ): Promise<T>;
  use<T>(
    handles: ModelHandle[],
    memory: number,
    body: StageBody<T>,
    options: UseStageOptions = {},
  ): AsyncIterable<T> & Promise<T> {
    const name = options.name ?? handles.map(({ component }) => component).join(' + ');
    return new LazyStage(body, async () => {
      const placement = await this.#placeWithRetries(name, handles, memory, options);
      this.#report({ state: 'running' });
      return {
        end: (failure) => this.#end(handles, placement, failure),
        explain: (error) => this.#explain(name, handles, memory, error),
      };
    });
  }

  async run<T>(
    name: string,
    handles: ModelHandle[],
    fn: () => T | Promise<T>,
    memory: number,
    options: RunStageOptions<T> = {},
  ): Promise<T> {
    const generators = [...(this.rng === null ? [] : [this.rng]), ...(options.generators ?? [])];
    const states = generators.map((generator) => generator.save());
    const attempts = this.#options.policy.oomRetry ? maxAttempts : 1;
    let failure: unknown;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      try {
        return await this.#attempt(name, handles, fn, memory, options, attempt < attempts);
      } catch (error) {
        if (!isOutOfDeviceMemory(error)) throw error;
        failure = error;
      }
      await this.#afterOom(handles, name);
      for (const [index, generator] of generators.entries()) generator.restore(states[index]);
      if (attempt < attempts) this.#noteRetry(name, handles, attempt + 1, attempts);
    }
    const { fallback } = options;
    if (fallback === undefined || !this.#options.policy.oomFallback) {
      throw this.#outOfMemory(name, handles, memory, attempts, failure, fallback?.what);
    }
    this.#noteFallback(name, fallback.what, attempts);
    return this.#attempt(name, handles, fallback.run, fallback.memory ?? memory, options, false);
  }

  announce(stages: AnnouncedStage[]): RequestOutlook {
    this.#announced = stages;
    const { manager, book, policy } = this.#options;
    const handles = stages.flatMap((stage) => stage.handles);
    manager.touch(handles);
    if (book.device.isHost || handles.length === 0) return { peakBytes: 0, problems: [] };
    const { peakBytes, problems } = manager.planStages(book, stages, policy);
    for (const { stage, neededBytes, reason: why } of problems) {
      manager.trace.add({
        kind: 'plan',
        device: book.id,
        subject: stage,
        bytes: neededBytes,
        why,
      });
    }
    return { peakBytes, problems };
  }

  progress(
    fraction: number,
    detail: { chunksDone?: number; chunksTotal?: number; stage?: string } = {},
  ): void {
    this.#report({ ...detail, fraction: Math.min(1, Math.max(0, fraction)) });
  }

  warn(said: Said): void {
    if (!this.warnings.some(({ message }) => message === said.message)) this.warnings.push(said);
  }

  throwIfCancelled(): void {
    if (this.signal.cancelled) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
  }

  report(): MemoryReport {
    return this.#used.report();
  }

  async #attempt<T>(
    name: string,
    handles: ModelHandle[],
    fn: () => T | Promise<T>,
    memory: number,
    how: HowItRuns,
    retried: boolean,
  ): Promise<T> {
    const placement = await this.#place(name, handles, memory, how);
    this.#report({ state: 'running' });
    let failure: StageFailure | null = null;
    try {
      return await fn();
    } catch (error) {
      failure = { error, retried };
      throw error;
    } finally {
      await this.#end(handles, placement, failure);
    }
  }

  /** Nothing of the stage has run while its components are placed, so placing may be repeated whatever the stage. */
  async #placeWithRetries(
    name: string,
    handles: ModelHandle[],
    memory: number,
    how: HowItRuns,
  ): Promise<Placement> {
    const attempts = this.#options.policy.oomRetry ? maxAttempts : 1;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#place(name, handles, memory, how);
      } catch (error) {
        if (!isOutOfDeviceMemory(error)) throw error;
        if (attempt >= attempts) throw this.#outOfMemory(name, handles, memory, attempts, error);
      }
      await this.#afterOom(handles, name);
      this.#noteRetry(name, handles, attempt + 1, attempts);
    }
  }

  async #place(name: string, handles: ModelHandle[], memory: number, how: HowItRuns): Promise<Placement> {
    this.throwIfCancelled();
    const { passes, goesOn } = how;
    const { manager, owner, policy, priority } = this.#options;
    this.#used.begin(handles);
    this.#report({ stage: name, state: 'loading' });
    const next = this.#announcedAfter(name);
    const options: LoadOptions = {
      name,
      owner,
      policy,
      signal: this.signal,
      ...(passes === undefined ? {} : { passes }),
      ...(goesOn === undefined ? {} : { goesOn }),
      ...(next === undefined ? {} : { next }),
      ...(priority === undefined ? {} : { priority }),
      onProgress: () => this.#report({}),
    };
    const placement = await manager.load(handles, memory, options);
    for (const plan of placement.plans) {
      if (plan.overBudgetBytes > 0 && !this.#tight.has(name)) this.warn(saidOf(plan.reasons[0]!));
      if (plan.overBudgetBytes > 0) this.#tight.add(name);
    }
    this.#used.placed(handles);
    return placement;
  }

  #announcedAfter(name: string): AnnouncedStage | undefined {
    const index = this.#announced.findLastIndex((stage) => stage.name === name);
    return index < 0 ? undefined : this.#announced[index + 1];
  }

  /**
   * What its body threw. A body that ran out of memory is not repeated, since audio may be out already; but its components
   * get less of the device from now on, so that the next request does not fail in the same way.
   */
  async #explain(
    name: string,
    handles: readonly ModelHandle[],
    memory: number,
    error: unknown,
  ): Promise<unknown> {
    if (!isOutOfDeviceMemory(error)) return error;
    const explained = this.#outOfMemory(name, handles, memory, 1, error);
    await this.#afterOom(handles, name);
    return explained;
  }

  #afterOom(handles: readonly ModelHandle[], name: string): Promise<void> {
    const { manager, policy } = this.#options;
    return manager.afterOom(handles, name, policy);
  }

  async #end(handles: ModelHandle[], placement: Placement, failure: StageFailure | null): Promise<void> {
    await placement.settle();
    this.#used.placed(handles);
    this.#used.notePeak();
    placement.release(failure);
  }

  #noteRetry(name: string, handles: readonly ModelHandle[], attempt: number, attempts: number): void {
    const cap = handles.reduce((bytes, handle) => bytes + (handle.capBytes ?? handle.sizeBytes), 0);
    const device = this.#options.book.id;
    const why = reason('retry', { name, device, attempt, attempts, cap: mib(cap) });
    this.applied.oom_retries =
      (typeof this.applied.oom_retries === 'number' ? this.applied.oom_retries : 0) + 1;
    this.warn(saidOf(why));
    this.#options.manager.trace.add({ kind: 'retry', device, subject: name, bytes: cap, why });
  }

  #noteFallback(name: string, what: string, attempts: number): void {
    const why = reason('fallback', { name, what, attempts });
    const known = Array.isArray(this.applied.fallbacks) ? this.applied.fallbacks : [];
    this.applied.fallbacks = [...known, what];
    this.warn(saidOf(why));
    const device = this.#options.book.id;
    this.#options.manager.trace.add({ kind: 'fallback', device, subject: name, bytes: 0, why });
  }

  #outOfMemory(
    name: string,
    handles: readonly ModelHandle[],
    memory: number,
    attempts: number,
    cause: unknown,
    fallback?: string,
  ): StudioError {
    const { manager, book, policy } = this.#options;
    return outOfMemoryError({ manager, book, policy, name, handles, memory, attempts, cause, fallback });
  }

  #report(change: { [K in keyof StageProgress]?: StageProgress[K] | undefined }): void {
    const next = { ...this.#progress };
    if (change.stage !== undefined) next.stage = change.stage;
    if (change.state !== undefined) next.state = change.state;
    next.fraction = Math.max(next.fraction, change.fraction ?? 0);
    next.chunksDone = change.chunksDone ?? next.chunksDone;
    next.chunksTotal = change.chunksTotal ?? next.chunksTotal;
    this.#progress = next;
    this.#options.onProgress?.(next);
  }
}
