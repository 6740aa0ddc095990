import { createHash } from 'node:crypto';
import { memorySource } from '../audio/byte-source.ts';
import { findSilences, peak, rms, toDecibels, toMono } from '../audio/level.ts';
import { WavReader } from '../audio/wav-reader.ts';
import { type Said, StudioError, say } from '../contract/index.ts';

/** Any voice that is kept: what every engine could use. Models have narrower limits. */
export const keptSeconds = { minimum: 0.5, maximum: 600 };

/** Below this nothing was recorded but the noise of the equipment. */
const silentPeakDb = -50;
const quietDb = -38;
/** At least this much of a reference has to be sound. */
const minimumSoundSeconds = 0.4;
/** Shares of samples at full scale: what is refused, and what is worth a warning. */
const clippedRefused = 0.05;
const clippedWarned = 0.002;
const dullRate = 16_000;

export interface ReferenceAudio {
  /** Mono, -1..1. */
  samples: Float32Array;
  sampleRate: number;
  seconds: number;
  warnings: Said[];
}

/**
 * Reads a WAV file of any rate and channel count and checks that a voice can be cloned from it.
 *
 * @throws StudioError `file_unreadable` for what is no WAV file, `reference_unusable` for one that is too short, too
 *   long, silent or clipped, with the numbers
 */
export async function readReferenceAudio(
  bytes: Uint8Array,
  limits: { minimum: number; maximum: number } = keptSeconds,
): Promise<ReferenceAudio> {
  const reader = await WavReader.open(memorySource(bytes, 'reference audio'));
  const { frames, sampleRate } = reader.info;
  const seconds = frames / sampleRate;
  // Known from the header: hours of audio are not decoded to be refused.
  checkLength(seconds, limits);
  const channels = await reader.read(0, frames);
  const warnings = reader.info.warnings.map((reason) => say('reference_repaired', { reason }));
  const samples = mixed(channels, warnings);
  checkLevel(samples, sampleRate, seconds, warnings);
  return { samples, sampleRate, seconds, warnings };
}

/** Of what engines compute from: the samples, their rate and the words. */
export function referenceHash(
  { samples, sampleRate }: Pick<ReferenceAudio, 'samples' | 'sampleRate'>,
  text: string | null,
): string {
  const hash = createHash('sha256').update(`${sampleRate}\n${text === null ? 'none' : `text ${text}`}\n`);
  return hash.update(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)).digest('hex');
}

function checkLength(seconds: number, { minimum, maximum }: { minimum: number; maximum: number }): void {
  const shown = Math.round(seconds * 100) / 100;
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

/** The mean of the channels, or the loudest channel where they cancel each other; never beyond full scale. */
function mixed(channels: Float32Array[], warnings: Said[]): Float32Array {
  let samples = channels.length === 1 ? channels[0]! : toMono(channels);
  const levels = channels.map(rms);
  const loudest = levels.indexOf(Math.max(...levels));
  if (channels.length > 1 && rms(samples) < 0.1 * levels[loudest]!) {
    // Two equal channels, one of them turned over: their mean is nearly nothing.
    const others = levels.filter((level, channel) => channel !== loudest && level > 0.3 * levels[loudest]!);
    if (others.length > 0) {
      samples = channels[loudest]!;
      warnings.push(say('reference_channels', { channel: loudest + 1 }));
    }
  }
  const highest = peak(samples);
  if (highest <= 1) return samples;
  const over = toDecibels(highest);
  if (over >= 0.1) warnings.push(say('reference_level', { level: Math.round(over * 10) / 10 }));
  return samples.map((sample) => sample / highest);
}

function checkLevel(samples: Float32Array, sampleRate: number, seconds: number, warnings: Said[]): void {
  const highest = toDecibels(peak(samples));
  const level_db = Number.isFinite(highest) ? Math.round(highest) : -999;
  if (highest < silentPeakDb) throw silent(level_db);
  const gaps = findSilences(samples, { sampleRate, thresholdDb: silentPeakDb, minSeconds: 0.05 });
  const sounding = samples.length - gaps.reduce((sum, [start, end]) => sum + end - start, 0);
  const soundSeconds = sounding / sampleRate;
  if (soundSeconds < Math.min(minimumSoundSeconds, seconds)) {
    throw new StudioError(
      'reference_unusable',
      `Only ${soundSeconds.toFixed(2)} s of the reference audio hold sound; at least ${minimumSoundSeconds} s are needed. Record a passage of speech.`,
      { params: { seconds: Math.round(soundSeconds * 100) / 100, minimum: minimumSoundSeconds } },
    );
  }
  const clipped = clippedShare(samples);
  const share = Math.round(clipped * 1000) / 10;
  if (clipped > clippedRefused) {
    throw new StudioError(
      'reference_unusable',
      `The reference audio is clipped: ${share}% of its samples are at full scale. Record it again at a lower level.`,
      { params: { share } },
    );
  }
  if (clipped > clippedWarned) warnings.push(say('reference_clipped', { share }));
  const speech = toDecibels(rms(samples) * Math.sqrt(samples.length / Math.max(1, sounding)));
  if (speech < quietDb) warnings.push(say('reference_quiet', { level: Math.round(speech) }));
  if (soundSeconds < 0.4 * seconds) {
    warnings.push(say('reference_pauses', { seconds: Math.round(soundSeconds * 10) / 10 }));
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
function clippedShare(samples: Float32Array): number {
  const highest = peak(samples);
  if (highest < 0.97) return 0;
  // As fine as 16 bits tell levels apart.
  const limit = highest - 2 ** -15;
  let clipped = 0;
  let run = 0;
  let sign = 0;
  for (const sample of samples) {
    const here = sample >= limit ? 1 : sample <= -limit ? -1 : 0;
    if (here !== 0 && here === sign) run++;
    else {
      if (run >= 3) clipped += run;
      run = here === 0 ? 0 : 1;
      sign = here;
    }
  }
  if (run >= 3) clipped += run;
  return samples.length === 0 ? 0 : clipped / samples.length;
}
