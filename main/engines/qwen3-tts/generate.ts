import type { Addon, Arena, CancelToken, Device } from '../../../native/addon.ts';
import { StudioError } from '../../contract/errors.ts';
import { drawsOn, drawTokenOnHost } from '../../nn/draw.ts';
import type { KVCacheKind } from '../../nn/kv-cache.ts';
import { fuseWhereSupported } from '../../nn/layers/attention.ts';
import type { Random } from '../../nn/random.ts';
import { checkSampling, processLogits, type SamplingOptions, sample } from '../../nn/sampling.ts';
import type { CodePredictor } from './code-predictor.ts';
import { type FrameDraw, GenerationPasses, type PredictorSampling } from './generate-passes.ts';
import type { EmbeddedPrompt } from './generate-prompt.ts';
import { type CacheDType, cacheDType, type Talker } from './talker.ts';

/** Codec ids that generation needs to know. */
export interface CodecIds {
  codec_eos_token_id: number;
}

export interface GenerateOptions {
  /** First codes: generation_config.json's names. Defaults are transformers'. */
  sampling: SamplingOptions;
  /** The other codes: names without the prefix `subtalker_`. */
  predictor: PredictorSampling;
  /** Source of every draw; put back to an earlier state, the same frames come again. */
  random: Random;
  /** Frames after which it stops without an end token. */
  maxFrames: number;
  /** First codes before which no end may come. Default: 2, as upstream. */
  minFrames?: number;
  signal?: CancelToken;
  /**
   * Graphs for each frame: `one` for codes and talker, `two`, or `many`: one for each code, which is drawn here. The
   * frames are the same. Default: `two`; `many` where `top_p` is below 1 or the device cannot draw.
   */
  graphs?: 'one' | 'two' | 'many';
}

/** Why generation stopped. */
export type GenerationEnd = 'end' | 'limit';

export interface FrameGeneratorParts {
  talker: Talker;
  predictor: CodePredictor;
  ids: CodecIds;
  /** Scratch memory to share; default: its own. */
  arena?: Arena;
  kvCache?: KVCacheKind;
  /** Type of the talker's keys and values. Default: what `cacheDType` says. */
  cacheDType?: CacheDType;
}

/** Longest stretch of a prompt in one pass: bounds the working memory. */
const prefillRows = 256;

/**
 * Draws frames of codes for a prompt, as upstream's `generate` with a batch of one: a first code by the talker, the
 * others by the code predictor, the sum of their vectors and of the next text vector as the talker's next input.
 */
export class FrameGenerator {
  readonly #addon: Addon;
  readonly #device: Device;
  readonly #parts: FrameGeneratorParts;
  /** Ids that are no code, without the end. */
  readonly #special: number[];
  #cacheDType: CacheDType;

  constructor(addon: Addon, device: Device, parts: FrameGeneratorParts) {
    this.#addon = addon;
    this.#device = device;
    this.#parts = parts;
    for (const network of [parts.talker, parts.predictor]) fuseWhereSupported(addon, device, network);
    const { vocab_size: all, code_predictor_config: own } = parts.talker.config;
    const special = Array.from({ length: all - own.vocab_size }, (_, index) => own.vocab_size + index);
    this.#special = special.filter((id) => id !== parts.ids.codec_eos_token_id);
    this.#cacheDType = parts.cacheDType ?? cacheDType(parts.talker, device);
  }

  /**
   * Yields one frame at a time, `[num_code_groups]`, as soon as it is drawn.
   *
   * @throws RangeError for settings out of range; StudioError `internal` for scores that are no numbers; NativeError
   *   `Cancelled`, `OutOfDeviceMemory`
   */
  async *frames(prompt: EmbeddedPrompt, options: GenerateOptions): AsyncGenerator<Int32Array, GenerationEnd> {
    checkSampling(options.sampling);
    checkSampling(options.predictor);
    let passes = await this.#passes(prompt);
    try {
      let logits = await this.#prefill(passes, prompt, options.signal);
      if (this.#cacheDType === 'f16' && !logits.every(Number.isFinite)) {
        // Keys or values beyond 65504. What makes them so large is there from the first positions on, and in every text.
        this.#cacheDType = 'f32';
        await passes.dispose();
        passes = await this.#passes(prompt);
        logits = await this.#prefill(passes, prompt, options.signal);
      }
      return yield* this.#draw(passes, prompt, logits, options);
    } finally {
      await passes.dispose();
    }
  }

  #passes(prompt: EmbeddedPrompt): Promise<GenerationPasses> {
    return GenerationPasses.create(this.#addon, this.#device, {
      ...this.#parts,
      cacheDType: this.#cacheDType,
      capacity: prompt.positions + 1,
    });
  }

  async *#draw(
    passes: GenerationPasses,
    prompt: EmbeddedPrompt,
    prompted: Float32Array,
    options: GenerateOptions,
  ): AsyncGenerator<Int32Array, GenerationEnd> {
    const { signal, maxFrames } = options;
    const graphs = this.#drawsInGraph(options.predictor) ? (options.graphs ?? 'two') : 'many';
    const noise = new FrameNoise(options, this.#parts.predictor);
    const history: number[] = [];
    let logits = prompted;
    for (let frame = 0; frame < maxFrames; frame += 1) {
      const first = this.#firstCode(logits, history, options);
      if (first === this.#parts.ids.codec_eos_token_id) return 'end';
      history.push(first);
      const text = textOf(prompt, frame);
      const draw = noise.current();
      const ahead = (): void => noise.advance();
      if (graphs === 'one') {
        const result = await passes.predictAndStep(first, draw, text, signal, ahead);
        logits = result.logits;
        yield joined(first, result.codes);
        continue;
      }
      const codes =
        graphs === 'two'
          ? await passes.predict(first, draw, signal, ahead)
          : await passes.predictBySteps(first, (scores, step) => drawStep(scores, step, draw), signal);
      if (graphs === 'many') ahead();
      yield joined(first, codes);
      if (frame + 1 < maxFrames) logits = await passes.step(text, signal);
    }
    return 'limit';
  }

  #drawsInGraph(options: PredictorSampling): boolean {
    const { vocab_size: codes } = this.#parts.predictor.config;
    return (options.top_p ?? 1) >= 1 && drawsOn(this.#addon, this.#device, codes, options);
  }

  async #prefill(
    passes: GenerationPasses,
    prompt: EmbeddedPrompt,
    signal?: CancelToken,
  ): Promise<Float32Array> {
    const width = this.#parts.talker.config.hidden_size;
    let logits: Float32Array = new Float32Array();
    for (let from = 0; from < prompt.positions; from += prefillRows) {
      const to = Math.min(from + prefillRows, prompt.positions);
      logits = await passes.prefill(prompt.rows.subarray(from * width, to * width), signal);
    }
    return logits;
  }

  #firstCode(logits: Float32Array, history: readonly number[], options: GenerateOptions): number {
    if (!logits.every(Number.isFinite)) throw notNumbers(history.length, this.#cacheDType);
    const early = history.length < (options.minFrames ?? 2);
    const barred = early ? [...this.#special, this.#parts.ids.codec_eos_token_id] : this.#special;
    const suppress_tokens = [...(options.sampling.suppress_tokens ?? []), ...barred];
    return sample(logits, options.random, { ...options.sampling, suppress_tokens }, history);
  }
}

/**
 * Gumbel noise of the code predictor, a frame ahead, so that it is drawn while the device computes. It comes from a
 * generator of its own: the first codes' draws do not depend on it.
 */
class FrameNoise {
  readonly #random: Random;
  readonly #options: PredictorSampling;
  readonly #values: Float32Array | null;

  constructor({ random, predictor: options }: GenerateOptions, predictor: CodePredictor) {
    this.#random = random.fork('code predictor');
    this.#options = options;
    const sampled = options.do_sample !== false;
    this.#values = sampled ? new Float32Array(predictor.codes * predictor.config.vocab_size) : null;
    this.advance();
  }

  /** Changes with `advance`. */
  current(): FrameDraw {
    return { options: this.#options, noise: this.#values };
  }

  /** Inputs are copied when a run begins. */
  advance(): void {
    if (this.#values !== null) this.#random.fillGumbel(this.#values);
  }
}

function notNumbers(frame: number, dtype: CacheDType): StudioError {
  const range = dtype === 'f16' ? 'float16, in which this device keeps keys and values' : 'float32';
  return new StudioError(
    'internal',
    `The talker's scores for frame ${frame} are no numbers: something left the range of ${range}. ` +
      'Speak it on the processor, or with another seed.',
    { params: { frame } },
  );
}

/** The text that is added to a frame. */
function textOf({ trailing, pad }: EmbeddedPrompt, frame: number): Float32Array {
  const text = trailing.subarray(frame * pad.length, (frame + 1) * pad.length);
  return text.length > 0 ? text : pad;
}

function joined(first: number, others: Int32Array): Int32Array {
  return Int32Array.of(first, ...others);
}

/** What top-p leaves is drawn from with the same noise as in a graph. */
function drawStep(logits: Float32Array, step: number, { options, noise }: FrameDraw): number {
  const own = noise?.subarray(step * logits.length, (step + 1) * logits.length) ?? null;
  if (own === null || (options.top_p ?? 1) >= 1) return drawTokenOnHost(logits, own, options);
  const kept = processLogits(logits.slice(), options);
  const left = logits.map((logit, token) => (kept[token] === Number.NEGATIVE_INFINITY ? kept[token] : logit));
  return drawTokenOnHost(left, own, { temperature: options.temperature });
}
