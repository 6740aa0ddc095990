import type {
  CallRequest,
  CallResponse,
  EngineInfo,
  ErrorBody,
  MemoryReport,
  RuntimeSnapshot,
  Said,
  SelfTest,
  Settings,
  VerifyRun,
} from '../contract/index.ts';
import type { SpeakTask } from '../engines/engine.ts';
import type { InstalledModel } from '../models/types.ts';

/** One request with nothing left to decide: model, voice and seed are chosen, settings merged and checked. */
export interface SpeechTask extends SpeakTask {
  engine: string;
  /** Samples per second of what the model speaks. */
  sampleRate: number;
  settings: Settings;
  /** What was noticed before it was queued. */
  warnings: Said[];
}

export interface SpokenChunk {
  /** Mono, -1..1, at the engine's sample rate. */
  samples: Float32Array;
  text: string;
}

export interface SpeechProgress {
  state: 'loading' | 'running';
  /** The stage in the engine's words; null between stages. */
  stage: string | null;
  /** 0..1 over the whole request. */
  fraction: number;
  chunksDone: number;
  chunksTotal: number;
}

export interface SpeechContext {
  readonly signal: AbortSignal;
  progress(progress: SpeechProgress): void;
}

export interface SpeechOutcome {
  /** Parameters in force, retries and fallbacks included. */
  applied: Record<string, unknown>;
  memory: MemoryReport;
  warnings: Said[];
}

/** A verification with nothing left to decide. */
export interface VerifyTask {
  engines: string[];
  settings: Settings;
  /** Keys of `settings` that this verification asked for. */
  asked: string[];
  text: string | undefined;
}

/** What came of loading an engine that is installed; null where it did. */
export interface EngineTrial {
  engine: string;
  name: string;
  bytes: number;
  seconds: number;
  error: ErrorBody | null;
}

/** Jobs of one queue share a device: at most `slots` of them run at once. */
export interface DeviceQueue {
  id: string;
  slots: number;
}

/** At once where it is computed here, later where another process is asked. */
export type Awaitable<T> = T | Promise<T>;

/** Everything of a snapshot that is not the host's own. */
export type RuntimeView = Omit<RuntimeSnapshot, 'version' | 'at' | 'jobs'>;

/**
 * What the host needs of engines and memory. The host knows jobs, messages and files; everything that computes stands
 * behind this seam.
 */
export interface SpeechBackend {
  readonly ggmlVersion: string;
  /** Engines with the models that can speak now. */
  engines(): EngineInfo[];
  /** Called with the models whose files are on this computer, before any other call and whenever they change. */
  setModels(models: readonly InstalledModel[]): void;
  queueFor(engine: string, settings: Settings): DeviceQueue;
  /** Ends early, by an error with code `cancelled` or by itself, once the signal is aborted. */
  speak(task: SpeechTask, context: SpeechContext): AsyncGenerator<SpokenChunk, SpeechOutcome, void>;
  /** Rejects with `cancelled` when the backend closes on the way. */
  verify(task: VerifyTask, onRun: (run: VerifyRun) => void): Promise<VerifyRun[]>;
  /** Loads every built-in engine on the processor. */
  tryEngines(): Promise<EngineTrial[]>;
  /** Known answers on every device. */
  selfTest(): Promise<SelfTest[]>;
  view(): Awaitable<RuntimeView>;
  whatIf(request: CallRequest<'runtime.what_if'>): Awaitable<CallResponse<'runtime.what_if'>>;
  whatIfCurve(request: CallRequest<'runtime.what_if_curve'>): Promise<CallResponse<'runtime.what_if_curve'>>;
  timeline(request: CallRequest<'runtime.timeline'>): Awaitable<CallResponse<'runtime.timeline'>>;
  /** Plain data: it is written as JSON. */
  trace(): Awaitable<CallResponse<'runtime.trace'>>;
  /** Called whenever `view()` would differ. */
  onChange(listener: () => void): void;
  load(model: string): Promise<void>;
  /** Bytes that the devices really got back. */
  unload(model: string): Promise<number>;
  pin(model: string, pinned: boolean): Promise<void>;
  configure(settings: Settings): Promise<void>;
  close(): Promise<void>;
}
