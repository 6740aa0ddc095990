import type { Addon, Arena, CancelToken, Device, State } from '../../../native/addon.ts';
import { type DrawOptions, drawToken } from '../../nn/draw.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import { KVCache, type KVCacheKind } from '../../nn/kv-cache.ts';
import { causalMask } from '../../nn/masks.ts';
import type { SamplingOptions } from '../../nn/sampling.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { CodePredictor } from './code-predictor.ts';
import { type CacheDType, cacheDType, type Talker } from './talker.ts';

export interface PassesOptions {
  talker: Talker;
  predictor: CodePredictor;
  /** Scratch memory to share. */
  arena?: Arena;
  kvCache?: KVCacheKind;
  /** Type of the talker's cache. Default: what `cacheDType` says. */
  cacheDType?: CacheDType;
  /** Positions for which the talker's cache has room at once. */
  capacity?: number;
}

/** Tensors that stay on the device from one pass to the next. */
const stateNames = ['hidden', 'next'] as const;
type StateName = (typeof stateNames)[number];

/** How the code predictor draws; graphs leave `top_p` out. */
export type PredictorSampling = DrawOptions & Pick<SamplingOptions, 'top_p'>;

/** What the code predictor draws a frame with. */
export interface FrameDraw {
  options: PredictorSampling;
  /** `[codes, vocab_size]`, standard Gumbel; null where nothing is drawn by chance. */
  noise: Float32Array | null;
}

/**
 * The passes of one utterance, each a graph that is recorded once and replayed: the talker's over the prompt and over
 * one frame, the code predictor's over one frame. The talker's state and the next input stay on the device in between.
 */
export class GenerationPasses {
  readonly cache: KVCache;
  readonly #talker: Talker;
  readonly #predictor: CodePredictor;
  readonly #predictorCache: KVCache;
  readonly #graphs: GraphCache;
  readonly #state: State;

  private constructor(
    addon: Addon,
    device: Device,
    options: PassesOptions,
    parts: { cache: KVCache; predictorCache: KVCache; state: State },
  ) {
    this.#talker = options.talker;
    this.#predictor = options.predictor;
    this.cache = parts.cache;
    this.#predictorCache = parts.predictorCache;
    this.#state = parts.state;
    this.#graphs = new GraphCache(addon, device, { arena: options.arena, maxGraphs: 48 });
  }

  /** @throws NativeError `OutOfDeviceMemory` */
  static async create(addon: Addon, device: Device, options: PassesOptions): Promise<GenerationPasses> {
    const { config } = options.talker;
    const own = options.predictor.config;
    const cache = await KVCache.create(addon, device, {
      layers: config.num_hidden_layers,
      kvHeads: config.num_key_value_heads,
      headDim: config.head_dim,
      dtype: options.cacheDType ?? cacheDType(options.talker, device),
      kind: options.kvCache,
      capacity: options.capacity,
    });
    let predictorCache: KVCache | null = null;
    try {
      predictorCache = await KVCache.create(addon, device, {
        layers: own.num_hidden_layers,
        kvHeads: own.num_key_value_heads,
        headDim: own.head_dim,
        kind: 'static',
        capacity: options.predictor.codes + 1,
      });
      const shape = [1, 1, config.hidden_size];
      const state = await device.createState(stateNames.map(() => ({ dtype: 'f32', shape })));
      return new GenerationPasses(addon, device, options, { cache, predictorCache, state });
    } catch (error) {
      cache.dispose();
      predictorCache?.dispose();
      throw error;
    }
  }

  /**
   * The talker over the next positions of the prompt.
   *
   * @param x `[count, hidden_size]`
   * @returns `[vocab_size]`: scores after the last of them.
   */
  async prefill(x: Float32Array, signal?: CancelToken): Promise<Float32Array> {
    const width = this.#talker.config.hidden_size;
    const count = x.length / width;
    return this.#talk(`prefill ${count}`, count, { x }, signal, (g) =>
      g.input('x', 'f32', [1, count, width]),
    );
  }

  /**
   * The talker over the frame that `predict` drew.
   *
   * @param text `[hidden_size]`: added to the sum of the frame's vectors.
   * @returns `[vocab_size]`: scores of the next frame's first code.
   */
  step(text: Float32Array, signal?: CancelToken): Promise<Float32Array> {
    return this.#talk('step', 1, { text }, signal, (g) => this.#get(g, 'next').add(this.#textInput(g)));
  }

  /** Draws a frame's other codes, all in one graph. */
  async predict(
    code: number,
    draw: FrameDraw,
    signal?: CancelToken,
    meanwhile?: () => void,
  ): Promise<Int32Array> {
    return this.#graphs.use(
      `predictor:frame ${drawKey(draw.options)}`,
      (g) => this.#put(g, 'next', this.#recordFrame(g, draw.options)),
      async (graph) => {
        const running = graph.run(this.#frameInputs(code, draw), { signal, read: ['codes'] });
        meanwhile?.();
        return (await running).codes as Int32Array;
      },
    );
  }

  /** `predict`, then `step`, in one graph. */
  async predictAndStep(
    code: number,
    draw: FrameDraw,
    text: Float32Array,
    signal?: CancelToken,
    meanwhile?: () => void,
  ): Promise<{ codes: Int32Array; logits: Float32Array }> {
    await this.#reserve(1);
    const { length } = this.cache;
    const result = await this.#graphs.use(
      `${ofTalker}frame ${drawKey(draw.options)}`,
      (g) => {
        const next = this.#recordFrame(g, draw.options);
        this.#recordTalker(g, 1, next.add(this.#textInput(g)));
      },
      async (graph) => {
        const inputs = { ...this.#frameInputs(code, draw), text, ...this.#places(1, length) };
        const running = graph.run(inputs, { signal, read: ['codes', 'logits'] });
        meanwhile?.();
        return running;
      },
    );
    this.cache.advance(1);
    return { codes: result.codes as Int32Array, logits: result.logits as Float32Array };
  }

  /**
   * One code after the other, drawn by the caller: for what a graph cannot draw.
   *
   * @param draw answers with a token for the scores of code `step + 1`, which it may overwrite.
   */
  async predictBySteps(
    code: number,
    draw: (logits: Float32Array, step: number) => number,
    signal?: CancelToken,
  ): Promise<Int32Array> {
    const codes = new Int32Array(this.#predictor.codes);
    let last = code;
    for (const step of codes.keys()) {
      const logits = await this.#graphs.use(
        `predictor:code ${step}`,
        (g) => {
          const { x, next } = this.#codeInput(g, step, g.input('code', 'i32', [1]));
          this.#put(g, 'next', next);
          g.output('logits', this.#recordCode(g, step, x));
        },
        async (graph) => {
          const result = await graph.run({ code: Int32Array.of(last) }, { signal, read: ['logits'] });
          return result.logits as Float32Array;
        },
      );
      last = draw(logits, step);
      codes[step] = last;
    }
    await this.#graphs.use(
      'predictor:last code',
      (g) => {
        const vector = this.#predictor.embed(g, codes.length - 1, g.input('code', 'i32', [1]));
        this.#put(g, 'next', this.#get(g, 'next').add(vector));
      },
      (graph) => graph.run({ code: Int32Array.of(last) }, { signal, read: [] }),
    );
    return codes;
  }

  /** The talker's last state, `[hidden_size]`. */
  async hidden(): Promise<Float32Array> {
    return (await this.#state.read(stateNames.indexOf('hidden'))) as Float32Array;
  }

  async dispose(): Promise<void> {
    await this.#graphs.dispose();
    this.cache.dispose();
    this.#predictorCache.dispose();
    this.#state.dispose();
  }

  /** A graph keeps the cache that it was recorded for: those of the talker go before the cache grows. */
  async #reserve(count: number): Promise<void> {
    const { length, capacity } = this.cache;
    if (length + count > capacity) this.#graphs.drop(ofTalker);
    await this.cache.reserve(count);
  }

  async #talk(
    key: string,
    count: number,
    inputs: Record<string, Float32Array>,
    signal: CancelToken | undefined,
    input: (g: GraphBuilder) => Tensor,
  ): Promise<Float32Array> {
    await this.#reserve(count);
    const { length } = this.cache;
    const result = await this.#graphs.use(
      `${ofTalker}${key}`,
      (g) => this.#recordTalker(g, count, input(g)),
      (graph) => graph.run({ ...inputs, ...this.#places(count, length) }, { signal, read: ['logits'] }),
    );
    this.cache.advance(count);
    return result.logits as Float32Array;
  }

  #recordTalker(g: GraphBuilder, count: number, x: Tensor): void {
    const slots = g.input('slots', 'i64', [count]);
    const { hidden, logits } = this.#talker.forward(g, x, {
      positions: g.input('positions', 'i32', [count]),
      mask: g.input('mask', 'f32', [count, this.cache.capacity]),
      caches: (layer) => this.cache.view(layer, slots),
    });
    this.#put(g, 'hidden', hidden);
    g.output('logits', logits);
  }

  /** Inputs of `#recordTalker` beside the vectors. */
  #places(count: number, length: number) {
    return {
      slots: this.cache.slots(count),
      positions: Int32Array.from({ length: count }, (_, index) => length + index),
      mask: causalMask(count, this.cache.capacity, length),
    };
  }

  /** All codes of a frame; answers with the sum of the frame's vectors. */
  #recordFrame(g: GraphBuilder, options: DrawOptions): Tensor {
    const { codes: count, config } = this.#predictor;
    const noise = options.do_sample === false ? null : g.input('noise', 'f32', [count, config.vocab_size]);
    const codes: Tensor[] = [];
    let { x, next } = this.#codeInput(g, 0, g.input('code', 'i32', [1]));
    for (let step = 0; step < count; step += 1) {
      const logits = this.#recordCode(g, step, x);
      const code = drawToken(g, logits, noise?.narrow(0, step, 1) ?? null, options);
      codes.push(code);
      x = this.#predictor.embed(g, step, code);
      next = next.add(x);
    }
    g.output('codes', codes[0]!.record('concat', codes, [0], [count]));
    return next;
  }

  #frameInputs(code: number, draw: FrameDraw): Record<string, Float32Array | Int32Array> {
    const inputs = { code: Int32Array.of(code) };
    return draw.noise === null ? inputs : { ...inputs, noise: draw.noise };
  }

  /** Vectors of the predictor's positions at `step`, and the sum of the frame's vectors so far. */
  #codeInput(g: GraphBuilder, step: number, code: Tensor): { x: Tensor; next: Tensor } {
    if (step > 0) {
      const vector = this.#predictor.embed(g, step - 1, code);
      return { x: vector, next: this.#get(g, 'next').add(vector) };
    }
    const vector = this.#talker.model.codec_embedding.forward(g, code).unsqueeze(0);
    return { x: this.#get(g, 'hidden').concat(vector, 1), next: vector };
  }

  /** Every position is known while recording: attention sees the positions so far and needs no mask after the first two. */
  #recordCode(g: GraphBuilder, step: number, x: Tensor): Tensor {
    const count = x.size(1);
    const start = step === 0 ? 0 : step + 1;
    const places = Array.from({ length: count }, (_, index) => start + index);
    const slots = g.constant(`slots:${step}`, 'i64', [count], () => BigInt64Array.from(places, BigInt));
    return this.#predictor.forward(g, step, x, {
      positions: g.constant(`positions:${step}`, 'i32', [count], () => Int32Array.from(places)),
      mask:
        count === 1
          ? undefined
          : g.constant(`mask:${step}`, 'f32', [count, count], () => causalMask(count, count)),
      caches: (layer) => this.#predictorCache.view(layer, slots, start + count),
    });
  }

  #textInput(g: GraphBuilder): Tensor {
    return g.input('text', 'f32', [1, 1, this.#talker.config.hidden_size]);
  }

  #get(g: GraphBuilder, name: StateName): Tensor {
    return g.state(this.#state, stateNames.indexOf(name), 'f32', [1, 1, this.#talker.config.hidden_size]);
  }

  #put(g: GraphBuilder, name: StateName, value: Tensor): void {
    const written = value.record('cpy', [value.contiguous(), this.#get(g, name)], [], value.shape);
    g.output(`${name} written`, written);
  }
}

/** Keys of graphs with the talker's cache begin with it. */
const ofTalker = 'talker:';

function drawKey({ do_sample = true, temperature = 1, top_k = 0 }: DrawOptions): string {
  return do_sample ? `${temperature}:${top_k}` : 'greedy';
}
