import { z } from 'zod';
import { errorSchema } from './errors.ts';
import { settingsPatchSchema } from './settings.ts';
import { maxTextLength } from './speech.ts';

export const verifyRequestSchema = z.strictObject({
  /** An engine's id, or `all`. */
  engine: z.string().default('all'),
  /** Short: it is spoken many times. Default: a few words of a language that the engine speaks. */
  text: z.string().min(1).max(maxTextLength).optional(),
  /**
   * For all runs. `compute.device` chooses the graphics devices (`CPU`: none); `compute.simulate_vram_mb` adds a run
   * on a device of that size, in the mode and with the limit that are set.
   */
  settings: settingsPatchSchema.default({}),
});
export type VerifyRequest = z.output<typeof verifyRequestSchema>;

/** One way of running the same request, compared with another. */
export const verifyRunSchema = z.object({
  engine: z.string(),
  run: z.enum([
    'plain',
    'streamed',
    'halfway',
    'whole',
    'shared',
    'out of memory',
    'as set',
    'resident',
    'partly',
  ]),
  /** Of `out of memory`: the stage in which memory ran out. */
  stage: z.string().nullable(),
  device: z.string(),
  /** Size of a simulated device, MiB; null on a real one. */
  device_mb: z.number().nullable(),
  streamed_mb: z.number(),
  /** Weights on the device while the stages that use them ran. */
  resident_mb: z.number(),
  /** Of `resident_mb`: read where they lie in the checkpoint, not copied. */
  mapped_mb: z.number(),
  /** Of speaking, without loading the model. */
  seconds: z.number(),
  /** Stages that were repeated, and placements that were planned anew, after memory ran out. */
  retries: z.number().int(),
  samples: z.number().int(),
  /** The run that this one is compared with; null for `plain`. */
  against: z.string().nullable(),
  /** Sample by sample, bit by bit; null for `plain` and where the run failed. */
  identical: z.boolean().nullable(),
  first_difference: z.number().int().nullable(),
  differing_samples: z.number().int(),
  largest_difference: z.number().nullable(),
  /** Nothing may differ. False: compared with another kind of device, which rounds otherwise; only told, not judged. */
  same_device: z.boolean(),
  ok: z.boolean(),
  error: errorSchema.nullable(),
});
export type VerifyRun = z.infer<typeof verifyRunSchema>;

export const verifyReportSchema = z.object({
  /** Nothing differs and nothing failed. */
  ok: z.boolean(),
  runs: z.array(verifyRunSchema),
});
export type VerifyReport = z.infer<typeof verifyReportSchema>;
