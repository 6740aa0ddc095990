import type { GraphBuilder } from '../../nn/graph.ts';
import { Conv1d } from '../../nn/layers/conv1d.ts';
import type { ConvNeXtBlock } from '../../nn/layers/convnext.ts';
import { Linear } from '../../nn/layers/linear.ts';
import { LayerNorm } from '../../nn/layers/norm.ts';
import { Module } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import { convNeXtBlocks, runBlocks } from './acoustic.ts';
import type { MiniConfig } from './config.ts';

/**
 * Speech features to a filter per frame (shape of Vocos, Siuzdak 2023). The head's log-magnitude and phase shape an
 * excitation (see `Synthesis`); they are not the spectrum itself.
 */
export class MiniVocoder extends Module {
  readonly conv_in: Conv1d;
  readonly norm_in: LayerNorm;
  readonly blocks: ConvNeXtBlock[];
  readonly norm_out: LayerNorm;
  readonly head: Linear;
  /** What brings the features near mean 0 and variance 1: (x - shift) * scale per channel. */
  readonly #shift: Float32Array;
  readonly #scale: Float32Array;

  constructor(config: MiniConfig) {
    super();
    const { dim, blocks, kernel, mult, in_channels, in_kernel, ...norm } = config.vocoder;
    const eps = config.block.layer_norm_eps;
    this.conv_in = new Conv1d(in_channels, dim, in_kernel, { padding: (in_kernel - 1) / 2 });
    this.norm_in = new LayerNorm(dim, { eps });
    this.blocks = convNeXtBlocks(blocks, dim, kernel, mult, eps);
    this.norm_out = new LayerNorm(dim, { eps });
    this.head = new Linear(dim, config.istft.n_fft + 2);
    const mels = in_channels - 2;
    const fill = (mel: number, lf0: number, voicing: number) =>
      Float32Array.from({ length: in_channels }, (_, c) => (c < mels ? mel : c === mels ? lf0 : voicing));
    this.#shift = fill(norm.mel_shift, norm.lf0_shift, 0);
    this.#scale = fill(norm.mel_scale, norm.lf0_scale, 1);
  }

  override memoryUnits(): Module[] {
    return [...this.blocks, this.head];
  }

  /**
   * @param features log-mel, ln F0 (Hz), voicing 0..1; `[1, frames, in_channels]`
   * @param mask `[1, frames, 1]` or null, as in MiniAcoustic
   * @returns log-magnitudes, then phases; `[1, frames, n_fft + 2]`
   */
  forward(g: GraphBuilder, features: Tensor, mask: Tensor | null): Tensor {
    const shape = [this.#shift.length];
    const shift = g.constant('mini.shift', 'f32', shape, () => this.#shift);
    const scale = g.constant('mini.scale', 'f32', shape, () => this.#scale);
    let x = features.sub(shift).mul(scale);
    if (mask !== null) x = x.mul(mask);
    x = this.conv_in.forward(g, x.transpose(1, 2)).transpose(1, 2);
    x = runBlocks(g, this.blocks, this.norm_in.forward(g, x), mask);
    return this.head.forward(g, this.norm_out.forward(g, x));
  }
}
