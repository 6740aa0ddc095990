import type { Arena, CancelToken, Device } from '../../../native/addon.ts';
import { nativeError } from '../../../native/load.ts';
import type { Said } from '../../contract/said.ts';
import type { MemoryReport } from '../../contract/speech.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import type { StageBody } from '../lazy-stage.ts';
import type {
  AnnouncedStage,
  Replayable,
  RequestOutlook,
  RunStageOptions,
  StageContext,
  StageProgress,
  UseStageOptions,
} from '../types.ts';

/**
 * The stages of a request, watched: which there are, and, if asked, memory that runs out in one of them. Where the stage
 * may be repeated it happens twice: first the device refuses the stage's first allocation, then everything is refused
 * at the stage's end, when all its random numbers are drawn. Elsewhere the device refuses an allocation while the
 * stage's components are placed.
 */
export class WatchedStages implements StageContext {
  /** In the order in which they first ran. */
  readonly names = new Set<string>();
  #state: 'waiting' | 'armed' | 'refusing' | 'done' = 'waiting';

  constructor(
    private readonly inner: StageContext,
    /** Stage in which memory runs out; null: in none. */
    private readonly failing: string | null,
  ) {}

  get device(): Device {
    return this.inner.device;
  }
  get arena(): Arena {
    return this.inner.arena;
  }
  get signal(): CancelToken {
    return this.inner.signal;
  }
  get rng(): Replayable | null {
    return this.inner.rng;
  }
  get kvCache(): 'dynamic' | 'static' {
    return this.inner.kvCache;
  }
  get applied(): Record<string, unknown> {
    return this.inner.applied;
  }
  get warnings(): Said[] {
    return this.inner.warnings;
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
    this.names.add(name);
    if (name === this.failing && this.#state === 'waiting') this.#state = 'armed';
    const stage = this.inner.use(handles, memory, body as () => AsyncIterable<T>, { ...options, name });
    return stage as AsyncIterable<T> & Promise<T>;
  }

  run<T>(
    name: string,
    handles: ModelHandle[],
    fn: () => T | Promise<T>,
    memory: number,
    options?: RunStageOptions<T>,
  ): Promise<T> {
    this.names.add(name);
    if (name !== this.failing || this.#state !== 'waiting') {
      return this.inner.run(name, handles, fn, memory, options);
    }
    this.#state = 'done';
    let attempt = 0;
    const refused = async (): Promise<T> => {
      attempt++;
      if (attempt > 2) return fn();
      if (attempt === 1) this.device.setFaults({ failAllocation: 1 });
      try {
        disposeOf(await fn());
      } finally {
        if (attempt === 1) this.device.setFaults(null);
      }
      throw nativeError('OutOfDeviceMemory', `Memory is made to run out at the end of "${name}".`);
    };
    return this.inner.run(name, handles, refused, memory, options);
  }

  /** To be told of the request's progress: placing begins and ends there. */
  noteProgress({ stage, state }: StageProgress): void {
    if (stage !== this.failing) return;
    if (this.#state === 'armed' && state === 'loading') {
      this.#state = 'refusing';
      this.device.setFaults({ failAllocation: 1 });
    } else if (this.#state === 'refusing' && state === 'running') {
      this.#state = 'done';
      this.device.setFaults(null);
    }
  }

  announce(stages: AnnouncedStage[]): RequestOutlook {
    return this.inner.announce(stages);
  }

  progress(fraction: number, detail?: { chunksDone?: number; chunksTotal?: number; stage?: string }): void {
    this.inner.progress(fraction, detail);
  }

  warn(said: Said): void {
    this.inner.warn(said);
  }

  throwIfCancelled(): void {
    this.inner.throwIfCancelled();
  }

  report(): MemoryReport {
    return this.inner.report();
  }
}

/** What a repeated stage made must not stay on the device. */
function disposeOf(value: unknown): void {
  if (typeof value !== 'object' || value === null || !('dispose' in value)) return;
  if (typeof value.dispose === 'function') value.dispose();
}
