import type { AudioChunkEvent } from '../../../main/contract/speech.ts';
import { AudioChecks, type Finding } from './checks.ts';
import { PcmStore } from './pcm-store.ts';
import { Peaks } from './peaks.ts';
import type { PcmSource } from './transport.ts';
import { readWav } from './wav.ts';

export interface ChunkMark {
  /** First frame. */
  start: number;
  text: string;
}

/** Chunk marks beyond this many would only blacken the waveform. */
const marksKept = 500;

/** The audio of one job as it arrives: samples, outline, chunk borders and what is wrong with it. */
export class Recording implements PcmSource {
  readonly sampleRate: number;
  readonly peaks = new Peaks();
  readonly marks: ChunkMark[] = [];
  chunks = 0;
  /** A chunk was missed (the link dropped); the whole is fetched again before it is played. */
  gap = false;
  #complete = false;
  readonly #pcm = new PcmStore();
  readonly #checks: AudioChecks;

  constructor(sampleRate: number) {
    this.sampleRate = sampleRate;
    this.#checks = new AudioChecks(sampleRate);
  }

  static fromWav(bytes: Uint8Array, marks: ChunkMark[] = []): Recording {
    const wav = readWav(bytes);
    const recording = new Recording(wav.sampleRate);
    for (const block of wav.blocks(2 ** 16)) recording.#append(block);
    recording.marks.push(...marks);
    recording.chunks = marks.length;
    recording.complete();
    return recording;
  }

  get frames(): number {
    return this.#pcm.frames;
  }

  get seconds(): number {
    return this.frames / this.sampleRate;
  }

  get bytes(): number {
    return this.#pcm.bytes;
  }

  get isComplete(): boolean {
    return this.#complete;
  }

  /** Repeated chunks are left out; after a missing one nothing is taken, so that sound never jumps. */
  add(chunk: AudioChunkEvent): void {
    if (this.gap || chunk.start < this.frames) return;
    if (chunk.start > this.frames) {
      this.gap = true;
      return;
    }
    if (this.marks.length < marksKept) this.marks.push({ start: chunk.start, text: chunk.text });
    this.chunks++;
    this.#append(chunk.samples);
  }

  /** No more chunks follow. */
  complete(): void {
    this.#complete = true;
  }

  read(start: number, count: number): Promise<Float32Array<ArrayBuffer>> {
    return this.#pcm.read(start, count);
  }

  findings(expectedSeconds?: number): Finding[] {
    return this.#checks.findings(expectedSeconds);
  }

  #append(samples: Float32Array): void {
    this.#pcm.append(samples);
    this.peaks.append(samples);
    this.#checks.append(samples);
  }
}
