import type { Addon } from '../../../native/addon.ts';
import type { Settings } from '../../contract/settings.ts';
import type { MemoryReport } from '../../contract/speech.ts';
import type { DeviceBook } from '../../memory/device-book.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import { RuntimeService } from '../runtime-service.ts';
import type { StageContext } from '../types.ts';
import { WatchedStages } from './watched-stages.ts';

/** One request of one engine, to be spoken in many ways. */
export interface VerifySubject {
  readonly engine: string;
  /** Loads the model on this device. */
  open(runtime: RuntimeService, book: DeviceBook, signal: AbortSignal): Promise<OpenSubject>;
}

export interface OpenSubject {
  readonly handles: readonly ModelHandle[];
  /** Working memory of the request, bytes. */
  readonly workingBytes: number;
  speak(context: StageContext): AsyncIterable<{ samples: Float32Array }>;
  release(): void;
}

/** What speaking once came to. */
export interface Spoken {
  samples: Float32Array;
  seconds: number;
  retries: number;
  memory: MemoryReport;
  device: string;
  /** Bytes of all components, and of the request's working memory. */
  sizeBytes: number;
  workingBytes: number;
  /** In running order; where something was planned, with the bytes of its components and its working memory. */
  stages: { name: string; wholeBytes: number | null }[];
}

export interface SpeakOnceOptions {
  addon: Addon;
  settings: Settings;
  signal: AbortSignal;
  /** Stage in which memory is made to run out. */
  failing: string | null;
}

/** Speaks on a runtime of its own: nothing that was loaded, learned or capped before has a say. */
export async function speakOnce(subject: VerifySubject, options: SpeakOnceOptions): Promise<Spoken> {
  const { addon, settings, signal, failing } = options;
  const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
  try {
    signal.throwIfAborted();
    const book = await runtime.deviceFor();
    const opened = await subject.open(runtime, book, signal);
    try {
      return await speakOpened(opened, runtime, book, { settings, signal, failing });
    } finally {
      opened.release();
    }
  } finally {
    await runtime.close();
  }
}

async function speakOpened(
  opened: OpenSubject,
  runtime: RuntimeService,
  book: DeviceBook,
  { settings, signal, failing }: Omit<SpeakOnceOptions, 'addon'>,
): Promise<Spoken> {
  let stages: WatchedStages | null = null;
  const request = runtime.startRequest({
    id: 'verify',
    book,
    settings,
    signal,
    onProgress: (progress) => stages?.noteProgress(progress),
  });
  stages = new WatchedStages(request, failing);
  const start = performance.now();
  const pieces: Float32Array[] = [];
  for await (const { samples } of opened.speak(stages)) pieces.push(samples.slice());
  const seconds = (performance.now() - start) / 1000;
  const replans = runtime.events().filter(({ kind }) => kind === 'out_of_memory').length;
  const repeated = request.applied.oom_retries;
  return {
    samples: joined(pieces),
    seconds,
    retries: replans + (typeof repeated === 'number' ? repeated : 0),
    memory: request.report(),
    device: book.id,
    sizeBytes: opened.handles.reduce((bytes, handle) => bytes + handle.sizeBytes, 0),
    workingBytes: opened.workingBytes,
    stages: [...stages.names].map((name) => ({ name, wholeBytes: wholeBytes(name, opened, runtime) })),
  };
}

/** Device memory of a stage with all its components whole, by its last plan. */
function wholeBytes(name: string, { handles }: OpenSubject, { manager }: RuntimeService): number | null {
  const models = [...new Set(handles.map(({ model }) => model))];
  const request = models.flatMap((model) => manager.lastStages(model)).find((stage) => stage.name === name);
  if (request === undefined) return null;
  const weights = request.components.reduce((bytes, id) => bytes + manager.handle(id).sizeBytes, 0);
  return weights + request.workingBytes;
}

function joined(pieces: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}
