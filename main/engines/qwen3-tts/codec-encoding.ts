import type { Addon, Arena, CancelToken, Device } from '../../../native/addon.ts';
import { type ChunkPlace, type RecordChunk, StreamLayout, StreamState } from '../../nn/blocks/stream.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import { type CacheView, KVCache, type KVCacheOptions } from '../../nn/kv-cache.ts';
import { PlannedCache, peakBytes } from '../../nn/kv-plan.ts';
import { causalMask } from '../../nn/masks.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { CodecEncoder } from './codec-encoder.ts';

export interface CodecEncodingOptions {
  addon: Addon;
  device: Device;
  module: CodecEncoder;
  /** Scratch memory shared with other graphs of the device. Default: its own. */
  arena?: Arena;
  /** Frames encoded at a time. Default: 8. */
  chunkFrames?: number;
}

/** What a chunk's graph depends on, besides the capacity of the cache. */
interface Chunk extends Required<ChunkPlace> {
  samples: number;
}

/**
 * Encodes reference audio on one device, chunk by chunk: memory grows with the keys and values of its length only
 * (0.8 MB a second at the published size).
 */
export class CodecEncoding {
  readonly samplesPerFrame: number;
  readonly #addon: Addon;
  readonly #device: Device;
  readonly #module: CodecEncoder;
  readonly #chunkSamples: number;
  readonly #graphs: GraphCache;
  #layout: StreamLayout | null = null;
  #signals = 0;

  constructor({ addon, device, module, arena, chunkFrames = 8 }: CodecEncodingOptions) {
    this.#addon = addon;
    this.#device = device;
    this.#module = module;
    this.samplesPerFrame = module.samplesPerFrame;
    this.#chunkSamples = chunkFrames * module.samplesPerFrame;
    this.#graphs = new GraphCache(addon, device, arena === undefined ? {} : { arena });
  }

  /** Frames of this many samples; the last may be a part. */
  frames(samples: number): number {
    return Math.ceil(samples / this.samplesPerFrame);
  }

  /** Working memory in bytes for this many samples: graphs as planned, caches, what chunks keep. */
  workingBytes(samples: number): number {
    const layout = this.#layoutOf();
    const options = this.#cacheOptions(samples);
    const { layers, kvHeads, headDim, capacity } = options;
    const bytes = peakBytes(8 * kvHeads * headDim, layers, capacity, 'static', { first: capacity });
    const keys = bytes / (8 * kvHeads * headDim * layers);
    const variants = new Map(this.#chunks(samples).map((chunk) => [keyOf(chunk), chunk]));
    let compute = 0;
    let io = 0;
    for (const chunk of variants.values()) {
      const cache = new PlannedCache(options, keys);
      const record = this.#record(chunk, keys, () => (layer) => cache.view(layer));
      const plan = cache.without(layout.plan(this.#addon, this.#device, record, chunk));
      compute = Math.max(compute, plan.computeBytes);
      io += plan.ioBytes;
    }
    return compute + io + bytes + layout.bytes(this.#addon);
  }

  /**
   * @param samples mono at the codec's rate, at least one
   * @returns `[frames, quantizers]`, frame by frame
   * @throws NativeError `OutOfDeviceMemory`, `Cancelled`
   */
  async encode(samples: Float32Array, signal?: CancelToken): Promise<Int32Array> {
    if (samples.length === 0) throw new RangeError('There are no samples to encode.');
    const id = this.#signals++;
    const state = await StreamState.create(this.#device, this.#layoutOf());
    let cache: KVCache | null = null;
    try {
      cache = await KVCache.create(this.#addon, this.#device, this.#cacheOptions(samples.length));
      const parts: Int32Array[] = [];
      let at = 0;
      for (const chunk of this.#chunks(samples.length)) {
        parts.push(
          await this.#run(id, state, cache, chunk, samples.subarray(at, at + chunk.samples), signal),
        );
        at += chunk.samples;
      }
      return join(parts);
    } finally {
      // The graphs belong to this signal's state and cache.
      this.#graphs.drop(`${id}:`);
      cache?.dispose();
      state.dispose();
    }
  }

  dispose(): Promise<void> {
    return this.#graphs.dispose();
  }

  async #run(
    id: number,
    state: StreamState,
    cache: KVCache,
    chunk: Chunk,
    samples: Float32Array,
    signal: CancelToken | undefined,
  ): Promise<Int32Array> {
    const positions = this.#positions(chunk.samples);
    const start = cache.length;
    const inputs = {
      samples,
      positions: Int32Array.from({ length: positions }, (_, index) => start + index),
      mask: causalMask(positions, cache.capacity, start),
      slots: cache.slots(positions),
    };
    const record = this.#record(chunk, cache.capacity, (g) => {
      const slots = g.input('slots', 'i64', [positions]);
      return (layer) => cache.view(layer, slots);
    });
    const columns = await this.#graphs.use(
      `${id}:${keyOf(chunk)}`,
      (g) => state.record(g, record, chunk),
      (graph) => graph.run(inputs, signal === undefined ? {} : { signal }),
    );
    cache.advance(positions);
    const frames = this.frames(chunk.samples);
    const quantizers = Object.keys(columns).length;
    const codes = new Int32Array(frames * quantizers);
    for (let q = 0; q < quantizers; q += 1) {
      const column = columns[`codes ${q}`] as Int32Array;
      for (let frame = 0; frame < frames; frame += 1) codes[frame * quantizers + q] = column[frame]!;
    }
    return codes;
  }

  #record(chunk: Chunk, keys: number, cachesOf: CachesOf): RecordChunk {
    const positions = this.#positions(chunk.samples);
    return (g, stream) => {
      const samples = g.input('samples', 'f32', [chunk.samples, 1]);
      const attention = {
        positions: g.input('positions', 'i32', [positions]),
        mask: g.input('mask', 'f32', [positions, keys]),
        cache: cachesOf(g),
      };
      // Pieces of a frame stay in a processor's cache on their way through the first layers.
      const pieces: Tensor[] = [];
      for (let at = 0; at < chunk.samples; at += this.samplesPerFrame) {
        pieces.push(samples.narrow(0, at, Math.min(this.samplesPerFrame, chunk.samples - at)));
      }
      const codes = this.#module.forward(g, pieces, stream, attention);
      for (const [q, column] of codes.entries()) g.output(`codes ${q}`, column);
    };
  }

  #chunks(samples: number): Chunk[] {
    const chunks: Chunk[] = [];
    for (let at = 0; at < samples; at += this.#chunkSamples) {
      const length = Math.min(this.#chunkSamples, samples - at);
      chunks.push({ samples: length, first: at === 0, last: length < this.#chunkSamples });
    }
    return chunks;
  }

  #positions(samples: number): number {
    return Math.ceil(samples / this.#module.samplesPerPosition);
  }

  #layoutOf(): StreamLayout {
    if (this.#layout === null) {
      const chunk = { samples: this.samplesPerFrame, first: false, last: false };
      const cache = new PlannedCache(this.#cacheOptions(chunk.samples), this.#positions(chunk.samples));
      const record = this.#record(chunk, cache.keys, () => (layer) => cache.view(layer));
      this.#layout = new StreamLayout(this.#addon, record);
    }
    return this.#layout;
  }

  /** Room for the whole signal from the start, so that its graphs serve to its end. */
  #cacheOptions(samples: number) {
    const { config } = this.#module;
    return {
      layers: config.num_hidden_layers,
      kvHeads: config.num_key_value_heads,
      headDim: config.head_dim ?? config.hidden_size / config.num_attention_heads,
      kind: 'static',
      capacity: this.#positions(samples),
    } as const satisfies KVCacheOptions;
  }
}

type CachesOf = (g: GraphBuilder) => (layer: number) => CacheView;

function keyOf({ samples, first, last }: Chunk): string {
  return `${samples}${first ? ' first' : ''}${last ? ' last' : ''}`;
}

function join(parts: readonly Int32Array[]): Int32Array {
  const joined = new Int32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
