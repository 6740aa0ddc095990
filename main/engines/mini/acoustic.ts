import type { GraphBuilder } from '../../nn/graph.ts';
import { ConvNeXtBlock } from '../../nn/layers/convnext.ts';
import { Embedding } from '../../nn/layers/embedding.ts';
import { Linear } from '../../nn/layers/linear.ts';
import { LayerNorm } from '../../nn/layers/norm.ts';
import { Module } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { MiniConfig } from './config.ts';

/** ConvNeXt blocks, one after the other, with what lies outside the utterance kept at zero. */
export function runBlocks(
  g: GraphBuilder,
  blocks: readonly ConvNeXtBlock[],
  x: Tensor,
  mask: Tensor | null,
): Tensor {
  let y = x;
  // Spread over the channels once: a product of equal shapes is several times faster.
  const wide = mask?.expand(...x.shape) ?? null;
  for (const block of blocks) {
    const inside = wide === null ? y : y.mul(wide);
    y = block.forward(g, inside.transpose(1, 2)).transpose(1, 2);
  }
  return y;
}

/** Length of each phone from the encoder's view of it. */
export class MiniDuration extends Module {
  readonly blocks: ConvNeXtBlock[];
  readonly norm: LayerNorm;
  readonly out: Linear;

  constructor(config: MiniConfig) {
    super();
    const { dim, duration_blocks, duration_kernel, duration_mult } = config.acoustic;
    const eps = config.block.layer_norm_eps;
    this.blocks = convNeXtBlocks(duration_blocks, dim, duration_kernel, duration_mult, eps);
    this.norm = new LayerNorm(dim, { eps });
    this.out = new Linear(dim, 1);
  }

  /** `[1, phones, dim] -> [1, phones, 1]`, natural logarithm of frames. */
  forward(g: GraphBuilder, x: Tensor, mask: Tensor | null): Tensor {
    return this.out.forward(g, this.norm.forward(g, runBlocks(g, this.blocks, x, mask)));
  }
}

/**
 * Phones to speech features, in two steps around the durations: `encode` gives a row per phone and its
 * log-duration; the rows are repeated for their frames; `decode` gives log-mel, ln F0 and voicing per frame.
 *
 * Masks are `[1, length, 1]`, 1 inside the utterance and 0 in padding behind it, and make padded input give the
 * numbers of unpadded input; null where nothing is padded.
 */
export class MiniAcoustic extends Module {
  readonly embed: Embedding;
  readonly word: Embedding;
  readonly encoder: ConvNeXtBlock[];
  readonly encoder_norm: LayerNorm;
  readonly duration: MiniDuration;
  readonly position: Linear;
  readonly decoder: ConvNeXtBlock[];
  readonly decoder_norm: LayerNorm;
  readonly out: Linear;

  constructor(config: MiniConfig) {
    super();
    const { dim, n_phones, encoder_blocks, encoder_kernel, encoder_mult } = config.acoustic;
    const { decoder_blocks, decoder_kernel, decoder_mult, out_channels } = config.acoustic;
    const eps = config.block.layer_norm_eps;
    this.embed = new Embedding(n_phones, dim);
    this.word = new Embedding(2, dim);
    this.encoder = convNeXtBlocks(encoder_blocks, dim, encoder_kernel, encoder_mult, eps);
    this.encoder_norm = new LayerNorm(dim, { eps });
    this.duration = new MiniDuration(config);
    this.position = new Linear(config.acoustic.position_features.length, dim);
    this.decoder = convNeXtBlocks(decoder_blocks, dim, decoder_kernel, decoder_mult, eps);
    this.decoder_norm = new LayerNorm(dim, { eps });
    this.out = new Linear(dim, out_channels);
  }

  override memoryUnits(): Module[] {
    return [...this.encoder, ...this.duration.blocks, ...this.decoder];
  }

  /**
   * @param ids phones, i32 `[1, phones]`
   * @param word_start 1 at the first phone of a word, else 0; i32 `[1, phones]`
   * @returns `encoder` `[1, phones, dim]`, `log_durations` `[1, phones, 1]`
   */
  encode(
    g: GraphBuilder,
    ids: Tensor,
    word_start: Tensor,
    mask: Tensor | null,
  ): { encoder: Tensor; log_durations: Tensor } {
    const x = this.embed.forward(g, ids).add(this.word.forward(g, word_start));
    const encoder = this.encoder_norm.forward(g, runBlocks(g, this.encoder, x, mask));
    return { encoder, log_durations: this.duration.forward(g, encoder, mask) };
  }

  /**
   * @param rows the encoder's row of each frame's phone, `[1, frames, dim]`
   * @param positions f, f*f and ln(d) of each frame, `[1, frames, 3]`
   * @returns log-mel, ln F0, voicing logit; `[1, frames, out_channels]`
   */
  decode(g: GraphBuilder, rows: Tensor, positions: Tensor, mask: Tensor | null): Tensor {
    const x = rows.add(this.position.forward(g, positions));
    return this.out.forward(g, this.decoder_norm.forward(g, runBlocks(g, this.decoder, x, mask)));
  }
}

export function convNeXtBlocks(
  count: number,
  dim: number,
  kernel_size: number,
  mult: number,
  layer_norm_eps: number,
): ConvNeXtBlock[] {
  return Array.from({ length: count }, () => new ConvNeXtBlock(dim, { kernel_size, mult, layer_norm_eps }));
}
