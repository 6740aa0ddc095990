import { z } from 'zod';
import { errorSchema } from './errors.ts';
import { saidSchema } from './said.ts';

/** Known answers on one device: placed and streamed weights, and how fast both were. */
export const selfTestSchema = z.object({
  device: z.string(),
  passed: z.boolean(),
  /** Largest difference from the answer in double precision, relative to the answer's largest value. */
  largest_difference: z.number().nullable(),
  /** Placed and streamed weights gave the same bits; null where nothing streams. */
  identical: z.boolean().nullable(),
  seconds: z.number(),
  /** Uploads, MiB per second; null where weights are used where they lie. */
  copy_mb_per_second: z.number().nullable(),
  /** What the backend offers; null where the device could not be opened. */
  capabilities: z
    .object({
      /** Computes and copies while the program goes on. */
      async: z.boolean(),
      /** Page-locked host memory of its own, from which copies are fast. */
      host_buffers: z.boolean(),
      /** Uses host memory where it lies. */
      host_pointer: z.boolean(),
      /** One queue can wait for another. */
      events: z.boolean(),
      /** Types of weights that it multiplies with as they are. */
      dtypes: z.array(z.string()),
    })
    .nullable(),
  error: errorSchema.nullable(),
});
export type SelfTest = z.infer<typeof selfTestSchema>;

/** What the doctor can say; each language has a sentence for each, and for what to do about it. */
export const findingIds = [
  'core_ok',
  'core_broken',
  'engine_ok',
  'engine_broken',
  'settings_ok',
  'settings_problem',
  'settings_device_missing',
  'settings_allocator',
  'settings_simulated',
  'models_ok',
  'model_damaged',
  'model_changed',
  'voices_ok',
  'voice_damaged',
  'file_problem',
  'folder_ok',
  'folder_unwritable',
  'ram_ok',
  'ram_short',
  'device_used',
  'device_unused',
  'device_full',
  'no_graphics',
  'self_test_ok',
  'self_test_wrong',
  'self_test_failed',
  'driver_crashed',
  'driver_hung',
  'drivers_broken',
  'no_overlap',
  'no_pinned_memory',
  'not_in_place',
  'no_half_type',
] as const;
export type FindingId = (typeof findingIds)[number];

export const findingSchema = z.object({
  id: z.enum(findingIds),
  /** `failed`: something does not work; `warning`: it works worse than it could. */
  status: z.enum(['ok', 'note', 'warning', 'failed']),
  /** One English sentence: what was found, with the numbers. */
  message: z.string(),
  /** What to do about it; null where nothing needs doing. */
  fix: z.string().nullable(),
  /** What is wrong, where that is a sentence of its own: it stands in the place `problem`. */
  said: saidSchema.optional(),
  /** Names and numbers for the localised sentences. */
  params: z.record(z.string(), z.union([z.string(), z.number()])),
  error: errorSchema.nullable(),
});
export type Finding = z.infer<typeof findingSchema>;

export const doctorReportSchema = z.object({
  /** Nothing failed. Warnings and notes do not count. */
  ok: z.boolean(),
  versions: z.object({
    mizuoto: z.string(),
    ggml: z.string().nullable(),
    node: z.string(),
    platform: z.string(),
  }),
  findings: z.array(findingSchema),
  /** The memory policy in force, by setting key; empty without the native core. */
  policy: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  /** Where the policy in force is not what is set, and why. */
  policy_notes: z.array(saidSchema),
  self_tests: z.array(selfTestSchema),
  /** Most useful first. */
  fixes: z.array(z.string()),
});
export type DoctorReport = z.infer<typeof doctorReportSchema>;
