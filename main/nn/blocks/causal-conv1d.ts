import type { GraphBuilder } from '../graph.ts';
import { pad } from '../layers/padding.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { gatherTaps } from './rows.ts';
import type { Stream } from './stream.ts';

export interface CausalConv1dOptions {
  stride?: number;
  dilation?: number;
  /** 1, or as many as channels in and out (depthwise). */
  groups?: number;
  bias?: boolean;
  /** What lies before the signal, and behind its end where the last stride is not whole. Default: zeros. */
  padding_mode?: 'zeros' | 'replicate';
}

/**
 * Convolution that never looks ahead, chunk by chunk: `[frames, in_channels] -> [ceil(frames / stride), out_channels]`
 * (the causal convolutions of SEANet, EnCodec and Mimi; Défossez et al. 2022). Between chunks it keeps the
 * `(kernel - 1) * dilation + 1 - stride` frames that the next output still reaches.
 */
export class CausalConv1d extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly stride: number;
  readonly dilation: number;
  readonly depthwise: boolean;
  readonly padding_mode: 'zeros' | 'replicate';

  constructor(
    readonly in_channels: number,
    readonly out_channels: number,
    readonly kernel_size: number,
    options: CausalConv1dOptions = {},
  ) {
    super();
    const { stride = 1, dilation = 1, groups = 1, bias = true, padding_mode = 'zeros' } = options;
    this.depthwise = groups > 1;
    if (this.depthwise && (groups !== in_channels || groups !== out_channels || stride !== 1)) {
      throw new RangeError(
        `A causal convolution has 1 group, or one per channel and stride 1; not ${groups} of ${in_channels} channels, stride ${stride}.`,
      );
    }
    if ((kernel_size - 1) * dilation + 1 < stride) {
      throw new RangeError(`A kernel of ${kernel_size} frames leaves gaps at stride ${stride}.`);
    }
    this.stride = stride;
    this.dilation = dilation;
    this.padding_mode = padding_mode;
    // Taps outermost, as the gathered rows have them.
    this.weight = this.depthwise
      ? this.parameter([out_channels, 1, kernel_size], {
          readBy: 'elementwise',
          storedOrder: [1, 2, 0],
          init: 'normal',
        })
      : this.parameter([out_channels, in_channels, kernel_size], { storedOrder: [0, 2, 1] });
    this.bias = bias ? this.parameter([out_channels]) : null;
  }

  /** Frames that it keeps between chunks. */
  get context(): number {
    return (this.kernel_size - 1) * this.dilation + 1 - this.stride;
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    if (x.rank !== 2 || x.size(1) !== this.in_channels) {
      throw new RangeError(`CausalConv1d takes [frames, ${this.in_channels}], not [${x.shape.join(', ')}].`);
    }
    const table = this.#withContext(g, this.#wholeStrides(x, stream), stream);
    const outFrames = (table.size(0) - this.context) / this.stride;
    const y = this.depthwise ? this.#perChannel(g, table, outFrames) : this.#product(g, table, outFrames);
    return this.bias === null ? y : y.add(g.weight(this.bias));
  }

  #wholeStrides(x: Tensor, stream: Stream): Tensor {
    const missing = (this.stride - (x.size(0) % this.stride)) % this.stride;
    if (missing === 0) return x;
    if (!stream.last) {
      throw new RangeError(
        `A chunk of ${x.size(0)} frames is no multiple of stride ${this.stride}, and more is to come.`,
      );
    }
    return pad(x, 0, missing, this.padding_mode, 0);
  }

  #withContext(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    const { context } = this;
    if (context === 0) return x;
    const shape = [context, this.in_channels];
    const replicate = this.padding_mode === 'replicate' && stream.begins(this, 'frames');
    const before = replicate ? x.narrow(0, 0, 1).expand(...shape) : stream.recall(g, this, 'frames', shape);
    const table = before.concat(x, 0);
    stream.keep(this, 'frames', table.narrow(0, table.size(0) - context, context));
    return table;
  }

  #product(g: GraphBuilder, table: Tensor, outFrames: number): Tensor {
    const { kernel_size, stride, dilation } = this;
    const weight = g.weight(this.weight).reshape(this.out_channels, kernel_size * this.in_channels);
    if (kernel_size === 1) return table.linear(weight);
    const rowOf = (row: number, tap: number): number => row * stride + tap * dilation;
    return gatherTaps(g, table, `${stride} ${dilation}`, outFrames, kernel_size, rowOf).linear(weight);
  }

  #perChannel(g: GraphBuilder, table: Tensor, outFrames: number): Tensor {
    const taps = g.weight(this.weight).reshape(this.kernel_size, this.out_channels);
    return table
      .record(
        'conv_1d_dw_last',
        [taps, table.unsqueeze(0).contiguous()],
        [1, 0, this.dilation],
        [1, outFrames, this.out_channels],
      )
      .squeeze(0);
  }

  override extraRepr(): string {
    const parts = [
      `${this.in_channels}, ${this.out_channels}, kernel_size=(${this.kernel_size},), stride=(${this.stride},)`,
    ];
    if (this.dilation !== 1) parts.push(`dilation=(${this.dilation},)`);
    if (this.depthwise) parts.push(`groups=${this.in_channels}`);
    if (this.bias === null) parts.push('bias=False');
    if (this.padding_mode !== 'zeros') parts.push(`padding_mode=${this.padding_mode}`);
    return parts.join(', ');
  }
}
