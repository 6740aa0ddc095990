import type { Arena, CancelToken, Device } from '../../native/addon.ts';
import type { Said } from '../contract/said.ts';
import type { MemoryReport } from '../contract/speech.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import type { StageProblem } from '../memory/planner/request.ts';

/** A random generator whose state can be put back, so that a repeated stage draws the same numbers. */
export interface Replayable {
  /** A copy of the whole state; opaque to the stage. */
  save(): unknown;
  restore(state: unknown): void;
}

/** An engine's cheaper way (tiled decoding, say), used only after the retries and only if the user allows it. */
export interface Fallback<T> {
  /** Named in `applied.fallbacks` and in a warning: what is different about the result. */
  what: string;
  run: () => T | Promise<T>;
  /** Working memory of the cheaper way, bytes; default: the stage's own. */
  memory?: number;
}

export interface RunStageOptions<T> {
  /** Generators that `fn` draws from, beside the request's own. */
  generators?: Replayable[];
  fallback?: Fallback<T>;
  /** How often each unit runs in this stage (tokens, flow steps); decides what residency is worth. Default 1. */
  passes?: number;
  /**
   * `fn` goes on where an earlier stage of this name stopped (a generator that is drawn from in stretches): caches grow in
   * one of them and not in the others, so that none is reserved less because others took less.
   */
  goesOn?: boolean;
}

export interface UseStageOptions {
  /** Default: the components' names joined. */
  name?: string;
  passes?: number;
}

/** One stage of a request that is known in advance. */
export interface AnnouncedStage {
  name: string;
  handles: ModelHandle[];
  /** Bytes of working memory. */
  memory: number;
  passes?: number;
  /** As in `RunStageOptions`. */
  goesOn?: boolean;
  /** Where the stage could be split: its length (frames, tokens), and the working memory of another length. */
  length?: number;
  memoryAt?: (length: number) => number;
}

/** What a request comes to before its first byte moves. */
export interface RequestOutlook {
  /** Highest device memory of its stages, not their sum; 0 on the processor. */
  peakBytes: number;
  /** Stages whose working memory cannot fit whatever gives up: split them, or insist and risk running out. */
  problems: readonly StageProblem[];
}

export interface StageProgress {
  /** The stage in the engine's words. */
  stage: string | null;
  /** 0..1 over the whole request. */
  fraction: number;
  chunksDone: number;
  chunksTotal: number;
  /** `loading` while components move, `running` while the stage's body runs. */
  state: 'loading' | 'running';
}

/**
 * What a phased engine is given for one request: it wraps each part of the request in a stage, so that only this
 * part's components are on the device and only this part's working memory is reserved.
 */
export interface StageContext {
  /** The device that this request computes on. */
  readonly device: Device;
  /** Scratch memory for compiled graphs; one per device, since its graphs never run at the same time. */
  readonly arena: Arena;
  /** Pass it to `Graph.run`; checked at each segment and each copy. */
  readonly signal: CancelToken;
  /** The request's own generator: put back before a repeated stage. */
  readonly rng: Replayable | null;
  /**
   * Of the settings: `static` is a preallocated cache that doubles. Some kernels add up in another order over it, so the
   * output names it (`applied.kv_cache`).
   */
  readonly kvCache: 'dynamic' | 'static';
  /** Parameters in force; stages add `oom_retries` and `fallbacks`. Engines add theirs. */
  readonly applied: Record<string, unknown>;
  readonly warnings: Said[];

  /**
   * Place the handles (whole or partly), make room for `memory` bytes of working memory and keep them from giving up
   * memory until the body ends. For parts that yield audio or consume a generator. The body is not repeated when memory
   * runs out, so the estimate must cover the highest it can reach. Lazy: nothing happens before the result is awaited or iterated.
   */
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

  /**
   * The same around a function whose only effect is its return value; after `OutOfDeviceMemory` it runs again, with
   * less of its components on the device and its generators put back: same numbers, same result, slower.
   */
  run<T>(
    name: string,
    handles: ModelHandle[],
    fn: () => T | Promise<T>,
    memory: number,
    options?: RunStageOptions<T>,
  ): Promise<T>;

  /**
   * Name all stages before the first. The whole request is planned at once and nothing moves: an engine that can split
   * a stage learns here the longest length that fits. Components named here give up memory after all others.
   */
  announce(stages: AnnouncedStage[]): RequestOutlook;

  /** Fraction of the whole request, 0..1, and chunk counts where the engine knows them. */
  progress(fraction: number, detail?: { chunksDone?: number; chunksTotal?: number; stage?: string }): void;
  /** Once per sentence. A new one needs a code, with its words in each language (main/contract/sentences.*.ts). */
  warn(warning: Said): void;
  /** Throws `cancelled` once the request is cancelled; call it between steps that run no graph. */
  throwIfCancelled(): void;
  /** `meta.memory` of the output so far. */
  report(): MemoryReport;
}
