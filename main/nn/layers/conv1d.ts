import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { type PaddingMode, pad } from './padding.ts';

export interface Conv1dOptions {
  stride?: number;
  /**
   * Frames added on both sides; `[left, right]`; `same` (stride 1: as many frames out as in); or `causal`: only on
   * the left, `(kernel - 1) * dilation - (stride - 1)`, so that no output looks ahead.
   */
  padding?: number | readonly [number, number] | 'same' | 'causal';
  dilation?: number;
  groups?: number;
  bias?: boolean;
  padding_mode?: PaddingMode;
}

/**
 * Convolution over frames, `[batch, in_channels, frames] -> [batch, out_channels, frames']` (torch.nn.Conv1d).
 *
 * Computed as columns in float32 times the weights, so that float32 weights give float32 results; a depthwise one
 * channel by channel; a pointwise one as a linear layer. The result is a transposed view of `[batch, frames',
 * channels]`, free to transpose back.
 */
export class Conv1d extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly stride: number;
  readonly dilation: number;
  readonly groups: number;
  readonly padding_mode: PaddingMode;
  readonly #left: number;
  readonly #right: number;

  constructor(
    readonly in_channels: number,
    readonly out_channels: number,
    readonly kernel_size: number,
    options: Conv1dOptions = {},
  ) {
    super();
    const {
      stride = 1,
      padding = 0,
      dilation = 1,
      groups = 1,
      bias = true,
      padding_mode = 'zeros',
    } = options;
    if (in_channels % groups !== 0 || out_channels % groups !== 0) {
      throw new RangeError(
        `${in_channels} and ${out_channels} channels do not divide into ${groups} groups.`,
      );
    }
    this.stride = stride;
    this.dilation = dilation;
    this.groups = groups;
    this.padding_mode = padding_mode;
    [this.#left, this.#right] = resolvePadding(padding, (kernel_size - 1) * dilation, stride);
    const shape = [out_channels, in_channels / groups, kernel_size];
    // A depthwise filter is read tap by tap.
    this.weight = this.#depthwise(groups)
      ? this.parameter(shape, { readBy: 'elementwise', storedOrder: [1, 2, 0], init: 'normal' })
      : this.parameter(shape);
    this.bias = bias ? this.parameter([out_channels]) : null;
  }

  #depthwise(groups = this.groups): boolean {
    return groups > 1 && groups === this.in_channels && groups === this.out_channels;
  }

  /** Frames out of `frames` in. */
  outputFrames(frames: number): number {
    const padded = frames + this.#left + this.#right;
    return Math.floor((padded - (this.kernel_size - 1) * this.dilation - 1) / this.stride) + 1;
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const [batch, channels, frames] = [x.size(0), x.size(1), x.size(2)];
    if (x.rank !== 3 || channels !== this.in_channels) {
      throw new RangeError(`Conv1d takes [batch, ${this.in_channels}, frames], not [${x.shape.join(', ')}].`);
    }
    const outFrames = this.outputFrames(frames);
    if (outFrames < 1) {
      throw new RangeError(
        `${frames} frames are too few for a convolution of kernel size ${this.kernel_size}.`,
      );
    }
    let y: Tensor;
    if (this.#depthwise()) y = this.#convolveChannels(g, x, outFrames);
    else if (this.kernel_size === 1 && this.stride === 1 && this.groups === 1 && outFrames === frames) {
      y = x.transpose(1, 2).linear(g.weight(this.weight).reshape(this.out_channels, channels));
    } else y = this.#convolveColumns(g, x, outFrames);
    if (this.bias !== null) y = y.add(g.weight(this.bias));
    return y.reshape(batch, outFrames, this.out_channels).transpose(1, 2);
  }

  /** `[batch, out frames, out channels]` */
  #convolveColumns(g: GraphBuilder, x: Tensor, outFrames: number): Tensor {
    const { groups } = this;
    const weight = g.weight(this.weight);
    const { input, padding, skip } = this.#paddedInput(x);
    const batch = x.size(0);
    const inputs = this.in_channels / groups;
    const columns = inputs * this.kernel_size;
    // Groups outermost, so that each has one product over the whole batch.
    const grouped = input
      .reshape(batch, groups, inputs, input.size(2))
      .permute(1, 0, 2, 3)
      .reshape(groups * batch, inputs, input.size(2));
    const reach = (this.kernel_size - 1) * this.dilation;
    const all = Math.floor((grouped.size(2) + 2 * padding - reach - 1) / this.stride) + 1;
    const unfolded = grouped
      .record(
        'im2col',
        [weight, grouped],
        [this.stride, padding, this.dilation],
        [groups * batch, all, columns],
        'f32',
      )
      .narrow(1, skip, outFrames);
    if (groups === 1) return unfolded.linear(weight.reshape(this.out_channels, columns));
    const product = unfolded
      .reshape(groups, batch * outFrames, columns)
      .linear(weight.reshape(groups, this.out_channels / groups, columns));
    return product
      .reshape(groups, batch, outFrames, this.out_channels / groups)
      .permute(1, 2, 0, 3)
      .reshape(batch, outFrames, this.out_channels);
  }

  /** One filter per channel, channels last throughout: `[batch, out frames, channels]`. */
  #convolveChannels(g: GraphBuilder, x: Tensor, outFrames: number): Tensor {
    const taps = g.weight(this.weight).reshape(this.kernel_size, this.out_channels);
    const { input, padding, skip } = this.#paddedInput(x);
    const frames = input.transpose(1, 2).contiguous();
    const reach = (this.kernel_size - 1) * this.dilation;
    const all = Math.floor((frames.size(1) + 2 * padding - reach - 1) / this.stride) + 1;
    return frames
      .record(
        'conv_1d_dw_last',
        [taps, frames],
        [this.stride, padding, this.dilation],
        [frames.size(0), all, this.out_channels],
      )
      .narrow(1, skip, outFrames);
  }

  /**
   * Zeros can be left to the column operation, which pads both sides alike: the surplus columns are skipped.
   * Everything else is padded first.
   */
  #paddedInput(x: Tensor): { input: Tensor; padding: number; skip: number } {
    const [left, right] = [this.#left, this.#right];
    const surplus = Math.max(0, right - left);
    if (this.padding_mode === 'zeros' && surplus % this.stride === 0) {
      return { input: x, padding: Math.max(left, right), skip: surplus / this.stride };
    }
    return { input: pad(x, left, right, this.padding_mode), padding: 0, skip: 0 };
  }

  override extraRepr(): string {
    const parts = [
      `${this.in_channels}, ${this.out_channels}, kernel_size=(${this.kernel_size},), stride=(${this.stride},)`,
    ];
    if (this.#left > 0 || this.#right > 0) {
      parts.push(
        this.#left === this.#right ? `padding=(${this.#left},)` : `padding=(${this.#left}, ${this.#right})`,
      );
    }
    if (this.dilation !== 1) parts.push(`dilation=(${this.dilation},)`);
    if (this.groups !== 1) parts.push(`groups=${this.groups}`);
    if (this.bias === null) parts.push('bias=False');
    if (this.padding_mode !== 'zeros') parts.push(`padding_mode=${this.padding_mode}`);
    return parts.join(', ');
  }
}

function resolvePadding(
  padding: NonNullable<Conv1dOptions['padding']>,
  reach: number,
  stride: number,
): [number, number] {
  if (padding === 'same') {
    if (stride !== 1) throw new RangeError('Padding "same" is defined for stride 1 only.');
    const left = Math.floor(reach / 2);
    return [left, reach - left];
  }
  if (padding === 'causal') return [Math.max(0, reach - (stride - 1)), 0];
  return typeof padding === 'number' ? [padding, padding] : [padding[0], padding[1]];
}
