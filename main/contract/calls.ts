import { z } from 'zod';
import { doctorReportSchema } from './doctor.ts';
import { errorSchema } from './errors.ts';
import { foundModelSchema, modelCheckProgressSchema, modelCheckSchema, modelEntrySchema } from './models.ts';
import { engineInfoSchema, runtimeSnapshotSchema } from './runtime.ts';
import { saidSchema } from './said.ts';
import { settingsPatchSchema, settingsSchema } from './settings.ts';
import {
  audioChunkSchema,
  jobProgressSchema,
  jobSchema,
  speakRequestSchema,
  speakResultSchema,
} from './speech.ts';
import { timelineRequestSchema, timelineSchema, traceSchema } from './timeline.ts';
import { verifyReportSchema, verifyRequestSchema, verifyRunSchema } from './verify.ts';
import { savedVoiceSchema, voiceAddSchema, voiceUpdateSchema } from './voices.ts';
import {
  whatIfCurveRequestSchema,
  whatIfCurveSchema,
  whatIfRequestSchema,
  whatIfResponseSchema,
} from './what-if.ts';

const empty = z.strictObject({});
const jobId = z.strictObject({ job_id: z.string() });
const modelId = z.strictObject({ model: z.string() });
/** Id or name of a saved voice. */
const voiceId = z.strictObject({ voice: z.string() });

/** Every call that the engine host answers: name -> request and response. */
export const calls = {
  'host.info': {
    request: empty,
    response: z.object({
      version: z.string(),
      ggml: z.string(),
      platform: z.string(),
      pid: z.number().int(),
    }),
  },
  'engines.list': { request: empty, response: z.object({ engines: z.array(engineInfoSchema) }) },
  /** Queues a request and answers at once; audio and outcome arrive as events. */
  speak: { request: speakRequestSchema, response: z.object({ job_id: z.string() }) },
  'jobs.list': { request: empty, response: z.object({ jobs: z.array(jobSchema) }) },
  'jobs.get': { request: jobId, response: jobSchema },
  /** Idempotent: cancelling a finished job changes nothing. */
  'jobs.cancel': { request: jobId, response: z.object({ state: jobSchema.shape.state }) },
  /** The finished (or, after a cancel, the partial) audio as a WAV file. */
  'jobs.wav': {
    request: z.strictObject({
      job_id: z.string(),
      encoding: z.enum(['pcm16', 'pcm24', 'pcm32', 'float32']).default('pcm16'),
    }),
    response: z.object({ wav: z.instanceof(Uint8Array) }),
  },
  /** Writes the audio next to its final name and renames: never a half-written file under `path`. */
  'jobs.export': {
    request: z.strictObject({
      job_id: z.string(),
      path: z.string().min(1),
      encoding: z.enum(['pcm16', 'pcm24', 'pcm32', 'float32']).default('pcm16'),
    }),
    response: z.object({ path: z.string(), bytes: z.number().int() }),
  },
  'runtime.snapshot': { request: empty, response: runtimeSnapshotSchema },
  /** What another policy would come to, by the planner; nothing moves. */
  'runtime.what_if': { request: whatIfRequestSchema, response: whatIfResponseSchema },
  /** The same at limits from little to the whole device. */
  'runtime.what_if_curve': { request: whatIfCurveRequestSchema, response: whatIfCurveSchema },
  /** What happened to memory and what was held meanwhile; ask again after `runtime.changed`. */
  'runtime.timeline': { request: timelineRequestSchema, response: timelineSchema },
  'runtime.trace': { request: empty, response: traceSchema },
  /** Writes the trace as JSON next to its final name and renames. */
  'runtime.export_trace': {
    request: z.strictObject({ path: z.string().min(1) }),
    response: z.object({ path: z.string(), bytes: z.number().int() }),
  },
  'models.load': { request: modelId, response: runtimeSnapshotSchema },
  /** Measured before and after: what the driver really got back. */
  'models.unload': { request: modelId, response: z.object({ freed_bytes: z.number().int() }) },
  'models.pin': {
    request: z.strictObject({ model: z.string(), pinned: z.boolean() }),
    response: runtimeSnapshotSchema,
  },
  /** The catalog and what is installed. */
  'models.list': { request: empty, response: z.object({ models: z.array(modelEntrySchema) }) },
  /** Looks for models in the caches of Hugging Face's and ModelScope's own tools. */
  'models.find': { request: empty, response: z.object({ found: z.array(foundModelSchema) }) },
  /** Adds the model in a folder of this computer, where it lies; `name` makes its id `engine:name`. */
  'models.add': {
    request: z.strictObject({ path: z.string().min(1).max(32_768), name: z.string().max(1000).optional() }),
    response: z.object({ model: modelEntrySchema }),
  },
  /** Unloads and forgets a model; its folder is deleted only where the studio itself made it. */
  'models.remove': {
    request: modelId,
    response: z.object({ model: z.string(), folder: z.string(), deleted_bytes: z.number().int() }),
  },
  /** Reads the files of an installed model and compares them with the known hashes; each step is an event. */
  'models.check': { request: modelId, response: modelCheckSchema },
  'voices.list': { request: empty, response: z.object({ voices: z.array(savedVoiceSchema) }) },
  /** Keeps reference audio under a name, after checking that a voice can be cloned from it. */
  'voices.add': { request: voiceAddSchema, response: z.object({ voice: savedVoiceSchema }) },
  'voices.update': { request: voiceUpdateSchema, response: z.object({ voice: savedVoiceSchema }) },
  /** Deletes the recording and whatever was computed from it. */
  'voices.remove': { request: voiceId, response: z.object({ voice: savedVoiceSchema }) },
  /** The recording as it was given, or decoded where it was compressed. */
  'voices.audio': { request: voiceId, response: z.object({ wav: z.instanceof(Uint8Array) }) },
  /** Runs one request in every way that memory can be managed and compares the samples; each run is an event. */
  'verify.run': { request: verifyRequestSchema, response: verifyReportSchema },
  /** What works here and what does not; computes on every device. */
  'doctor.run': { request: empty, response: doctorReportSchema },
  'settings.get': { request: empty, response: settingsSchema },
  'settings.set': { request: z.strictObject({ patch: settingsPatchSchema }), response: settingsSchema },
} as const;

export type CallName = keyof typeof calls;
export type CallInput<N extends CallName> = z.input<(typeof calls)[N]['request']>;
export type CallRequest<N extends CallName> = z.output<(typeof calls)[N]['request']>;
export type CallResponse<N extends CallName> = z.output<(typeof calls)[N]['response']>;
export const callNames = Object.keys(calls) as CallName[];

/** Every event that the engine host sends. */
export const events = {
  'runtime.changed': runtimeSnapshotSchema,
  'settings.changed': settingsSchema,
  'job.queued': jobSchema,
  'job.progress': jobProgressSchema,
  'job.audio': audioChunkSchema,
  'job.finished': z.object({ job_id: z.string(), result: speakResultSchema }),
  'job.failed': z.object({ job_id: z.string(), error: errorSchema }),
  'job.cancelled': z.object({ job_id: z.string() }),
  /** Something was added, removed or repaired: `models.list` and `engines.list` answer anew. */
  'models.changed': z.object({ models: z.array(modelEntrySchema) }),
  'models.checking': modelCheckProgressSchema,
  'voices.changed': z.object({ voices: z.array(savedVoiceSchema) }),
  'verify.run': verifyRunSchema,
  'log.line': z.object({
    at: z.number(),
    level: z.enum(['info', 'warning', 'error']),
    message: z.string(),
    /** The message for every language, where it is one of the known sentences. */
    said: saidSchema.optional(),
  }),
} as const;

export type EventName = keyof typeof events;
export type EventData<N extends EventName> = z.output<(typeof events)[N]>;
export const eventNames = Object.keys(events) as EventName[];

/** What a client of the host offers, whatever carries it (MessagePort, Electron IPC, HTTP). */
export interface StudioClient {
  call<N extends CallName>(name: N, request: CallInput<N>): Promise<CallResponse<N>>;
  /** Returns the function that unsubscribes. */
  on<N extends EventName>(name: N, listener: (data: EventData<N>) => void): () => void;
}

/** What the shell adds for the renderer beyond the host's calls; the browser stand-in offers the same. */
export interface ShellBridge extends StudioClient {
  /** Where the page runs: decides which affordances are shown. */
  readonly shell: { kind: 'electron' | 'browser'; platform: string; locale: string; version: string };
  /** Ask where to save, then write; null when the person closed the dialog. In a browser: a download. */
  saveAudio(request: { job_id: string; suggested_name: string }): Promise<{ path: string } | null>;
  /** The same for the memory trace, as JSON. */
  saveTrace(request: { suggested_name: string }): Promise<{ path: string } | null>;
  /** https links on the allow-list only. */
  openExternal(url: string): Promise<void>;
}
