import { CausalConvTranspose1d } from '../../nn/blocks/causal-conv-transpose1d.ts';
import { CausalConv1d } from '../../nn/blocks/causal-conv1d.ts';
import { CausalConvNeXtBlock } from '../../nn/blocks/causal-convnext.ts';
import { Codebook, ResidualVectorQuantizer } from '../../nn/blocks/residual-vq.ts';
import { splitRows } from '../../nn/blocks/rows.ts';
import { SnakeBetaRows } from '../../nn/blocks/snake-beta-rows.ts';
import type { Stream } from '../../nn/blocks/stream.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { Module, ModuleList } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import { CodecTransformer } from './codec-decoder-transformer.ts';
import { type CodecTensors, withoutWrapper } from './codec-tensors.ts';
import type { CodecDecoderConfig } from './config.ts';

/**
 * Codes to samples: the decoder of `Qwen3TTSTokenizerV2` (`modeling_qwen3_tts_tokenizer_v2.py`), chunk by chunk and
 * channels last. Nothing in it looks ahead, so that a stream of chunks gives what one pass would give.
 */
export class CodecDecoder extends Module {
  readonly quantizer: SplitQuantizer;
  readonly pre_conv: CausalConv1d;
  readonly pre_transformer: CodecTransformer;
  readonly upsample: ModuleList<Upsample>;
  readonly decoder: ModuleList<DecoderPart>;

  /** @param tensors absent: random weights, for tests and benchmarks. */
  constructor(
    readonly config: CodecDecoderConfig,
    tensors?: CodecTensors,
  ) {
    super();
    const { codebook_dim, latent_dim, decoder_dim, upsample_rates, upsampling_ratios } = config;
    this.quantizer = new SplitQuantizer(config, tensors);
    this.pre_conv = new CausalConv1d(codebook_dim, latent_dim, 3);
    this.pre_transformer = new CodecTransformer(config);
    this.upsample = new ModuleList(upsampling_ratios.map((factor) => new Upsample(latent_dim, factor)));
    const blocks = upsample_rates.map((rate, index) => {
      const path = `decoder.decoder.${index + 1}.block`;
      return new DecoderBlock(decoder_dim >> index, rate, path, tensors);
    });
    const channels = decoder_dim >> upsample_rates.length;
    const snake = tensors?.snake(`decoder.decoder.${blocks.length + 1}`, channels);
    this.decoder = new ModuleList<DecoderPart>([
      new CausalConv1d(latent_dim, decoder_dim, 7),
      ...blocks,
      new SnakeBetaRows(channels, snake),
      new CausalConv1d(channels, 1, 7),
    ]);
  }

  override memoryUnits(): Module[] {
    const parts = [...this.decoder].flatMap((part) => (part instanceof DecoderBlock ? part.units() : [part]));
    return [this.pre_conv, ...this.pre_transformer.layers, ...this.upsample, ...parts];
  }

  get samplesPerFrame(): number {
    const { upsample_rates, upsampling_ratios } = this.config;
    return [...upsample_rates, ...upsampling_ratios].reduce((product, rate) => product * rate, 1);
  }

  /**
   * @param codes i32 `[num_quantizers, frames]`
   * @param positions i32 `[frames]`, counted from the signal's first frame
   * @param mask `windowMask(frames, sliding_window, positions[0])`
   * @returns `[frames * samplesPerFrame]`, -1..1
   */
  forward(g: GraphBuilder, codes: Tensor, positions: Tensor, mask: Tensor, stream: Stream): Tensor {
    let x = this.pre_conv.forward(g, this.quantizer.decode(g, codes, stream), stream);
    x = this.pre_transformer.forward(g, x, positions, mask, stream);
    for (const stage of this.upsample) x = stage.forward(g, x, stream);
    let pieces = [x];
    for (const part of this.decoder) pieces = throughPart(g, part, pieces, stream);
    // Samples as rows would be joined one by one.
    const wave = pieces
      .map((piece) => piece.reshape(piece.elements))
      .reduce((joined, piece) => joined.concat(piece, 0));
    return wave.clamp(-1, 1);
  }
}

type DecoderPart = CausalConv1d | DecoderBlock | SnakeBetaRows;

/** What the rows under the taps of a convolution may take: they are written and read again while they are in the cache. */
const gatheredBytes = 1.5 * 2 ** 20;

function throughPart(g: GraphBuilder, part: DecoderPart, pieces: Tensor[], stream: Stream): Tensor[] {
  if (part instanceof DecoderBlock) return part.forwardPieces(g, pieces, stream);
  return pieces.map((piece) => part.forward(g, piece, stream));
}

/** The decoder's name for a tensor of the codec's checkpoint; null: another part's, or read by `codecTensors`. */
export function codecDecoderName(name: string): string | null {
  if (!name.startsWith('decoder.')) return null;
  const derived = /\._codebook\.|\.(alpha|beta)$/.test(name);
  // Only training projects into the quantizer.
  const training = /^decoder\.quantizer\..*\.input_proj\.weight$/.test(name);
  return derived || training ? null : withoutWrapper(name.slice('decoder.'.length));
}

/** Codebook 0 and all others each through a projection of their own; both are added. */
class SplitQuantizer extends Module {
  readonly rvq_first: ResidualVectorQuantizer;
  readonly rvq_rest: ResidualVectorQuantizer;

  constructor(config: CodecDecoderConfig, tensors?: CodecTensors) {
    super();
    const { codebook_size: size, codebook_dim, num_quantizers } = config;
    const dim = codebook_dim / 2;
    const group = (name: string, count: number) => {
      const books = Array.from({ length: count }, (_, index) => {
        const path = `decoder.quantizer.${name}.vq.layers.${index}._codebook`;
        return new Codebook(size, dim, { entries: tensors?.codebook(path, 'embedding_sum', size, dim) });
      });
      return new ResidualVectorQuantizer(books, { output_dim: codebook_dim });
    };
    this.rvq_first = group('rvq_first', 1);
    this.rvq_rest = group('rvq_rest', num_quantizers - 1);
  }

  /** @param codes i32 `[num_quantizers, frames]` @returns `[frames, codebook_dim]` */
  decode(g: GraphBuilder, codes: Tensor, stream: Stream): Tensor {
    const frames = codes.size(1);
    const columns = Array.from({ length: codes.size(0) }, (_, index) =>
      codes.narrow(0, index, 1).reshape(frames),
    );
    const first = this.rvq_first.decode(g, columns.slice(0, 1), stream);
    return first.add(this.rvq_rest.decode(g, columns.slice(1), stream));
  }
}

class Upsample extends ModuleList<CausalConvTranspose1d | CausalConvNeXtBlock> {
  constructor(dim: number, factor: number) {
    super([new CausalConvTranspose1d(dim, dim, factor, factor), new CausalConvNeXtBlock(dim)]);
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    let y = x;
    for (const part of this) y = part.forward(g, y, stream);
    return y;
  }
}

/** SnakeBeta, convolution over 7 frames, SnakeBeta, pointwise convolution, residual; `[frames, dim]`. */
class ResidualUnit extends Module {
  readonly act1: SnakeBetaRows;
  readonly conv1: CausalConv1d;
  readonly act2: SnakeBetaRows;
  readonly conv2: CausalConv1d;

  constructor(dim: number, dilation: number, path: string, tensors?: CodecTensors) {
    super();
    this.act1 = new SnakeBetaRows(dim, tensors?.snake(`${path}.act1`, dim));
    this.conv1 = new CausalConv1d(dim, dim, 7, { dilation });
    this.act2 = new SnakeBetaRows(dim, tensors?.snake(`${path}.act2`, dim));
    this.conv2 = new CausalConv1d(dim, dim, 1);
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    const y = this.conv1.forward(g, this.act1.forward(g, x), stream);
    return this.conv2.forward(g, this.act2.forward(g, y), stream).add(x);
  }
}

/** `[frames, dim] -> [frames * rate, dim / 2]` */
class DecoderBlock extends Module {
  readonly block: ModuleList<SnakeBetaRows | CausalConvTranspose1d | ResidualUnit>;
  /** Its parts move one by one: whole, it would be most of what a device must hold. */
  readonly #large: boolean;
  readonly #mostRows: number;

  constructor(dim: number, rate: number, path: string, tensors?: CodecTensors) {
    super();
    const out = dim / 2;
    this.block = new ModuleList<SnakeBetaRows | CausalConvTranspose1d | ResidualUnit>([
      new SnakeBetaRows(dim, tensors?.snake(`${path}.0`, dim)),
      new CausalConvTranspose1d(dim, out, 2 * rate, rate),
      ...[1, 3, 9].map((dilation, index) => new ResidualUnit(out, dilation, `${path}.${index + 2}`, tensors)),
    ]);
    this.#large = 4 * dim * out * 2 * rate > 2 ** 24;
    this.#mostRows = Math.max(64, Math.floor(gatheredBytes / (4 * 7 * out)));
  }

  units(): Module[] {
    return this.#large ? [...this.block].filter((part) => !(part instanceof SnakeBetaRows)) : [this];
  }

  /** Small blocks take each piece through all their parts, while it is in the cache; large ones each part once. */
  forwardPieces(g: GraphBuilder, pieces: readonly Tensor[], stream: Stream): Tensor[] {
    if (!this.#large) return pieces.flatMap((piece) => this.forward(g, piece, stream));
    const parts = [...this.block];
    let current = [...pieces];
    for (const part of parts) {
      current = current.flatMap((piece) => splitRows(part.forward(g, piece, stream), this.#mostRows));
    }
    return current;
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor[] {
    const [snake, upsample, ...units] = this.block;
    const wide = upsample!.forward(g, snake!.forward(g, x, stream), stream);
    return splitRows(wide, this.#mostRows).map((piece) =>
      units.reduce((y, unit) => unit.forward(g, y, stream), piece),
    );
  }
}
