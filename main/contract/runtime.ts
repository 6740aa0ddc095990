import { z } from 'zod';
import { speakerSchema, speechModelSchema, translatedSchema } from './models.ts';
import { saidSchema } from './said.ts';
import { jobSchema, partialSchema } from './speech.ts';

const bytes = z.number().int().nonnegative();

export const deviceSnapshotSchema = z.object({
  /** ggml's name; a simulated device is `Simulated0`. */
  id: z.string(),
  description: z.string(),
  kind: z.enum(['cpu', 'gpu', 'igpu', 'accel']),
  simulated: z.boolean(),
  /** Shares the processor's memory. */
  unified: z.boolean(),
  /** Whether the host uses it, and why (not): in English, and as what every language can say. */
  used: z.boolean(),
  why: z.string(),
  reason: saidSchema,
  total_bytes: bytes,
  free_bytes: bytes,
  /** What this process holds, by purpose. */
  held: z.object({ weights: bytes, slots: bytes, compute: bytes, io: bytes, state: bytes }),
  /** Other programs: total - free - held. */
  others_bytes: bytes,
  reserve_bytes: bytes,
});
export type DeviceSnapshot = z.infer<typeof deviceSnapshotSchema>;

export const componentSnapshotSchema = z.object({
  name: z.string(),
  kind: z.enum(['sequence', 'oneshot']),
  size_bytes: bytes,
  fixed_bytes: bytes,
  loaded_bytes: bytes,
  /** Streamed since the model was loaded. */
  streamed_bytes: bytes,
  /** Owned in host memory: copies, beside the page cache of the checkpoint. */
  host_bytes: bytes,
  /** Of `loaded_bytes`: read where they lie in the checkpoint, not copied (`compute.vram_mode` shared). */
  mapped_bytes: bytes,
  units: z.number().int(),
  units_resident: z.number().int(),
  partial: partialSchema.nullable(),
});
export type ComponentSnapshot = z.infer<typeof componentSnapshotSchema>;

export const modelSnapshotSchema = z.object({
  /** `engine` or `engine:variant`; the id that load, unload and pin take. */
  id: z.string(),
  engine: z.string(),
  name: z.string(),
  device: z.string(),
  state: z.enum(['loading', 'in_use', 'idle', 'unloading', 'failed']),
  /** 0..1 while loading. */
  load_fraction: z.number().min(0).max(1),
  /** Milliseconds since the epoch. */
  last_used_at: z.number(),
  pinned: z.boolean(),
  size_bytes: bytes,
  loaded_bytes: bytes,
  streamed_bytes: bytes,
  host_bytes: bytes,
  mapped_bytes: bytes,
  components: z.array(componentSnapshotSchema),
  calibration: z.object({
    state: z.enum(['not_needed', 'none', 'calibrated', 'stale']),
    runs: z.number().int(),
    /** Largest measured / estimated working memory. */
    ratio: z.number(),
  }),
});
export type ModelSnapshot = z.infer<typeof modelSnapshotSchema>;

/** Something that happened to a device, to the engine or to the studio's files, and what was done about it. */
export const incidentSchema = z.object({
  /** Milliseconds since the epoch. */
  at: z.number(),
  said: saidSchema,
});
export type Incident = z.infer<typeof incidentSchema>;

export const runtimeSnapshotSchema = z.object({
  /** Grows with every change, so that a late message is recognised. */
  version: z.number().int(),
  at: z.number(),
  devices: z.array(deviceSnapshotSchema),
  host: z.object({
    total_bytes: bytes,
    available_bytes: bytes,
    /** Of the process that answers and of its engine process; pages of the window are not counted. */
    process_bytes: bytes,
    pinned_bytes: bytes,
    pin_budget_bytes: bytes,
    reserve_bytes: bytes,
  }),
  models: z.array(modelSnapshotSchema),
  jobs: z.array(jobSchema),
  /** The memory policy in force on the device that is used, by setting key. */
  policy: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  /** Where the policy in force is not what is set, and why. */
  policy_notes: z.array(saidSchema),
  /** The latest first; empty where nothing went wrong since the studio was started. */
  incidents: z.array(incidentSchema),
});
export type RuntimeSnapshot = z.infer<typeof runtimeSnapshotSchema>;

/** The answer of `GET /api/v1/runtime`: the snapshot, and what made it. */
export const runtimeReportSchema = runtimeSnapshotSchema.extend({
  versions: z.object({ mizuoto: z.string(), ggml: z.string() }),
});
export type RuntimeReport = z.infer<typeof runtimeReportSchema>;

/** Parameters that stand in the speak request itself; every other one stands in its `parameters`. */
export const requestParameters = ['speed', 'pitch', 'seed', 'voice'] as const;

export const parameterSchema = z.object({
  key: z.string(),
  /** One sentence for the parameters that only this engine has. */
  description: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  step: z.number().optional(),
  /** Whole numbers only. */
  integer: z.boolean().optional(),
  /** The texts that it takes. */
  choices: z.array(z.string()).optional(),
  /** Its kind (number, boolean, text) is the kind of every value. */
  default: z.union([z.number(), z.boolean(), z.string(), z.null()]),
});
export type EngineParameter = z.infer<typeof parameterSchema>;

export const engineInfoSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  licence: z.string(),
  licence_in: translatedSchema.optional(),
  sample_rate: z.number().int(),
  /** BCP 47 tags of what its models can speak. */
  languages: z.array(z.string()),
  /** Speakers of all its models. */
  voices: z.array(speakerSchema),
  /** Models that can speak now, the default first; an engine without one is not listed. */
  models: z.array(speechModelSchema),
  parameters: z.array(parameterSchema),
  size_bytes: bytes,
  built_in: z.boolean(),
});
export type EngineInfo = z.infer<typeof engineInfoSchema>;
