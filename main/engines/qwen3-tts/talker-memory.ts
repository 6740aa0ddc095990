import { setImmediate as turn } from 'node:timers/promises';
import type { Addon, Device } from '../../../native/addon.ts';
import { GraphBuilder } from '../../nn/graph.ts';
import type { KVCacheKind, KVCacheOptions } from '../../nn/kv-cache.ts';
import { PlannedCache, peakBytes } from '../../nn/kv-plan.ts';
import type { CodePredictor } from './code-predictor.ts';
import { cacheDType, type Talker } from './talker.ts';

/** Longest stretch of a prompt in one pass, as `FrameGenerator` takes it. */
const longestPass = 256;
/** Positions by which a cache grows: a graph for each size is kept for a while. */
const block = 64;

interface Bytes {
  computeBytes: number;
  ioBytes: number;
}

/** Working memory of generation, from graphs that are laid out and not allocated. */
export class TalkerMemory {
  readonly #addon: Addon;
  readonly #device: Device;
  readonly #talker: Talker;
  readonly #predictor: CodePredictor;
  readonly #planned = new Map<string, Bytes>();

  constructor(
    addon: Addon,
    device: Device,
    { talker, predictor }: { talker: Talker; predictor: CodePredictor },
  ) {
    this.#addon = addon;
    this.#device = device;
    this.#talker = talker;
    this.#predictor = predictor;
  }

  /** Bytes for a prompt of this many positions and this many frames after it. */
  bytes(prompt: number, frames: number, kind: KVCacheKind): number {
    const keys = roundUp(prompt + frames);
    const passes = this.#passes(prompt, keys).map((plan) => plan());
    const scratch = Math.max(...passes.map(({ computeBytes }) => computeBytes));
    // One graph for each size of the cache, whose mask grows with it.
    const sizes = 1 + frames / block;
    const io = passes[0]!.ioBytes + sizes * passes[1]!.ioBytes + this.#frameBytes();
    return scratch + io + this.#cacheBytes(prompt, frames, kind);
  }

  /** Plans what `bytes` asks for, pass by pass: planning them all takes longer than others want to wait. */
  async prepare(prompt: number, frames: number): Promise<void> {
    for (const plan of this.#passes(prompt, roundUp(prompt + frames))) {
      plan();
      await turn();
    }
  }

  /** Of the talker: over the prompt, over a frame; of the code predictor: each of a frame's. */
  #passes(prompt: number, keys: number): (() => Bytes)[] {
    return [
      () => this.#talkerPass(Math.min(prompt, longestPass), roundUp(prompt + 1)),
      () => this.#talkerPass(1, keys),
      ...Array.from({ length: this.#predictor.codes }, (_, step) => () => this.#predictorPass(step)),
    ];
  }

  /** Of which this much is held once so many frames are drawn: keys and values, and nothing while they grow. */
  heldBytes(prompt: number, frames: number): number {
    return (
      this.#predictorBytes +
      this.#positionBytes * this.#talker.config.num_hidden_layers * roundUp(prompt + frames)
    );
  }

  #cacheBytes(prompt: number, frames: number, kind: KVCacheKind): number {
    const { num_hidden_layers: layers } = this.#talker.config;
    const talker = peakBytes(this.#positionBytes, layers, prompt + frames, kind, { first: prompt + 1 });
    return this.#predictorBytes + talker;
  }

  /** Keys and values of one position of one of the talker's layers. */
  get #positionBytes(): number {
    const { kvHeads, headDim, dtype } = this.#talkerShape;
    return 2 * kvHeads * headDim * (dtype === 'f16' ? 2 : 4);
  }

  get #predictorBytes(): number {
    const { layers, kvHeads, headDim } = this.#predictorShape;
    return layers * 2 * kvHeads * headDim * 4 * block;
  }

  #talkerPass(count: number, keys: number): Bytes {
    return this.#once(`talker ${count} ${keys}`, () => {
      const cache = new PlannedCache(this.#talkerShape, keys);
      const g = new GraphBuilder(this.#addon);
      const x = g.input('x', 'f32', [1, count, this.#talker.config.hidden_size]);
      const { hidden, logits } = this.#talker.forward(g, x, {
        positions: g.input('positions', 'i32', [count]),
        mask: g.input('mask', 'f32', [count, keys]),
        caches: (layer) => cache.view(layer),
      });
      g.output('hidden', hidden);
      g.output('logits', logits);
      return cache.without(g.plan(this.#device));
    });
  }

  #predictorPass(step: number): Bytes {
    return this.#once(`predictor ${step}`, () => {
      const count = step === 0 ? 2 : 1;
      const keys = step + 2;
      const cache = new PlannedCache(this.#predictorShape, keys);
      const g = new GraphBuilder(this.#addon);
      const x = g.input('x', 'f32', [1, count, this.#talker.config.hidden_size]);
      const logits = this.#predictor.forward(g, step, x, {
        positions: g.input('positions', 'i32', [count]),
        mask: g.input('mask', 'f32', [count, keys]),
        caches: (layer) => cache.view(layer),
      });
      g.output('logits', logits);
      return cache.without(g.plan(this.#device));
    });
  }

  /** Inputs and outputs of a frame's graph: noise for every code. */
  #frameBytes(): number {
    const { codes, config } = this.#predictor;
    return 4 * codes * (config.vocab_size + 64);
  }

  get #talkerShape(): KVCacheOptions {
    const {
      num_hidden_layers: layers,
      num_key_value_heads: kvHeads,
      head_dim: headDim,
    } = this.#talker.config;
    return { layers, kvHeads, headDim, dtype: cacheDType(this.#talker, this.#device) };
  }

  get #predictorShape(): KVCacheOptions {
    const {
      num_hidden_layers: layers,
      num_key_value_heads: kvHeads,
      head_dim: headDim,
    } = this.#predictor.config;
    return { layers, kvHeads, headDim };
  }

  #once(key: string, plan: () => Bytes): Bytes {
    const known = this.#planned.get(key);
    if (known !== undefined) return known;
    const bytes = plan();
    this.#planned.set(key, bytes);
    return bytes;
  }
}

function roundUp(positions: number): number {
  return Math.ceil(positions / block) * block;
}
