import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The built-in voice's folder. */
export const voiceFolder = path.join(import.meta.dirname, '../../../../app/resources/mini-voice');

export interface Golden {
  text: string;
  phones: string[];
  phone_ids: Int32Array;
  word_start: Int32Array;
  /** `[phones, dim]` */
  encoder: Float32Array;
  log_durations: Float32Array;
  frames: Int32Array;
  /** `[frames, 82]`, voicing after the sigmoid */
  features: Float32Array;
  /** `[frames, 1026]` */
  head: Float32Array;
  noise: Float32Array;
  harmonic: Float32Array;
  waveform: Float32Array;
  /** First sentence only: real parts, then imaginary ones, `[2, frames, 513]`. */
  excitation_spectrum?: Float32Array;
}

interface Index {
  sentences: {
    text: string;
    phones: string[];
    tensors: Record<string, { file: string; dtype: 'i32' | 'f32'; shape: number[] }>;
  }[];
}

/** The reference results that came with the voice, made by its training framework in float32. */
export function readGoldens(): Golden[] {
  const folder = path.join(voiceFolder, 'golden');
  const index = JSON.parse(readFileSync(path.join(folder, 'golden.json'), 'utf8')) as Index;
  return index.sentences.map(({ text, phones, tensors }) => {
    const read = ([name, { file, dtype }]: [string, { file: string; dtype: string }]) => {
      const bytes = new Uint8Array(readFileSync(path.join(folder, file)));
      return [name, dtype === 'i32' ? new Int32Array(bytes.buffer) : new Float32Array(bytes.buffer)];
    };
    return { text, phones, ...Object.fromEntries(Object.entries(tensors).map(read)) } as Golden;
  });
}

/** Largest absolute difference; Infinity where the lengths differ. */
export function farthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!);
    if (!(difference <= most)) most = difference;
  }
  return most;
}
