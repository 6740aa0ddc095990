import type { DeviceInfo } from '../../../native/addon.ts';
import type { ErrorBody, Said, Settings, VerifyRun } from '../../contract/index.ts';
import type { InstalledModel } from '../../models/types.ts';
import type { SpeechBackend, SpeechOutcome, SpeechProgress, SpeechTask, SpokenChunk } from '../backend.ts';
import type { ProcessEnd, Program } from '../isolated/own-process.ts';

/** What an engine process is opened with. */
export interface EngineOptions {
  cacheFolder: string;
  testEngines: boolean;
  settings: Settings;
  models: readonly InstalledModel[];
  /** Devices that `compute.device` auto passes over, because they were lost again and again. */
  passOver: readonly string[];
}

/** What an engine process offers: a backend, and what else its supervisor needs. */
export interface EngineSide extends SpeechBackend {
  /** Devices of this machine. */
  devices(): DeviceInfo[];
  /** From now on `compute.device` auto passes over these. */
  passOver(devices: readonly string[]): void;
}

/** Calls that are one question and one answer; `speak` and `onChange` have messages of their own. */
export type EngineCall = Exclude<
  {
    [K in keyof EngineSide]: EngineSide[K] extends (...args: never[]) => unknown ? K : never;
  }[keyof EngineSide],
  'speak' | 'onChange' | 'engines' | 'queueFor' | 'devices' | 'close'
>;

/** One value of a request: as an iterator's. */
export type SpokenStep = IteratorResult<SpokenChunk, SpeechOutcome>;

/** Messages to an engine process. Everything in them survives structured cloning. */
export type ToEngine =
  | { type: 'open'; options: EngineOptions }
  | { type: 'call'; id: number; name: EngineCall; args: unknown[] }
  | { type: 'speak'; id: number; task: SpeechTask }
  | { type: 'next'; id: number }
  /** `cancel`: its signal is aborted. `leave`: nobody wants its remaining values. */
  | { type: 'stop'; id: number; how: 'cancel' | 'leave' }
  /** What a process that was asked for says, and its end. */
  | { type: 'child-said'; id: number; message: unknown }
  | { type: 'child-ended'; id: number; end: ProcessEnd }
  | { type: 'close' };

export type FromEngine =
  /** Before it loads anything that may crash. */
  | { type: 'up' }
  | { type: 'opened'; ggmlVersion: string; devices: DeviceInfo[] }
  | { type: 'not-opened'; error: ErrorBody }
  | { type: 'reply'; id: number; ok: true; value: unknown }
  | { type: 'reply'; id: number; ok: false; error: ErrorBody }
  | { type: 'step'; id: number; step: SpokenStep }
  | { type: 'failed'; id: number; error: ErrorBody }
  | { type: 'progress'; id: number; progress: SpeechProgress }
  | { type: 'run'; id: number; run: VerifyRun }
  | { type: 'changed' }
  | { type: 'log'; level: 'info' | 'warning' | 'error'; message: string; said?: Said }
  /** Only the shell's main thread can start processes: this one asks for one, speaks to it, ends it. */
  | { type: 'child-start'; id: number; program: Program }
  | { type: 'child-send'; id: number; message: unknown }
  | { type: 'child-kill'; id: number };
