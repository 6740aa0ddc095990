import { setImmediate as nextTurn } from 'node:timers/promises';
import { kaiserBest, Resampler } from '../../audio/resample.ts';
import { StudioError } from '../../contract/errors.ts';
import type { Reference } from '../engine.ts';

/** Nobody says more letters in a second. */
const lettersPerSecond = 30;
/** In scripts that write syllables, a character is as long as so many letters. */
const lettersPerSyllable = 2.5;
const syllables = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;

/** Samples resampled before messages such as a cancel are looked at. */
const block = 8192;

/** Reference audio at the rate that the networks hear, as upstream resamples it. */
export async function resampled(
  { samples, sampleRate }: Pick<Reference, 'samples' | 'sampleRate'>,
  rate: number,
): Promise<Float32Array> {
  if (sampleRate === rate) return samples;
  const resampler = new Resampler(sampleRate, rate, kaiserBest);
  const out = new Float32Array(Math.ceil((samples.length * rate) / sampleRate));
  let written = 0;
  const write = (piece: Float32Array): void => {
    out.set(piece, written);
    written += piece.length;
  };
  for (let at = 0; at < samples.length; at += block) {
    write(resampler.push(samples.subarray(at, at + block)));
    await nextTurn();
  }
  write(resampler.flush());
  return out;
}

/**
 * A transcript that belongs to other audio makes the talker speak until it is cut off.
 *
 * @throws StudioError `reference_unusable`
 */
export function checkTranscript(text: string, seconds: number): void {
  const written = text.replace(/\s+/g, ' ').trim();
  const characters = written.length;
  const long = written.match(syllables)?.length ?? 0;
  // As many letters as it would be, and what a character of this text is worth.
  const letters = characters + (lettersPerSyllable - 1) * long;
  const most = Math.ceil(((10 + lettersPerSecond * seconds) * characters) / Math.max(1, letters));
  if (characters <= most) return;
  const shown = Math.round(seconds * 10) / 10;
  throw new StudioError(
    'reference_unusable',
    `The transcript cannot be what the reference audio says: ${characters} characters in ${shown} s, where at most ${most} could be said. ` +
      'Write down exactly the words of the audio, or leave the transcript out.',
    { params: { reason: `${characters} characters in ${shown} s`, characters, seconds: shown } },
  );
}
