import type { Addon, Arena, CancelToken, Device } from '../../../native/addon.ts';
import type { EcapaTdnn } from '../../nn/blocks/ecapa-tdnn.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import { speakerMel } from './speaker-mel.ts';

export interface SpeakerEncodingOptions {
  addon: Addon;
  device: Device;
  module: EcapaTdnn;
  /** Scratch memory shared with other graphs of the device. Default: its own. */
  arena?: Arena;
}

/** The speaker encoder's name for a tensor of the model's checkpoint; null: another component's. */
export function speakerEncoderName(name: string): string | null {
  const prefix = 'speaker_encoder.';
  return name.startsWith(prefix) ? name.slice(prefix.length) : null;
}

/** Makes a voice's vector of reference audio, on one device. */
export class SpeakerEncoding {
  readonly #module: EcapaTdnn;
  readonly #graphs: GraphCache;

  constructor({ addon, device, module, arena }: SpeakerEncodingOptions) {
    this.#module = module;
    // References differ in length, so that a graph is hardly used twice. Widened weights: parts of a matrix would be
    // multiplied with activations rounded to bfloat16.
    const options = { maxGraphs: 1, widenWeights: true };
    this.#graphs = new GraphCache(addon, device, arena === undefined ? options : { ...options, arena });
  }

  /** Working memory in bytes for this many samples, as planned. */
  workingBytes(samples: number): number {
    const frames = Math.floor(samples / 256);
    const { computeBytes, ioBytes } = this.#graphs.plan(String(frames), (g) => this.#record(g, frames));
    return computeBytes + ioBytes;
  }

  /**
   * @param samples mono at 24 kHz
   * @returns `[enc_dim]`, as the talker takes it
   * @throws RangeError where there are too few samples for one spectrum; `codecReference` refuses them before
   */
  async encode(samples: Float32Array, signal?: CancelToken): Promise<Float32Array> {
    const { frames, mel } = speakerMel(samples);
    if (frames < this.#module.leastFrames) {
      throw new RangeError(
        `${samples.length} samples make ${frames} frames; the speaker encoder needs ${this.#module.leastFrames}.`,
      );
    }
    return this.#graphs.use(
      String(frames),
      (g) => this.#record(g, frames),
      (graph) => graph.runFloat32({ mel }, 'vector', signal === undefined ? {} : { signal }),
    );
  }

  /** The graph that is kept: it can be made again. */
  get kept(): GraphCache {
    return this.#graphs;
  }

  dispose(): Promise<void> {
    return this.#graphs.dispose();
  }

  #record(g: GraphBuilder, frames: number): void {
    const mel = g.input('mel', 'f32', [frames, this.#module.config.mel_dim]);
    g.output('vector', this.#module.forward(g, mel));
  }
}
