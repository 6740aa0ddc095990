import { setImmediate as turn } from 'node:timers/promises';
import type { Addon, Arena, CancelToken, Device } from '../../../native/addon.ts';
import { type RecordChunk, StreamLayout, StreamState } from '../../nn/blocks/stream.ts';
import { windowMask } from '../../nn/blocks/window-cache.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import type { CodecDecoder } from './codec-decoder.ts';

export interface CodecDecodingOptions {
  addon: Addon;
  device: Device;
  module: CodecDecoder;
  /** Scratch memory shared with other graphs of the device. Default: its own. */
  arena?: Arena;
  /** Default: `defaultChunks`. */
  chunks?: ChunkPlan;
}

/** How many frames are decoded at a time, whatever comes in at a time. */
export interface ChunkPlan {
  /** The first chunks: short, so that sound begins early. */
  first: readonly number[];
  /** All further ones: long, because each chunk reads all weights once. */
  steady: number;
}

/** 80 ms, 160 ms, 320 ms, then 640 ms: each chunk takes less time than the sound of those before it lasts. */
const defaultChunks: ChunkPlan = { first: [1, 2, 4], steady: 8 };

/**
 * Decodes codes on one device. A signal's frames always fall into the same chunks, so that a stream, however its
 * frames arrive, gives the samples of `decode` to the bit.
 */
export class CodecDecoding {
  readonly samplesPerFrame: number;
  readonly quantizers: number;
  readonly #addon: Addon;
  readonly #device: Device;
  readonly #module: CodecDecoder;
  readonly #chunks: ChunkPlan;
  readonly #graphs: GraphCache;
  #layout: StreamLayout | null = null;
  /** States that no stream uses. */
  #idle: { id: number; state: StreamState }[] = [];
  #states = 0;
  readonly #planned = new Map<number, { computeBytes: number; ioBytes: number }>();

  constructor({ addon, device, module, arena, chunks = defaultChunks }: CodecDecodingOptions) {
    this.#addon = addon;
    this.#device = device;
    this.#module = module;
    this.#chunks = chunks;
    this.samplesPerFrame = module.samplesPerFrame;
    this.quantizers = module.config.num_quantizers;
    this.#graphs = new GraphCache(addon, device, arena === undefined ? {} : { arena });
  }

  /** Working memory in bytes for a signal of this many frames: its graphs, as planned, and what they keep. */
  workingBytes(frames: number): number {
    const sizes = new Set(chunkSizes(frames, this.#chunks));
    let compute = 0;
    let io = 0;
    for (const size of sizes) {
      const plan = this.#plan(size);
      compute = Math.max(compute, plan.computeBytes);
      io += plan.ioBytes;
    }
    return compute + io + this.#layoutOf().bytes(this.#addon);
  }

  /** Plans what `workingBytes` asks for, chunk by chunk: planning them all takes longer than others want to wait. */
  async prepare(frames: number): Promise<void> {
    for (const size of new Set(chunkSizes(frames, this.#chunks))) {
      this.#plan(size);
      await turn();
    }
  }

  /**
   * A whole signal.
   *
   * @param codes `[frames, quantizers]`, frame by frame
   * @returns `[frames * samplesPerFrame]`, -1..1
   */
  async decode(codes: Int32Array, signal?: CancelToken): Promise<Float32Array> {
    const stream = await this.start();
    try {
      const body = await stream.push(codes, signal);
      const tail = await stream.finish(signal);
      const samples = new Float32Array(body.length + tail.length);
      samples.set(body);
      samples.set(tail, body.length);
      return samples;
    } finally {
      stream.close();
    }
  }

  /**
   * A signal that arrives frame by frame.
   *
   * @throws NativeError `OutOfDeviceMemory`
   */
  async start(): Promise<DecodeStream> {
    const idle = this.#idle.pop();
    const { id, state } = idle ?? {
      id: this.#states++,
      state: await StreamState.create(this.#device, this.#layoutOf()),
    };
    try {
      if (idle !== undefined) await state.clear();
    } catch (error) {
      state.dispose();
      throw error;
    }
    const run = (codes: Int32Array, start: number, signal?: CancelToken): Promise<Float32Array> =>
      this.#run(id, state, codes, start, signal);
    const release = (): void => {
      this.#idle.push({ id, state });
    };
    return new DecodeStream(this.quantizers, this.#module.config.codebook_size, this.#chunks, run, release);
  }

  /** Bytes of what is kept between signals. */
  get keptBytes(): number {
    return this.#idle.reduce((sum, { state }) => sum + state.bytes, this.#graphs.ioBytes);
  }

  /** Gives back what is kept between signals: graphs, and the states that no stream uses. */
  trim(): void {
    for (const { id, state } of this.#idle) {
      this.#graphs.drop(`${id}:`);
      state.dispose();
    }
    this.#idle = [];
  }

  async dispose(): Promise<void> {
    await this.#graphs.dispose();
    this.trim();
  }

  async #run(
    id: number,
    state: StreamState,
    codes: Int32Array,
    start: number,
    signal: CancelToken | undefined,
  ): Promise<Float32Array> {
    const frames = codes.length / this.quantizers;
    const byCodebook = new Int32Array(codes.length);
    for (let frame = 0; frame < frames; frame += 1) {
      for (let q = 0; q < this.quantizers; q += 1) {
        byCodebook[q * frames + frame] = codes[frame * this.quantizers + q]!;
      }
    }
    const inputs = {
      codes: byCodebook,
      positions: Int32Array.from({ length: frames }, (_, index) => start + index),
      mask: windowMask(frames, this.#module.config.sliding_window, start),
    };
    return this.#graphs.use(
      `${id}:${frames}`,
      (g) => state.record(g, this.#recordChunk(frames)),
      (graph) => graph.runFloat32(inputs, 'samples', signal === undefined ? {} : { signal }),
    );
  }

  #recordChunk(frames: number): RecordChunk {
    const { sliding_window: window } = this.#module.config;
    return (g: GraphBuilder, stream) => {
      const codes = g.input('codes', 'i32', [this.quantizers, frames]);
      const positions = g.input('positions', 'i32', [frames]);
      const mask = g.input('mask', 'f32', [frames, window - 1 + frames]);
      g.output('samples', this.#module.forward(g, codes, positions, mask, stream));
    };
  }

  #layoutOf(): StreamLayout {
    this.#layout ??= new StreamLayout(this.#addon, this.#recordChunk(1));
    return this.#layout;
  }

  #plan(frames: number): { computeBytes: number; ioBytes: number } {
    const known = this.#planned.get(frames);
    if (known !== undefined) return known;
    const plan = this.#layoutOf().plan(this.#addon, this.#device, this.#recordChunk(frames));
    this.#planned.set(frames, plan);
    return plan;
  }
}

type RunChunk = (codes: Int32Array, start: number, signal?: CancelToken) => Promise<Float32Array>;

/** One signal on its way from codes to samples. After a failed call only `close` is left. */
export class DecodeStream {
  readonly #quantizers: number;
  readonly #codebookSize: number;
  readonly #chunks: ChunkPlan;
  readonly #run: RunChunk;
  readonly #release: () => void;
  #pending = new Int32Array(0);
  /** Frames decoded, and chunks. */
  #frames = 0;
  #count = 0;
  #open = true;

  constructor(
    quantizers: number,
    codebookSize: number,
    chunks: ChunkPlan,
    run: RunChunk,
    release: () => void,
  ) {
    this.#quantizers = quantizers;
    this.#codebookSize = codebookSize;
    this.#chunks = chunks;
    this.#run = run;
    this.#release = release;
  }

  /** Frames that must arrive before the next samples come out. */
  get wanted(): number {
    return chunkSize(this.#count, this.#chunks) - this.#pending.length / this.#quantizers;
  }

  /**
   * @param codes `[frames, quantizers]`, any number of frames
   * @returns the samples of all chunks that are whole now; may be none
   */
  async push(codes: Int32Array, signal?: CancelToken): Promise<Float32Array> {
    this.#check(codes);
    const joined = new Int32Array(this.#pending.length + codes.length);
    joined.set(this.#pending);
    joined.set(codes, this.#pending.length);
    const parts: Float32Array[] = [];
    let at = 0;
    for (;;) {
      const length = chunkSize(this.#count, this.#chunks) * this.#quantizers;
      if (joined.length - at < length) break;
      parts.push(await this.#chunk(joined.subarray(at, at + length), signal));
      at += length;
    }
    this.#pending = joined.slice(at);
    return join(parts);
  }

  /** The samples of the frames that did not fill a chunk. */
  async finish(signal?: CancelToken): Promise<Float32Array> {
    this.#check(new Int32Array(0));
    const rest = this.#pending;
    this.#pending = new Int32Array(0);
    const samples = rest.length === 0 ? new Float32Array(0) : await this.#chunk(rest, signal);
    this.close();
    return samples;
  }

  /** Ends the signal; its memory serves the next one. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#release();
  }

  async #chunk(codes: Int32Array, signal: CancelToken | undefined): Promise<Float32Array> {
    const samples = await this.#run(codes, this.#frames, signal);
    this.#frames += codes.length / this.#quantizers;
    this.#count += 1;
    return samples;
  }

  #check(codes: Int32Array): void {
    if (!this.#open) throw new Error('The stream has ended.');
    if (codes.length % this.#quantizers !== 0) {
      throw new RangeError(`${codes.length} codes are no whole frames of ${this.#quantizers}.`);
    }
    const bad = codes.findIndex((code) => code < 0 || code >= this.#codebookSize);
    if (bad >= 0) {
      throw new RangeError(
        `Code ${codes[bad]} of frame ${Math.floor(bad / this.#quantizers)} is not below ${this.#codebookSize}.`,
      );
    }
  }
}

function chunkSize(index: number, chunks: ChunkPlan): number {
  return chunks.first[index] ?? chunks.steady;
}

/** The chunks of a signal: as planned, and what is left at its end. */
function chunkSizes(frames: number, chunks: ChunkPlan): number[] {
  const sizes: number[] = [];
  for (let left = frames; left > 0; left -= sizes.at(-1)!) {
    sizes.push(Math.min(left, chunkSize(sizes.length, chunks)));
  }
  return sizes;
}

function join(parts: readonly Float32Array[]): Float32Array {
  if (parts.length === 1) return parts[0]!;
  const joined = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
