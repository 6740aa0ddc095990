import { z } from 'zod';
import { saidSchema } from './said.ts';

/** Largest audio file that one request carries. */
export const maxAudioBytes = 64 * 1024 * 1024;
/** Longest transcript of a reference, in UTF-16 units. */
export const maxTranscriptLength = 4000;
export const maxVoiceNameLength = 80;

/** A WAV, FLAC, MP3, Ogg Vorbis or Opus file: bytes, or base64 where the carrier is JSON. */
export const audioBytesSchema = z.union([
  z.instanceof(Uint8Array).refine(({ byteLength }) => byteLength <= maxAudioBytes, {
    message: `The audio file is larger than ${maxAudioBytes} bytes`,
  }),
  z
    .base64()
    .max(Math.ceil(maxAudioBytes / 3) * 4)
    .transform((text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))),
]);

export const savedVoiceSchema = z.object({
  /** Made from the name when it is saved; never changes. */
  id: z.string(),
  name: z.string(),
  /** BCP 47 tag of the reference; null: not said. */
  language: z.string().nullable(),
  /** Words of the reference; null: not known, so that only models that need none clone it. */
  text: z.string().nullable(),
  seconds: z.number(),
  sample_rate: z.number().int(),
  /** Milliseconds since the epoch. */
  created_at: z.number(),
  /** What is not ideal about the reference audio. */
  warnings: z.array(saidSchema),
});
export type SavedVoice = z.infer<typeof savedVoiceSchema>;

const name = z.string().max(1000);
const language = z.string().max(100).nullable();
const text = z.string().max(maxTranscriptLength).nullable();

export const voiceAddSchema = z.strictObject({
  name,
  /** Kept in the channels and at the rate that it has; a compressed file as the WAV that it decodes to. */
  audio: audioBytesSchema,
  language: language.default(null),
  text: text.default(null),
});

export const voiceUpdateSchema = z.strictObject({
  /** Id or name. */
  voice: z.string(),
  name: name.optional(),
  language: language.optional(),
  text: text.optional(),
});
