import { z } from 'zod';
import { errorSchema } from './errors.ts';
import { saidSchema } from './said.ts';
import { settingsPatchSchema } from './settings.ts';
import { audioBytesSchema, maxTranscriptLength } from './voices.ts';

/** Longest text of one request, in UTF-16 units: far above any use, and a bound on what one message may carry. */
export const maxTextLength = 2_000_000;

/** Longest instruction that a request carries; models have lower limits of their own. */
const maxInstructLength = 10_000;

export const parameterValueSchema = z.union([z.number(), z.boolean(), z.string().max(1000)]);
export type ParameterValue = z.infer<typeof parameterValueSchema>;

export const speakRequestSchema = z.strictObject({
  text: z.string().max(maxTextLength),
  /** Default: the engine of `model`, else the first that can do what is asked; the built-in one comes first. */
  engine: z.string().optional(),
  /** Id of an installed model, such as `qwen3-tts:0.6b-custom-voice`. Default: the engine's first that can do it. */
  model: z.string().optional(),
  /** A speaker of the model, or a saved voice by id or name (`saved:NAME` where both have the name). */
  voice: z.string().optional(),
  /** `auto`, a BCP 47 tag or the English name of a language. Default: as the voice or the model decides. */
  language: z.string().max(100).optional(),
  /** How to speak, or for voice design who speaks, in words. */
  instruct: z.string().max(maxInstructLength).optional(),
  /** Audio whose voice is cloned, for this request alone. */
  reference: z
    .strictObject({
      audio: audioBytesSchema,
      /** What is said in it, word by word. */
      text: z.string().max(maxTranscriptLength).optional(),
    })
    .optional(),
  /** The engine's own parameters, such as `temperature`; the keys are those of `EngineInfo.parameters`. */
  parameters: z.record(z.string(), parameterValueSchema).default({}),
  /** Random when absent; the one used is in the result. */
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional(),
  /** Speaking rate; 1 = as the voice speaks. */
  speed: z.number().positive().default(1),
  /** Pitch factor; 1 = as the voice speaks. */
  pitch: z.number().positive().default(1),
  /** Settings for this request alone. */
  settings: settingsPatchSchema.default({}),
  /** Who asks: shown as a badge in the queue. */
  source: z.enum(['app', 'cli', 'http', 'test']).default('app'),
});
export type SpeakRequest = z.output<typeof speakRequestSchema>;
export type SpeakRequestInput = z.input<typeof speakRequestSchema>;

export const partialReasonSchema = z.enum([
  'budget',
  'vram_mode low',
  'vram_mode none',
  'capped after out of memory',
  'gave up for another component',
]);

/** Why a component is only partly on the device, and what was weighed (MiB). */
export const partialSchema = z.object({
  reason: partialReasonSchema,
  mode: z.string(),
  free_mb: z.number(),
  working_mb: z.number(),
  reserve_mb: z.number(),
  loaded_mb: z.number(),
  size_mb: z.number(),
  gave_up_for: z.string().nullable(),
});
export type Partial = z.infer<typeof partialSchema>;

export const memoryReportSchema = z.object({
  device: z.string(),
  streamed_mb: z.number(),
  loaded_mb: z.number(),
  /** Of `loaded_mb`: weights read where they lie in the checkpoint, not copied (`compute.vram_mode` shared). */
  mapped_mb: z.number(),
  size_mb: z.number(),
  peak_mb: z.number(),
  /** Partly loaded components by name. */
  partial: z.record(z.string(), partialSchema),
});
export type MemoryReport = z.infer<typeof memoryReportSchema>;

/** What a finished request says of itself; the command line's `--json` prints it with `file`. */
export const speakResultSchema = z.object({
  seconds: z.number(),
  sample_rate: z.number().int(),
  seed: z.number().int(),
  /** Compute seconds / audio seconds. */
  rtf: z.number(),
  engine: z.string(),
  model: z.string(),
  /** Id of the speaker or of the saved voice; empty for a reference of this request alone and for a designed voice. */
  voice: z.string(),
  /** Parameters that were in force, defaults and retries included. */
  applied: z.record(z.string(), z.unknown()),
  meta: z.object({
    memory: memoryReportSchema,
    compute_seconds: z.number(),
    first_audio_seconds: z.number(),
    chunks: z.number().int(),
  }),
  warnings: z.array(saidSchema),
});
export type SpeakResult = z.infer<typeof speakResultSchema>;

export const jobProgressSchema = z.object({
  job_id: z.string(),
  state: z.enum(['waiting', 'loading', 'running', 'stopping']),
  /** The stage in words of the engine: `acoustic`, `vocoder`, `talker`... */
  stage: z.string().nullable(),
  /** 0..1 over the whole request. */
  fraction: z.number().min(0).max(1),
  chunks_done: z.number().int(),
  chunks_total: z.number().int(),
  elapsed_seconds: z.number(),
  remaining_seconds: z.number().nullable(),
});
export type JobProgress = z.infer<typeof jobProgressSchema>;

/** One piece of audio, as soon as it exists. Pieces follow each other without gap or overlap. */
export const audioChunkSchema = z.object({
  job_id: z.string(),
  index: z.number().int(),
  sample_rate: z.number().int(),
  /** First sample of this chunk in the whole result. */
  start: z.number().int(),
  /** Mono, -1..1. */
  samples: z.instanceof(Float32Array),
  /** The text that this chunk speaks. */
  text: z.string(),
});
export type AudioChunkEvent = z.infer<typeof audioChunkSchema>;

export const jobSchema = z.object({
  job_id: z.string(),
  engine: z.string(),
  model: z.string(),
  voice: z.string().nullable(),
  text_preview: z.string(),
  source: z.enum(['app', 'cli', 'http', 'test']),
  state: z.enum(['waiting', 'loading', 'running', 'stopping', 'finished', 'failed', 'cancelled']),
  created_at: z.number(),
  progress: jobProgressSchema.nullable(),
  result: speakResultSchema.nullable(),
  error: errorSchema.nullable(),
});
export type Job = z.infer<typeof jobSchema>;
