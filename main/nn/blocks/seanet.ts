import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Activation } from '../layers/activation.ts';
import { Module, ModuleList } from '../module.ts';
import type { Tensor } from '../tensor.ts';
import { CausalConv1d } from './causal-conv1d.ts';
import { joinRows } from './rows.ts';
import type { Stream } from './stream.ts';

export interface SeanetConfig {
  audio_channels: number;
  num_filters: number;
  num_residual_layers: number;
  /** In the decoder's order: the encoder goes through them backwards. */
  upsampling_ratios: readonly number[];
  kernel_size: number;
  last_kernel_size: number;
  residual_kernel_size: number;
  dilation_growth_rate: number;
  /** Width of a residual block's inside: channels over this. */
  compress: number;
  /** Channels that come out. */
  hidden_size: number;
}

/** ELU, convolution, ELU, pointwise convolution, residual; `[frames, channels]`. */
export class SeanetResnetBlock extends Module {
  readonly block: ModuleList<Activation | CausalConv1d>;

  constructor(channels: number, hidden: number, kernel_size: number, dilation: number) {
    super();
    this.block = new ModuleList<Activation | CausalConv1d>([
      new Activation('elu'),
      new CausalConv1d(channels, hidden, kernel_size, { dilation }),
      new Activation('elu'),
      new CausalConv1d(hidden, channels, 1),
    ]);
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    let y = x;
    for (const layer of this.block) y = layer.forward(g, y, stream);
    return y.add(x);
  }
}

type SeanetLayer = CausalConv1d | SeanetResnetBlock | Activation;

/** Below this many rows a product reads its weights for too little. */
const fewRows = 64;

/**
 * Causal SEANet encoder, chunk by chunk: samples to vectors, `[samples, audio_channels] -> [samples / ratios,
 * hidden_size]` (Tagliasacchi et al. 2020; transformers' MimiEncoder with its layers' numbers).
 */
export class SeanetEncoder extends Module {
  readonly layers: ModuleList<SeanetLayer>;

  constructor(config: SeanetConfig) {
    super();
    const { num_filters, compress, residual_kernel_size } = config;
    const layers: SeanetLayer[] = [new CausalConv1d(config.audio_channels, num_filters, config.kernel_size)];
    let channels = num_filters;
    for (const ratio of config.upsampling_ratios.toReversed()) {
      for (let index = 0; index < config.num_residual_layers; index += 1) {
        const dilation = config.dilation_growth_rate ** index;
        const hidden = Math.floor(channels / compress);
        layers.push(new SeanetResnetBlock(channels, hidden, residual_kernel_size, dilation));
      }
      layers.push(new Activation('elu'));
      layers.push(new CausalConv1d(channels, 2 * channels, 2 * ratio, { stride: ratio }));
      channels *= 2;
    }
    layers.push(new Activation('elu'));
    layers.push(new CausalConv1d(channels, config.hidden_size, config.last_kernel_size));
    this.layers = new ModuleList(layers);
  }

  /** @param pieces of a chunk, all whole strides but for the last of the signal. */
  forward(g: GraphBuilder, pieces: readonly Tensor[], stream: Stream): Tensor {
    let current = [...pieces];
    for (const layer of this.layers) {
      current = joinRows(
        current.map((piece) =>
          layer instanceof Activation ? F.elu(piece) : layer.forward(g, piece, stream),
        ),
        fewRows,
      );
    }
    return joinRows(current, Number.POSITIVE_INFINITY)[0]!;
  }
}
