import { createHash } from 'node:crypto';
import { memorySource } from '../audio/byte-source.ts';
import { toWav } from '../audio/compressed/to-wav.ts';
import { fromDecibels, rms, toDecibels } from '../audio/level.ts';
import { WavReader } from '../audio/wav-reader.ts';
import { maxAudioBytes, type Said, StudioError, say } from '../contract/index.ts';
import { blocksOf, mixDown } from './mix-down.ts';

/** Any voice that is kept: what every engine could use. Models have narrower limits. */
export const keptSeconds = { minimum: 0.5, maximum: 600 };

/** Below this nothing was recorded but the noise of the equipment. */
const silentPeakDb = -50;
const digitalSilenceDb = -120;
const quietDb = -38;
/** At least this much of a reference has to be sound. */
const minimumSoundSeconds = 0.4;
/** Shares of samples at full scale: what is refused, and what is worth a warning. */
const clippedRefused = 0.05;
const clippedWarned = 0.002;
const dullRate = 16_000;
/** Levels of speech differ by 5 dB and more from moment to moment; those of a tone or of noise hardly do. */
const steadyDb = 1.5;

export interface ReferenceAudio {
  /** Mono, -1..1. */
  samples: Float32Array;
  sampleRate: number;
  seconds: number;
  /** The file itself, or what a compressed one decodes to. */
  wav: Uint8Array;
  warnings: Said[];
}

/**
 * Reads a WAV, FLAC, MP3, Ogg Vorbis or Opus file of any rate and channel count and checks that a voice can be cloned
 * from it.
 *
 * @throws StudioError `file_unreadable` for what is no such file, `reference_unusable` for one that is too short, too
 *   long, silent, clipped or as steady as no speech is, with the numbers
 */
export async function readReferenceAudio(
  bytes: Uint8Array,
  limits: { minimum: number; maximum: number } = keptSeconds,
): Promise<ReferenceAudio> {
  // As long as a file that comes uncompressed may be.
  const plain = await toWav(bytes, 'reference audio', { bytes: maxAudioBytes });
  const reader = await WavReader.open(memorySource(plain.wav, 'reference audio'));
  const { frames, sampleRate } = reader.info;
  const seconds = frames / sampleRate;
  // Known from the header: hours of audio are not decoded to be refused.
  checkLength(seconds, limits);
  const { samples, warnings } = await mixDown(reader);
  checkLevel(await measure(samples, sampleRate), { sampleRate, seconds }, warnings);
  warnings.unshift(...plain.warnings.map((reason) => say('reference_repaired', { reason })));
  return { samples, sampleRate, seconds, wav: plain.wav, warnings };
}

/** Of what engines compute from: the samples, their rate and the words. */
export async function referenceHash(
  { samples, sampleRate }: Pick<ReferenceAudio, 'samples' | 'sampleRate'>,
  text: string | null,
): Promise<string> {
  const hash = createHash('sha256').update(`${sampleRate}\n${text === null ? 'none' : `text ${text}`}\n`);
  for await (const block of blocksOf(samples)) {
    hash.update(new Uint8Array(block.buffer, block.byteOffset, block.byteLength));
  }
  return hash.digest('hex');
}

function checkLength(seconds: number, { minimum, maximum }: { minimum: number; maximum: number }): void {
  // Rounded away from the limit: "1 s, where 1 s is needed" explains nothing.
  const shown = (seconds < minimum ? Math.floor : Math.ceil)(seconds * 100) / 100;
  if (seconds < minimum) {
    throw new StudioError(
      'reference_unusable',
      `The reference audio lasts ${shown} s; at least ${minimum} s are needed. Record a longer passage.`,
      { params: { seconds: shown, minimum } },
    );
  }
  if (seconds > maximum) {
    throw new StudioError(
      'reference_unusable',
      `The reference audio lasts ${shown} s; at most ${maximum} s can be used. Cut out a good passage.`,
      { params: { seconds: shown, maximum } },
    );
  }
}

/** What is heard, and how loud. */
interface Level {
  peak: number;
  /** Of the windows of 10 ms that are no silence. */
  speech: number;
  soundSeconds: number;
  /** Standard deviation of their levels, dB. */
  variationDb: number;
  /** Share of samples in runs of three or more at full scale. */
  clipped: number;
}

async function measure(samples: Float32Array, sampleRate: number): Promise<Level> {
  const window = Math.max(1, Math.round(sampleRate / 100));
  const silence = fromDecibels(silentPeakDb);
  let peak = 0;
  let energy = 0;
  let sounding = 0;
  let windows = 0;
  let sum = 0;
  let squares = 0;
  // Blocks of whole windows.
  for await (const block of blocksOf(samples, window * 500)) {
    for (let at = 0; at < block.length; at += window) {
      const part = block.subarray(at, at + window);
      for (const sample of part) peak = Math.max(peak, Math.abs(sample));
      const level = rms(part);
      if (level < silence) continue;
      sounding += part.length;
      const decibels = toDecibels(level);
      windows++;
      sum += decibels;
      squares += decibels * decibels;
      energy += level * level * part.length;
    }
  }
  return {
    peak,
    speech: sounding === 0 ? 0 : Math.sqrt(energy / sounding),
    soundSeconds: sounding / sampleRate,
    variationDb: windows === 0 ? 0 : Math.sqrt(Math.max(0, squares / windows - (sum / windows) ** 2)),
    clipped: await clippedShare(samples, peak),
  };
}

function checkLevel(
  level: Level,
  { sampleRate, seconds }: { sampleRate: number; seconds: number },
  warnings: Said[],
): void {
  const highest = toDecibels(level.peak);
  if (highest < silentPeakDb) throw silent(Math.round(Math.max(highest, digitalSilenceDb)));
  if (level.soundSeconds < Math.min(minimumSoundSeconds, seconds)) {
    throw new StudioError(
      'reference_unusable',
      `Only ${level.soundSeconds.toFixed(2)} s of the reference audio hold sound; at least ${minimumSoundSeconds} s are needed. Record a passage of speech.`,
      { params: { sound: Math.round(level.soundSeconds * 100) / 100, minimum: minimumSoundSeconds } },
    );
  }
  const share = Math.round(level.clipped * 1000) / 10;
  if (level.clipped > clippedRefused) {
    throw new StudioError(
      'reference_unusable',
      `The reference audio is clipped: ${share}% of its samples are at full scale. Record it again at a lower level.`,
      { params: { share } },
    );
  }
  if (level.variationDb < steadyDb) {
    const variation_db = Math.round(level.variationDb * 10) / 10;
    throw new StudioError(
      'reference_unusable',
      `The reference audio holds no speech: its level changes by ${variation_db} dB only, as that of a tone or of noise. Choose a recording of a voice.`,
      { params: { variation_db } },
    );
  }
  if (level.clipped > clippedWarned) warnings.push(say('reference_clipped', { share }));
  const speech = toDecibels(level.speech);
  if (speech < quietDb) warnings.push(say('reference_quiet', { level: Math.round(speech) }));
  if (level.soundSeconds < 0.4 * seconds) {
    warnings.push(say('reference_pauses', { seconds: Math.round(level.soundSeconds * 10) / 10 }));
  }
  if (sampleRate < dullRate) warnings.push(say('reference_rate', { rate: sampleRate, top: sampleRate / 2 }));
}

function silent(level_db: number): StudioError {
  return new StudioError(
    'reference_unusable',
    `Nothing can be heard in the reference audio: its loudest sample is at ${level_db} dBFS. Choose another recording.`,
    { params: { level_db } },
  );
}

/**
 * Share of samples in runs of three or more at the highest level, where that is full scale: a peak of speech that was
 * not cut off touches it once.
 */
async function clippedShare(samples: Float32Array, peak: number): Promise<number> {
  if (peak < 0.97) return 0;
  // As fine as 16 bits tell levels apart.
  const limit = peak - 2 ** -15;
  let clipped = 0;
  let run = 0;
  let sign = 0;
  for await (const block of blocksOf(samples)) {
    for (const sample of block) {
      const here = sample >= limit ? 1 : sample <= -limit ? -1 : 0;
      if (here !== 0 && here === sign) run++;
      else {
        if (run >= 3) clipped += run;
        run = here === 0 ? 0 : 1;
        sign = here;
      }
    }
  }
  if (run >= 3) clipped += run;
  return clipped / samples.length;
}
