import type { DeviceBook, DeviceCache } from '../memory/device-book.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import type { DeviceService } from './device-service.ts';

/** How a model comes to be: an engine offers one for each of its models. */
export interface ModelSource<T> {
  /** `engine` or `engine:variant`. */
  id: string;
  engine: string;
  name: string;
  /** Changes when one of its files does: what was loaded from other files is left and loaded anew. */
  version?: string;
  /** Reads the weights to host memory; nothing goes to the device before a stage asks. */
  load(context: ModelLoadContext): Promise<LoadedParts<T>>;
}

export interface ModelLoadContext {
  /** The device that the model runs on. */
  book: DeviceBook;
  /** For components that never leave the processor. */
  devices: Pick<DeviceService, 'pinToCpu'>;
  signal: AbortSignal | undefined;
  /** 0..1 */
  progress(fraction: number): void;
}

export interface LoadedParts<T> {
  value: T;
  handles: ModelHandle[];
  /** Compiled graphs that are kept: they count as free while no stage runs, and go before a stage goes without. */
  caches?: DeviceCache[];
  /** Rejects where the weights turn out to be damaged once it is loaded: it goes as soon as nobody uses it. */
  sound?: Promise<void>;
  /** Graphs, caches and states of the engine; the handles are freed by the runtime. */
  unload?(): void | Promise<void>;
}

/** A loaded model that cannot be unloaded until `release`. */
export interface Lease<T> {
  readonly value: T;
  readonly handles: readonly ModelHandle[];
  release(): void;
}

export interface LoadedModel {
  readonly id: string;
  readonly engine: string;
  readonly name: string;
  readonly book: DeviceBook;
  readonly handles: readonly ModelHandle[];
  readonly state: 'loading' | 'in_use' | 'idle' | 'unloading';
  readonly loadFraction: number;
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number;
}
