import { setImmediate as nextTurn } from 'node:timers/promises';
import { toDecibels } from '../audio/level.ts';
import type { WavReader } from '../audio/wav-reader.ts';
import { type Said, say } from '../contract/index.ts';

/** Frames that are decoded before messages such as a cancel are looked at: a few milliseconds. */
const framesPerTurn = 16_384;

interface Mixed {
  /** Mono, -1..1. */
  samples: Float32Array;
  warnings: Said[];
}

/**
 * The mean of the channels, or the loudest channel where they cancel each other; never beyond full scale. Other work
 * goes on meanwhile.
 */
export async function mixDown(reader: WavReader): Promise<Mixed> {
  const { frames, channels } = reader.info;
  const warnings: Said[] = [];
  const energies = new Float64Array(channels);
  let samples = new Float32Array(frames);
  let energy = 0;
  await readBlocks(reader, (block, at) => {
    for (const [channel, values] of block.entries()) {
      let sum = 0;
      for (const value of values) sum += value * value;
      energies[channel]! += sum;
    }
    const length = block[0]?.length ?? 0;
    for (let n = 0; n < length; n++) {
      let sum = 0;
      for (const values of block) sum += values[n]!;
      const mean = sum / channels;
      samples[at + n] = mean;
      energy += mean * mean;
    }
  });
  const loudest = energies.indexOf(Math.max(...energies));
  if (cancelled(energies, loudest, energy)) {
    samples = await oneChannel(reader, loudest);
    warnings.push(say('reference_channels', { channel: loudest + 1 }));
  }
  const repairs = new Map(reader.info.warnings.map((reason) => [reason.replace(/\d+/g, '#'), reason]));
  warnings.unshift(...[...repairs.values()].map((reason) => say('reference_repaired', { reason })));
  const over = await bringBack(samples);
  if (over >= 0.1) warnings.push(say('reference_level', { level: Math.round(over * 10) / 10 }));
  return { samples, warnings };
}

/** Two like channels, one of them turned over: their mean is nearly nothing. */
function cancelled(energies: Float64Array, loudest: number, mean: number): boolean {
  const most = energies[loudest] ?? 0;
  const others = energies.some((energy, channel) => channel !== loudest && energy > 0.09 * most);
  return energies.length > 1 && others && mean < 0.01 * most;
}

async function oneChannel(reader: WavReader, channel: number): Promise<Float32Array<ArrayBuffer>> {
  const samples = new Float32Array(reader.info.frames);
  await readBlocks(reader, (block, at) => samples.set(block[channel]!, at));
  return samples;
}

async function readBlocks(
  reader: WavReader,
  take: (block: Float32Array[], at: number) => void,
): Promise<void> {
  const step = Math.max(256, Math.floor(framesPerTurn / Math.max(1, reader.info.channels / 2)));
  for (let at = 0; at < reader.info.frames; at += step) {
    take(await reader.read(at, step), at);
    await nextTurn();
  }
}

/** In place: the highest level becomes full scale where it is above. Answers by how many decibels it was. */
async function bringBack(samples: Float32Array): Promise<number> {
  let highest = 0;
  for await (const block of blocksOf(samples)) {
    for (const sample of block) highest = Math.max(highest, Math.abs(sample));
  }
  if (highest <= 1) return 0;
  for await (const block of blocksOf(samples)) for (let n = 0; n < block.length; n++) block[n]! /= highest;
  return toDecibels(highest);
}

/** Views of a quarter of a million samples, with a turn of the event loop between them. */
export async function* blocksOf(samples: Float32Array, length = 2 ** 18): AsyncGenerator<Float32Array> {
  for (let at = 0; at < samples.length; at += length) {
    yield samples.subarray(at, at + length);
    await nextTurn();
  }
}
