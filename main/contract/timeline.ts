import { z } from 'zod';
import { saidSchema } from './said.ts';

const bytes = z.number().int().nonnegative();

/** What happens to memory; when stages begin and end is in the trace alone. */
export const timelineKinds = [
  'plan',
  'place',
  'give_up',
  'slots',
  'trim',
  'pin',
  'out_of_memory',
  'retry',
  'fallback',
  'wait',
  'desktop',
  'calibration',
  'load',
  'unload',
  'warning',
] as const;
export type TimelineKind = (typeof timelineKinds)[number];

export const timelineEventSchema = z.object({
  /** Grows by one with each event. */
  id: z.number().int(),
  /** Milliseconds since the epoch. */
  at: z.number(),
  kind: z.enum(timelineKinds),
  device: z.string(),
  /** `model:component`, a stage's name or a model. */
  subject: z.string(),
  /** Signed where memory moved: placed > 0, given up < 0. */
  bytes: z.number(),
  /** How many units moved. */
  units: z.number().int(),
  milliseconds: z.number().nullable(),
  /** The decision behind it; null where the kind says it all. */
  said: saidSchema.nullable(),
});
export type TimelineEvent = z.infer<typeof timelineEventSchema>;

/** What this process held on a device from this moment to the next sample. */
export const heldSampleSchema = z.object({
  at: z.number(),
  device: z.string(),
  weights: bytes,
  slots: bytes,
  /** Scratch memory, inputs and outputs. */
  working: bytes,
  state: bytes,
  others: bytes,
  /** `weights` by component: `[id, bytes]`. */
  components: z.array(z.tuple([z.string(), bytes])),
});
export type HeldSample = z.infer<typeof heldSampleSchema>;

export const timelineRequestSchema = z.strictObject({
  /** Only events with a larger id. */
  after: z.number().int().min(0).default(0),
  /** Only samples taken later, milliseconds since the epoch. */
  since: z.number().min(0).default(0),
});

export const timelineSchema = z.object({
  /** The host's clock. */
  at: z.number(),
  /** Oldest first; unit by unit placements of one component in a row are one event. */
  events: z.array(timelineEventSchema),
  samples: z.array(heldSampleSchema),
  devices: z.array(z.object({ id: z.string(), total_bytes: bytes })),
});
export type Timeline = z.infer<typeof timelineSchema>;

/** Everything that a report of a problem needs, in the form of this version of the studio; `plans` are the latest decisions with what they were made from. */
export const traceSchema = z.object({
  version: z.literal(1),
  events: z.array(z.unknown()),
  plans: z.array(z.unknown()),
});
