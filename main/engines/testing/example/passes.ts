import type { Addon, CancelToken } from '../../../../native/addon.ts';
import type { DeviceBook } from '../../../memory/device-book.ts';
import type { ModelHandle } from '../../../memory/model-handle.ts';
import {
  type CacheView,
  causalMask,
  type GraphBuilder,
  GraphCache,
  KVCache,
  type KVCacheKind,
  type Random,
  type SamplingOptions,
  sample,
} from '../../../nn/index.ts';
import { finalCapacity, PlannedCache, peakBytes } from '../../../nn/kv-plan.ts';
import type { Decoder, ExampleConfig, Talker, Vocoder } from './networks.ts';

export interface ExampleHandles {
  talker: ModelHandle;
  decoder: ModelHandle;
  vocoder: ModelHandle;
}

/** The networks' passes on one device: each graph is recorded once per shape. */
export class ExamplePasses {
  readonly graphs: GraphCache;
  readonly #addon: Addon;
  readonly #book: DeviceBook;
  readonly #talker: Talker;
  readonly #decoder: Decoder;
  readonly #vocoder: Vocoder;
  readonly #bytes = new Map<string, number>();

  constructor(
    addon: Addon,
    book: DeviceBook,
    readonly config: ExampleConfig,
    handles: ExampleHandles,
  ) {
    this.#addon = addon;
    this.#book = book;
    this.#talker = handles.talker.module as Talker;
    this.#decoder = handles.decoder.module as Decoder;
    this.#vocoder = handles.vocoder.module as Vocoder;
    this.graphs = new GraphCache(addon, book.device, { arena: book.arena, maxGraphs: 8 });
  }

  // #region estimates
  /** Working memory of the talker: its graphs, planned without allocating anything, and the growing cache. */
  talkerBytes(letters: number, frames: number, kind: KVCacheKind): number {
    const { num_hidden_layers: layers } = this.config;
    const positions = letters + frames;
    const keys = finalCapacity(positions, kind, letters);
    const planned = (count: number) => {
      const cache = new PlannedCache(this.#cacheShape, keys);
      const record = (g: GraphBuilder) => this.#recordTalker(g, count, keys, (layer) => cache.view(layer));
      return cache.without(this.graphs.plan(`plan talker ${count} ${keys}`, record));
    };
    const { kvHeads, headDim } = this.#cacheShape;
    const first = letters;
    const cacheBytes = peakBytes(2 * kvHeads * headDim * 4, layers, positions, kind, { first });
    return this.#once(`talker ${letters} ${keys} ${kind}`, () => {
      const [prompt, step] = [planned(letters), planned(1)];
      // Scratch memory is shared; inputs and outputs are each graph's own.
      const scratch = Math.max(prompt.computeBytes, step.computeBytes);
      return scratch + prompt.ioBytes + step.ioBytes + cacheBytes;
    });
  }

  decoderBytes(frames: number): number {
    return this.#once(`decoder ${frames}`, () => {
      const { computeBytes, ioBytes } = this.graphs.plan(...this.#decoderGraph(frames));
      return computeBytes + ioBytes;
    });
  }
  // #endregion

  vocoderBytes(frames: number): number {
    return this.#once(`vocoder ${frames}`, () => {
      const { computeBytes, ioBytes } = this.graphs.plan(...this.#vocoderGraph(frames));
      return computeBytes + ioBytes;
    });
  }

  // #region generate
  /**
   * @param letters token per letter
   * @returns one code per frame
   */
  async generate(
    letters: Int32Array,
    frames: number,
    random: Random,
    options: SamplingOptions & { kind: KVCacheKind; signal: CancelToken; onFrame: (done: number) => void },
  ): Promise<Int32Array> {
    const { device, arena } = this.#book;
    const cache = await KVCache.create(this.#addon, device, {
      ...this.#cacheShape,
      kind: options.kind,
      capacity: letters.length,
    });
    // Graphs that read a cache live as long as the cache.
    const graphs = new GraphCache(this.#addon, device, { arena });
    try {
      const codes = new Int32Array(frames);
      let tokens = letters;
      for (const frame of codes.keys()) {
        const logits = await this.#talk(graphs, cache, tokens, options.signal);
        codes[frame] = sample(logits, random, options);
        tokens = Int32Array.of(this.config.letters.length + codes[frame]!);
        options.onFrame(frame + 1);
      }
      return codes;
    } finally {
      await graphs.dispose();
      cache.dispose();
    }
  }

  async #talk(graphs: GraphCache, cache: KVCache, tokens: Int32Array, signal: CancelToken) {
    const count = tokens.length;
    const before = cache.capacity;
    await cache.reserve(count);
    const { capacity, length } = cache;
    // Recorded for the smaller cache, which is gone.
    if (capacity !== before) graphs.drop();
    const inputs = {
      tokens,
      slots: cache.slots(count),
      positions: Int32Array.from({ length: count }, (_, index) => length + index),
      mask: causalMask(count, capacity, length),
    };
    const record = (g: GraphBuilder): void => {
      const slots = g.input('slots', 'i64', [count]);
      this.#recordTalker(g, count, capacity, (layer) => cache.view(layer, slots));
    };
    // The key names everything that the recording depends on.
    const logits = await graphs.use(`talker ${count} ${capacity}`, record, (graph) =>
      graph.runFloat32(inputs, 'logits', { signal }),
    );
    cache.advance(count);
    return logits;
  }
  // #endregion

  #recordTalker(g: GraphBuilder, count: number, keys: number, caches: (layer: number) => CacheView): void {
    const tokens = g.input('tokens', 'i32', [1, count]);
    const positions = g.input('positions', 'i32', [count]);
    const mask = g.input('mask', 'f32', [count, keys]);
    g.output('logits', this.#talker.forward(g, tokens, { positions, mask, caches }));
  }

  /**
   * @param codes `[frames]`
   * @returns features `[frames, hidden_size]`
   */
  decode(codes: Int32Array, signal: CancelToken): Promise<Float32Array> {
    const [key, record] = this.#decoderGraph(codes.length);
    return this.graphs.use(key, record, (graph) => graph.runFloat32({ codes }, 'features', { signal }));
  }

  // #region vocode
  /** Samples of `window` frames at a time, each computed with the frames before it that have a say in it. */
  async *vocode(features: Float32Array, window: number, signal: CancelToken): AsyncGenerator<Float32Array> {
    const { hidden_size: width, hop_length: hop } = this.config;
    const frames = features.length / width;
    for (let start = 0; start < frames; start += window) {
      const from = Math.max(0, start - this.#vocoder.reach);
      const to = Math.min(frames, start + window);
      const [key, record] = this.#vocoderGraph(to - from);
      const inputs = { features: features.subarray(from * width, to * width) };
      const samples = await this.graphs.use(key, record, (graph) =>
        graph.runFloat32(inputs, 'samples', { signal }),
      );
      yield samples.slice((start - from) * hop);
    }
  }
  // #endregion

  /** Frames that a pass of the vocoder takes at most. */
  vocoderFrames(window: number, frames: number): number {
    return Math.min(frames, window + this.#vocoder.reach);
  }

  get #cacheShape() {
    const { num_hidden_layers, num_attention_heads, num_key_value_heads, hidden_size } = this.config;
    const headDim = hidden_size / num_attention_heads;
    return { layers: num_hidden_layers, kvHeads: num_key_value_heads, headDim };
  }

  #decoderGraph(frames: number): [string, (g: GraphBuilder) => void] {
    const record = (g: GraphBuilder): void =>
      g.output('features', this.#decoder.forward(g, g.input('codes', 'i32', [1, frames])));
    return [`decoder ${frames}`, record];
  }

  #vocoderGraph(frames: number): [string, (g: GraphBuilder) => void] {
    const shape = [1, frames, this.config.hidden_size];
    const record = (g: GraphBuilder): void =>
      g.output('samples', this.#vocoder.forward(g, g.input('features', 'f32', shape)));
    return [`vocoder ${frames}`, record];
  }

  #once(key: string, bytes: () => number): number {
    const known = this.#bytes.get(key) ?? bytes();
    this.#bytes.set(key, known);
    return known;
  }
}
