import type { PitchTrack } from './excitation.ts';

/** How a sentence ends, as far as melody goes. The voice itself says all of them like statements. */
export type Ending = 'statement' | 'question' | 'wh_question';

/** Semitones that the end rises by. A question with who, what, why... asks by its first word and rises less. */
const rises: Record<Ending, number> = { statement: 0, question: 3.5, wh_question: 1.5 };
/** Length of the rise at normal speed. */
const riseSeconds = 0.3;

/**
 * Pitch and voicing of an utterance, as they shall sound.
 *
 * @param features `[frames, channels]`; the last two channels are ln F0 and voicing
 * @param framesPerSecond at normal speed
 */
export function pitchTrack(
  features: Float32Array,
  channels: number,
  options: { pitch: number; speed: number; ending: Ending; framesPerSecond: number },
): PitchTrack {
  const frames = features.length / channels;
  const logF0 = new Float64Array(frames);
  const voicing = new Float32Array(frames);
  const shift = Math.log(options.pitch);
  for (let t = 0; t < frames; t++) {
    logF0[t] = features[t * channels + channels - 2]! + shift;
    voicing[t] = features[t * channels + channels - 1]!;
  }
  const length = Math.max(2, Math.round((riseSeconds * options.framesPerSecond) / options.speed));
  raiseEnd(logF0, voicing, (rises[options.ending] * Math.LN2) / 12, length);
  return { logF0, voicing };
}

/** Raise the last `length` frames before the last voiced one ends, in a smooth ramp that is held behind it. */
function raiseEnd(logF0: Float64Array, voicing: Float32Array, amount: number, length: number): void {
  const last = voicing.findLastIndex((value) => value > 0.5);
  if (amount === 0 || last < 0) return;
  const start = Math.max(0, last - length + 1);
  for (let t = start; t < logF0.length; t++) {
    const share = Math.min(1, (t - start + 1) / (last - start + 1));
    logF0[t]! += amount * (0.5 - 0.5 * Math.cos(Math.PI * share));
  }
}

/** Silence between utterances in seconds at normal speed, beside the pauses that begin and end each of them. */
export const silences = { words: 0, clause: 0, sentence: 0.12, paragraph: 0.5 } as const;
