import type { MessagePort } from 'node:worker_threads';
import type { CallName, ErrorBody, EventName } from '../contract/index.ts';
import type { Program } from './isolated/own-process.ts';

/** Messages between a client and the host's worker thread. Everything in them survives structured cloning. */
export type ToHost = { type: 'call'; id: number; name: CallName; request: unknown } | { type: 'close' };

export type FromHost =
  | { type: 'ready' }
  | { type: 'reply'; id: number; ok: true; response: unknown }
  | { type: 'reply'; id: number; ok: false; error: ErrorBody }
  | { type: 'event'; name: EventName; data: unknown }
  /** Asks the main thread for a process of its own; see isolated/ and engine-process/. */
  | { type: 'process'; program: Program; port: MessagePort }
  | { type: 'closed' };

/** What the worker thread is started with. */
export interface HostOptions {
  /** Folder of settings.json. */
  configFolder: string;
  /** Folder of calibration and of long audio. */
  cacheFolder: string;
  /** False: audio leaves as events only, and `jobs.wav` and `jobs.export` have nothing to answer with. */
  keepAudio: boolean;
  /** Adds the scripted engines of main/host/testing. Never set by the studio itself. */
  testEngines: boolean;
  /** Engines and devices live in a process of their own, which is replaced when a device is lost or a driver crashes. */
  engineProcess?: boolean;
}
