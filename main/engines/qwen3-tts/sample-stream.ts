import type { CancelToken } from '../../../native/addon.ts';
import type { CodecDecoding, DecodeStream } from './codec-decoding.ts';

/**
 * The samples of one passage, decoded as its frames come. As with `FrameStream`, a stretch may be asked for again: after
 * a failure everything is decoded anew, and what was taken before is left out.
 */
export class SampleStream {
  readonly #decoding: Pick<CodecDecoding, 'start' | 'samplesPerFrame'>;
  /** Samples to leave out: those of the reference, then those that were taken. */
  #taken: number;
  #stream: DecodeStream | null = null;
  /** Frames given to the stream. */
  #frames = 0;
  /** Samples that came out of it. */
  #decoded = 0;
  #finished = false;
  #pieces: Float32Array[] = [];

  /** @param before frames at the beginning whose samples nobody wants. */
  constructor(decoding: Pick<CodecDecoding, 'start' | 'samplesPerFrame'>, before = 0) {
    this.#decoding = decoding;
    this.#taken = before * decoding.samplesPerFrame;
  }

  /** @param frames all frames so far, from the first; @param last no more will come. */
  async decode(frames: readonly Int32Array[], last: boolean, signal?: CancelToken): Promise<void> {
    try {
      if (this.#finished) return;
      this.#stream ??= await this.#decoding.start();
      const codes = joined(frames.slice(this.#frames));
      this.#add(await this.#stream.push(codes, signal));
      this.#frames = frames.length;
      if (!last) return;
      this.#add(await this.#stream.finish(signal));
      this.#finished = true;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** What was decoded since the last time; after a stage, so that a repeated stage finds it all again. */
  take(): Float32Array {
    const samples = joinedSamples(this.#pieces);
    this.#pieces = [];
    this.#taken += samples.length;
    return samples;
  }

  close(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#frames = 0;
    this.#decoded = 0;
    this.#finished = false;
    this.#pieces = [];
  }

  #add(samples: Float32Array): void {
    const skip = Math.min(samples.length, Math.max(0, this.#taken - this.#decoded));
    this.#decoded += samples.length;
    if (skip < samples.length) this.#pieces.push(samples.subarray(skip));
  }
}

function joined(frames: readonly Int32Array[]): Int32Array {
  const codes = new Int32Array(frames.reduce((length, frame) => length + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    codes.set(frame, at);
    at += frame.length;
  }
  return codes;
}

function joinedSamples(pieces: readonly Float32Array[]): Float32Array {
  const samples = new Float32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    samples.set(piece, at);
    at += piece.length;
  }
  return samples;
}
