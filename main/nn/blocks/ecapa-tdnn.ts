import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Module, ModuleList } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { gatherTaps } from './rows.ts';

export interface EcapaTdnnConfig {
  mel_dim: number;
  enc_dim: number;
  enc_channels: readonly number[];
  enc_kernel_sizes: readonly number[];
  enc_dilations: readonly number[];
  enc_res2net_scale: number;
  enc_se_channels: number;
  enc_attention_channels: number;
}

/** Convolution with as many frames out as in, the signal mirrored at its ends; `[frames, channels]`. */
export class ReflectConv1d extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter;

  constructor(
    readonly in_channels: number,
    readonly out_channels: number,
    readonly kernel_size: number,
    readonly dilation = 1,
  ) {
    super();
    this.weight = this.parameter([out_channels, in_channels, kernel_size], { storedOrder: [0, 2, 1] });
    this.bias = this.parameter([out_channels]);
  }

  /** Frames that a signal must have: a mirror image needs its original. */
  get leastFrames(): number {
    return this.#left + 1;
  }

  get #left(): number {
    return Math.ceil(((this.kernel_size - 1) * this.dilation) / 2);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.products(g, x, 0, this.in_channels).add(g.weight(this.bias));
  }

  /** The part of the result, without bias, that comes from some of the input channels: `x` has only those. */
  products(g: GraphBuilder, x: Tensor, first: number, channels: number): Tensor {
    const { kernel_size: taps, dilation } = this;
    const weight = g.weight(this.weight).reshape(this.out_channels, taps * this.in_channels);
    if (taps === 1) return x.linear(weight.narrow(1, first, channels));
    const frames = x.size(0);
    const last = frames - 1;
    const left = Math.floor(((taps - 1) * dilation) / 2);
    const rowOf = (row: number, tap: number): number => {
      const at = row + tap * dilation - left;
      if (at < 0) return -at;
      return at > last ? 2 * last - at : at;
    };
    return gatherTaps(g, x, `reflect ${dilation}`, frames, taps, rowOf).linear(weight);
  }

  override extraRepr(): string {
    return `${this.in_channels}, ${this.out_channels}, kernel_size=(${this.kernel_size},), dilation=(${this.dilation},), padding_mode=reflect`;
  }
}

class TimeDelayNetBlock extends Module {
  readonly conv: ReflectConv1d;

  constructor(input: number, output: number, kernel: number, dilation: number) {
    super();
    this.conv = new ReflectConv1d(input, output, kernel, dilation);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return F.relu(this.conv.forward(g, x));
  }
}

/** Channels in groups, each convolved with what the group before it gave (Gao et al. 2019). */
class Res2NetBlock extends Module {
  readonly blocks: ModuleList<TimeDelayNetBlock>;

  constructor(
    channels: number,
    readonly scale: number,
    kernel: number,
    dilation: number,
  ) {
    super();
    const width = channels / scale;
    this.blocks = new ModuleList(
      Array.from({ length: scale - 1 }, () => new TimeDelayNetBlock(width, width, kernel, dilation)),
    );
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const groups = x.chunk(this.scale, 1).map((group) => group.contiguous());
    let joined = groups[0]!;
    let before: Tensor | null = null;
    for (const [index, block] of [...this.blocks].entries()) {
      const group = groups[index + 1]!;
      before = block.forward(g, before === null ? group : group.add(before));
      joined = joined.concat(before, 1);
    }
    return joined;
  }
}

/** Each channel weighed by what its mean over time says (Hu et al. 2018). */
class SqueezeExcitationBlock extends Module {
  readonly conv1: ReflectConv1d;
  readonly conv2: ReflectConv1d;

  constructor(channels: number, hidden: number) {
    super();
    this.conv1 = new ReflectConv1d(channels, hidden, 1);
    this.conv2 = new ReflectConv1d(hidden, channels, 1);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const hidden = F.relu(this.conv1.forward(g, meanOverTime(x)));
    return x.mul(F.sigmoid(this.conv2.forward(g, hidden)));
  }
}

class SqueezeExcitationRes2NetBlock extends Module {
  readonly tdnn1: TimeDelayNetBlock;
  readonly res2net_block: Res2NetBlock;
  readonly tdnn2: TimeDelayNetBlock;
  readonly se_block: SqueezeExcitationBlock;

  constructor(channels: number, config: EcapaTdnnConfig, kernel: number, dilation: number) {
    super();
    this.tdnn1 = new TimeDelayNetBlock(channels, channels, 1, 1);
    this.res2net_block = new Res2NetBlock(channels, config.enc_res2net_scale, kernel, dilation);
    this.tdnn2 = new TimeDelayNetBlock(channels, channels, 1, 1);
    this.se_block = new SqueezeExcitationBlock(channels, config.enc_se_channels);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const y = this.res2net_block.forward(g, this.tdnn1.forward(g, x));
    return this.se_block.forward(g, this.tdnn2.forward(g, y)).add(x);
  }
}

/** Mean and deviation over time, each frame weighed per channel by attention (Okabe et al. 2018). */
class AttentiveStatisticsPooling extends Module {
  readonly tdnn: TimeDelayNetBlock;
  readonly conv: ReflectConv1d;

  constructor(
    readonly channels: number,
    hidden: number,
  ) {
    super();
    this.tdnn = new TimeDelayNetBlock(3 * channels, hidden, 1, 1);
    this.conv = new ReflectConv1d(hidden, channels, 1);
  }

  /** `[frames, channels] -> [1, 2 * channels]` */
  forward(g: GraphBuilder, x: Tensor): Tensor {
    const { channels } = this;
    const mean = meanOverTime(x);
    const deviation = floored(meanOverTime(x.sub(mean).sqr()));
    // Mean and deviation are the same at each frame: what comes of them is computed once, and not three times as wide.
    const { conv } = this.tdnn;
    const global = conv
      .products(g, mean, channels, channels)
      .add(conv.products(g, deviation, 2 * channels, channels))
      .add(g.weight(conv.bias));
    const hidden = F.relu(conv.products(g, x, 0, channels).add(global));
    const scores = this.conv.forward(g, F.tanh(hidden));
    // Over time, so that time comes last.
    const weights = F.softmax(scores.transpose(0, 1).contiguous());
    const rows = x.transpose(0, 1).contiguous();
    const weighed = sumLast(rows.mul(weights));
    const spread = floored(sumLast(rows.sub(weighed).sqr().mul(weights)));
    return weighed.concat(spread, 0).reshape(1, 2 * channels);
  }
}

/**
 * Speaker encoder: a mel spectrogram to one vector, `[frames, mel_dim] -> [enc_dim]` (ECAPA-TDNN, Desplanques et al.
 * 2020, without batch norms; names as in `Qwen3TTSSpeakerEncoder`).
 */
export class EcapaTdnn extends Module {
  readonly blocks: ModuleList<TimeDelayNetBlock | SqueezeExcitationRes2NetBlock>;
  readonly mfa: TimeDelayNetBlock;
  readonly asp: AttentiveStatisticsPooling;
  readonly fc: ReflectConv1d;

  constructor(readonly config: EcapaTdnnConfig) {
    super();
    const { enc_channels: channels, enc_kernel_sizes: kernels, enc_dilations: dilations } = config;
    const inner = channels.slice(1, -1);
    if (inner.some((width) => width !== channels[0] || width % config.enc_res2net_scale !== 0)) {
      throw new RangeError(
        `Blocks of ${channels.slice(0, -1).join(', ')} channels cannot add their input, or be cut into ${config.enc_res2net_scale} groups.`,
      );
    }
    const last = channels.at(-1)!;
    this.blocks = new ModuleList<TimeDelayNetBlock | SqueezeExcitationRes2NetBlock>([
      new TimeDelayNetBlock(config.mel_dim, channels[0]!, kernels[0]!, dilations[0]!),
      ...inner.map(
        (width, index) =>
          new SqueezeExcitationRes2NetBlock(width, config, kernels[index + 1]!, dilations[index + 1]!),
      ),
    ]);
    this.mfa = new TimeDelayNetBlock(last, last, kernels.at(-1)!, dilations.at(-1)!);
    this.asp = new AttentiveStatisticsPooling(last, config.enc_attention_channels);
    this.fc = new ReflectConv1d(2 * last, config.enc_dim, 1);
  }

  override memoryUnits(): Module[] {
    return [...this.blocks, this.mfa, this.asp];
  }

  /** Frames that a spectrogram must have. */
  get leastFrames(): number {
    const convolutions = [...this.namedModules()].map(([, module]) => module);
    return Math.max(...convolutions.map((m) => (m instanceof ReflectConv1d ? m.leastFrames : 1)));
  }

  forward(g: GraphBuilder, mel: Tensor): Tensor {
    let x = mel;
    const outputs: Tensor[] = [];
    for (const block of this.blocks) {
      x = block.forward(g, x);
      outputs.push(x);
    }
    const joined = outputs.slice(1).reduce((all, part) => all.concat(part, 1));
    const pooled = this.asp.forward(g, this.mfa.forward(g, joined));
    return this.fc.forward(g, pooled).reshape(this.config.enc_dim);
  }
}

/** `[frames, channels] -> [1, channels]` */
function meanOverTime(x: Tensor): Tensor {
  const rows = x.transpose(0, 1).contiguous();
  return rows.record('mean', [rows], [], [x.size(1), 1]).reshape(1, x.size(1));
}

/** `[channels, frames] -> [channels, 1]` */
function sumLast(x: Tensor): Tensor {
  return x.record('sum_rows', [x], [], [x.size(0), 1]);
}

/** Deviation from variance, which rounding may leave at 0. */
function floored(variance: Tensor): Tensor {
  return variance.clamp(1e-12, 3e38).sqrt();
}
