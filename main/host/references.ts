import { readReferenceAudio, referenceHash } from '../voices/reference-audio.ts';
import type { CheckedReference, ReferenceLimits } from './speech-request.ts';

/** Reference audio of one request. */
export async function checkedReference(
  audio: Uint8Array,
  { text, voice }: { text: string | null; voice: string | null },
  limits: ReferenceLimits,
): Promise<CheckedReference> {
  const { samples, sampleRate, warnings } = await readReferenceAudio(audio, limits);
  const hash = await referenceHash({ samples, sampleRate }, text);
  return { reference: { samples, sampleRate, text, hash, voice }, warnings };
}
