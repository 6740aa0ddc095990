import { z } from 'zod';
import { saidSchema } from './said.ts';
import { settingSchemas } from './settings.ts';
import { partialReasonSchema } from './speech.ts';

const bytes = z.number().int().nonnegative();

/** "This limit, this mode, these models pinned", for one device; what is left out stays as it is set. */
const policyChange = {
  device: z.string(),
  /** Default: every model on the device. */
  models: z.array(z.string()).max(64).optional(),
  mode: settingSchemas['compute.vram_mode'].unwrap().optional(),
  pinned: z.array(z.string()).max(64).optional(),
};

export const whatIfRequestSchema = z.strictObject({
  ...policyChange,
  /** MiB; null: no limit. */
  limit_mb: z.number().positive().nullable().optional(),
});

export const whatIfCurveRequestSchema = z.strictObject({
  ...policyChange,
  /** Limits to ask about, evenly from the first to the whole device. */
  steps: z.number().int().min(2).max(200).default(48),
});

export type WhatIfRequest = z.output<typeof whatIfRequestSchema>;
export type WhatIfCurveRequest = z.output<typeof whatIfCurveRequestSchema>;

/** One component in the stage in which most of it streams. */
export const whatIfComponentSchema = z.object({
  /** `model:component`. */
  id: z.string(),
  size_bytes: bytes,
  resident_bytes: bytes,
  streamed_bytes: bytes,
  units: z.number().int(),
  units_resident: z.number().int(),
  partial: partialReasonSchema.nullable(),
});

export const whatIfModelSchema = z.object({
  model: z.string(),
  /** Most weights that lie on the device in one stage. */
  resident_bytes: bytes,
  /** What streams in one pass through every stage. */
  streamed_bytes: bytes,
  /** Weights, copies in flight and working memory of the largest stage. */
  peak_bytes: bytes,
  /** Missing at the smallest working set; 0 where it fits. */
  over_budget_bytes: bytes,
  /** Predicted compute time of the last request under this policy, and with everything resident; null until measured. */
  seconds: z.number().nullable(),
  resident_seconds: z.number().nullable(),
  components: z.array(whatIfComponentSchema),
  /** What the first request takes from other components. */
  gives_up: z.array(z.object({ id: z.string(), bytes })),
  reasons: z.array(saidSchema),
  /** The last stage on this device: what was predicted, and what it took; null before the first. */
  last_prediction: z.object({ predicted_seconds: z.number(), measured_seconds: z.number() }).nullable(),
});
export type WhatIfModel = z.infer<typeof whatIfModelSchema>;

export const whatIfResponseSchema = z.object({
  device: z.string(),
  total_bytes: bytes,
  models: z.array(whatIfModelSchema),
  /** Loaded here, but not asked for anything yet: nothing is known of their stages. */
  unknown: z.array(z.string()),
});
export type WhatIfResponse = z.infer<typeof whatIfResponseSchema>;

export const whatIfCurveSchema = z.object({
  device: z.string(),
  total_bytes: bytes,
  curves: z.array(
    z.object({
      model: z.string(),
      /** Least limit at which it fits, and at which nothing streams; null where the whole device is too small. */
      smallest_bytes: bytes.nullable(),
      whole_bytes: bytes.nullable(),
      points: z.array(
        z.object({
          limit_bytes: bytes,
          resident_bytes: bytes,
          streamed_bytes: bytes,
          seconds: z.number().nullable(),
          fits: z.boolean(),
        }),
      ),
    }),
  ),
});
export type WhatIfCurve = z.infer<typeof whatIfCurveSchema>;
