import type { Addon, CancelToken, TensorData } from '../../../native/addon.ts';
import type { DeviceBook } from '../../memory/device-book.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import type { MiniAcoustic } from './acoustic.ts';
import type { MiniConfig } from './config.ts';
import { framePositions } from './durations.ts';
import type { MiniVocoder } from './vocoder.ts';
import { receptiveFields, type Window, windowsOf } from './windows.ts';

/** Longest passes, surroundings included: they bound the working memory. */
export interface Longest {
  phones: number;
  frames: number;
}

/** About 25 s of phones and 5.5 s of frames. */
const defaultLongest: Longest = { phones: 256, frames: 512 };

/** Lengths are padded to multiples of these, so that a few graphs serve all sentences. */
const phoneStep = 16;
const frameStep = 32;

export interface Encoded {
  /** One row per phone, `[phones, dim]`. */
  encoder: Float32Array;
  /** Natural logarithm of frames, `[phones]`. */
  logDurations: Float32Array;
}

/** Below this size a device keeps only the graph that it runs: inputs and outputs of others would fill it. */
const tinyDevice = 32 * 2 ** 20;

type Pass = 'encode' | 'decode' | 'vocode';

/** Runs the two networks over utterances of any length, window by window, on one device. */
export class MiniNetworks {
  readonly #config: MiniConfig;
  readonly #acoustic: MiniAcoustic;
  readonly #vocoder: MiniVocoder;
  /** Kept from request to request; they can be made again. */
  readonly graphs: GraphCache;
  readonly #context: ReturnType<typeof receptiveFields>;
  readonly #bytes = new Map<string, number>();
  readonly #tiny: boolean;
  #lastKey = '';

  constructor(
    addon: Addon,
    book: DeviceBook,
    config: MiniConfig,
    readonly acoustic: ModelHandle,
    readonly vocoder: ModelHandle,
    private readonly longest: Longest = defaultLongest,
  ) {
    this.#config = config;
    this.#acoustic = acoustic.module as MiniAcoustic;
    this.#vocoder = vocoder.module as MiniVocoder;
    this.#tiny = !book.device.isHost && book.device.memory().totalBytes < tinyDevice;
    this.graphs = new GraphCache(addon, book.device, {
      arena: book.arena,
      maxGraphs: 32,
      maxBytes: 2 ** 26,
      // It costs next to nothing here, and makes results a hundred times more exact on the processor (which rounds
      // activations to half precision beside half-precision weights), ten times on Vulkan (which sums in it).
      widenWeights: true,
    });
    this.#context = receptiveFields(config);
  }

  /** Working memory in bytes of the acoustic stage for this many phones, if they become this many frames. */
  acousticBytes(phones: number, frames: number): number {
    return Math.max(
      this.#passBytes('encode', padded(Math.min(phones, this.longest.phones), phoneStep)),
      this.#passBytes('decode', padded(Math.min(frames, this.longest.frames), frameStep)),
    );
  }

  /** Working memory in bytes of the vocoder stage. */
  vocoderBytes(frames: number): number {
    return this.#passBytes('vocode', padded(Math.min(frames, this.longest.frames), frameStep));
  }

  /** @param ids phones; @param wordStarts 1 at the first phone of each word; both `[phones]` */
  async encode(ids: Int32Array, wordStarts: Int32Array, signal: CancelToken): Promise<Encoded> {
    const { dim } = this.#config.acoustic;
    const encoder = new Float32Array(ids.length * dim);
    const logDurations = new Float32Array(ids.length);
    for (const window of windowsOf(ids.length, this.longest.phones, this.#context.encoder)) {
      const length = padded(window.to - window.from, phoneStep);
      const cut = (values: Int32Array) =>
        stretch(values.subarray(window.from, window.to), new Int32Array(length));
      const out = await this.#run(
        'encode',
        length,
        window,
        { ids: cut(ids), word_start: cut(wordStarts) },
        signal,
      );
      encoder.set(core(out.encoder as Float32Array, window, dim), window.start * dim);
      logDurations.set(core(out.log_durations as Float32Array, window, 1), window.start);
    }
    return { encoder, logDurations };
  }

  /**
   * @param encoder `[phones, dim]`
   * @param frames frames of each phone
   * @returns log-mel, ln F0 and voicing 0..1; `[frames, channels]`
   */
  async decode(encoder: Float32Array, frames: Int32Array, signal: CancelToken): Promise<Float32Array> {
    const { dim, out_channels: channels } = this.#config.acoustic;
    const { phone, features } = framePositions(frames);
    const total = phone.length;
    const out = new Float32Array(total * channels);
    for (const window of windowsOf(total, this.longest.frames, this.#context.decoder)) {
      const length = padded(window.to - window.from, frameStep);
      const rows = new Float32Array(length * dim);
      for (let t = window.from; t < window.to; t++) {
        const row = phone[t]! * dim;
        rows.set(encoder.subarray(row, row + dim), (t - window.from) * dim);
      }
      const positions = stretch(
        features.subarray(3 * window.from, 3 * window.to),
        new Float32Array(3 * length),
      );
      const run = await this.#run('decode', length, window, { rows, positions }, signal);
      out.set(core(run.features as Float32Array, window, channels), window.start * channels);
    }
    for (let at = channels - 1; at < out.length; at += channels) out[at] = 1 / (1 + Math.exp(-out[at]!));
    return out;
  }

  /** The windows in which `vocode` takes an utterance of this many frames. */
  vocoderWindows(frames: number): Window[] {
    return windowsOf(frames, this.longest.frames, this.#context.vocoder);
  }

  /**
   * @param features as from `decode`, of the whole utterance
   * @returns log-magnitudes, then phases of the window's frames; `[end - start, n_fft + 2]`
   */
  async vocode(features: Float32Array, window: Window, signal: CancelToken): Promise<Float32Array> {
    const { in_channels: channels } = this.#config.vocoder;
    const length = padded(window.to - window.from, frameStep);
    const cut = features.subarray(window.from * channels, window.to * channels);
    const inputs = { features: stretch(cut, new Float32Array(length * channels)) };
    const out = await this.#run('vocode', length, window, inputs, signal);
    return core(out.head as Float32Array, window, this.#config.istft.n_fft + 2);
  }

  dispose(): Promise<void> {
    return this.graphs.dispose();
  }

  async #run(
    pass: Pass,
    length: number,
    window: Window,
    inputs: Record<string, TensorData>,
    signal: CancelToken,
  ): Promise<Record<string, TensorData>> {
    const mask = new Float32Array(length).fill(1, 0, window.to - window.from);
    const key = `${pass} ${length}`;
    if (this.#tiny && key !== this.#lastKey) this.graphs.drop();
    this.#lastKey = key;
    const record = (g: GraphBuilder) => this.#record(pass, g, length);
    return this.graphs.use(key, record, (graph) => graph.run({ ...inputs, mask }, { signal }));
  }

  #record(pass: Pass, g: GraphBuilder, length: number): void {
    const { dim } = this.#config.acoustic;
    const mask = g.input('mask', 'f32', [1, length, 1]);
    if (pass === 'encode') {
      const ids = g.input('ids', 'i32', [1, length]);
      const out = this.#acoustic.encode(g, ids, g.input('word_start', 'i32', [1, length]), mask);
      g.output('encoder', out.encoder);
      g.output('log_durations', out.log_durations);
    } else if (pass === 'decode') {
      const rows = g.input('rows', 'f32', [1, length, dim]);
      g.output('features', this.#acoustic.decode(g, rows, g.input('positions', 'f32', [1, length, 3]), mask));
    } else {
      const features = g.input('features', 'f32', [1, length, this.#config.vocoder.in_channels]);
      g.output('head', this.#vocoder.forward(g, features, mask));
    }
  }

  /** Exact: the graph is recorded and its memory laid out, without allocating it. */
  #passBytes(pass: Pass, length: number): number {
    const key = `${pass} ${length}`;
    const known = this.#bytes.get(key);
    if (known !== undefined) return known;
    const plan = this.graphs.plan(key, (g) => this.#record(pass, g, length));
    const bytes = plan.computeBytes + plan.ioBytes;
    this.#bytes.set(key, bytes);
    return bytes;
  }
}

function padded(length: number, step: number): number {
  return Math.ceil(length / step) * step;
}

/** Copy into the beginning of a longer array of zeros. */
function stretch<T extends Int32Array | Float32Array>(values: T, zeros: T): T {
  zeros.set(values);
  return zeros;
}

/** The window's own rows out of a pass over its surroundings. */
function core(rows: Float32Array, { start, end, from }: Window, width: number): Float32Array {
  return rows.subarray((start - from) * width, (end - from) * width);
}
