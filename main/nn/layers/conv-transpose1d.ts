import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { pad } from './padding.ts';

export interface ConvTranspose1dOptions {
  stride?: number;
  padding?: number;
  output_padding?: number;
  groups?: number;
  bias?: boolean;
  /** Frames cut off the result's ends, as causal decoders do: `[0, kernel - stride]`. */
  trim?: readonly [number, number];
}

/**
 * Transposed convolution over frames, `[batch, in_channels, frames] -> [batch, out_channels, (frames - 1) * stride -
 * 2 * padding + kernel + output_padding]` (torch.nn.ConvTranspose1d, dilation 1).
 *
 * Computed as a matrix product whose columns are added where they overlap.
 */
export class ConvTranspose1d extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly stride: number;
  readonly padding: number;
  readonly output_padding: number;
  readonly groups: number;
  readonly trim: readonly [number, number];

  constructor(
    readonly in_channels: number,
    readonly out_channels: number,
    readonly kernel_size: number,
    options: ConvTranspose1dOptions = {},
  ) {
    super();
    const { stride = 1, padding = 0, output_padding = 0, groups = 1, bias = true, trim = [0, 0] } = options;
    if (in_channels % groups !== 0 || out_channels % groups !== 0) {
      throw new RangeError(
        `${in_channels} and ${out_channels} channels do not divide into ${groups} groups.`,
      );
    }
    this.stride = stride;
    this.padding = padding;
    this.output_padding = output_padding;
    this.groups = groups;
    this.trim = trim;
    const shape = [in_channels, out_channels / groups, kernel_size];
    if (this.#depthwise()) this.weight = this.parameter(shape, { readBy: 'elementwise', init: 'normal' });
    // The product reads rows over input channels.
    else if (groups === 1) this.weight = this.parameter(shape, { storedOrder: [1, 2, 0] });
    else this.weight = this.parameter(shape);
    this.bias = bias ? this.parameter([out_channels]) : null;
  }

  #depthwise(): boolean {
    return this.groups > 1 && this.groups === this.in_channels && this.groups === this.out_channels;
  }

  outputFrames(frames: number): number {
    const all = (frames - 1) * this.stride - 2 * this.padding + this.kernel_size + this.output_padding;
    return all - this.trim[0] - this.trim[1];
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const [batch, channels, frames] = [x.size(0), x.size(1), x.size(2)];
    if (x.rank !== 3 || channels !== this.in_channels) {
      throw new RangeError(
        `ConvTranspose1d takes [batch, ${this.in_channels}, frames], not [${x.shape.join(', ')}].`,
      );
    }
    const outFrames = this.outputFrames(frames);
    if (outFrames < 1)
      throw new RangeError(`${frames} frames are too few: nothing is left after padding and trim.`);
    const columns = this.#columns(g, x);
    const left = this.padding + this.trim[0];
    const right = (frames - 1) * this.stride + this.kernel_size - left - outFrames;
    const crop = Math.max(0, Math.min(left, right));
    const kept = left + outFrames + right - 2 * crop;
    const parts = Array.from({ length: batch }, (_, index) => {
      const signal = columns
        .narrow(0, index, 1)
        .reshape(frames, this.out_channels * this.kernel_size)
        .apply('col2im_1d', [this.stride, this.out_channels, crop], [this.out_channels, kept]);
      const inside = signal.narrow(1, left - crop, Math.min(outFrames, kept - (left - crop)));
      return pad(inside, 0, Math.max(0, -right)).reshape(1, this.out_channels, outFrames);
    });
    const y = parts.reduce((joined, part) => joined.concat(part, 0));
    return this.bias === null ? y : y.add(g.weight(this.bias).reshape(this.out_channels, 1));
  }

  /** What each input frame adds: `[batch, frames, out_channels * kernel]`. */
  #columns(g: GraphBuilder, x: Tensor): Tensor {
    const { groups, in_channels, out_channels, kernel_size } = this;
    const [batch, frames] = [x.size(0), x.size(2)];
    const weight = g.weight(this.weight);
    if (this.#depthwise()) {
      const columns = x.transpose(1, 2).unsqueeze(-1).mul(weight.reshape(in_channels, kernel_size));
      return columns.reshape(batch, frames, in_channels * kernel_size);
    }
    if (groups === 1)
      return x.transpose(1, 2).linear(weight.reshape(out_channels * kernel_size, in_channels));
    const [inputs, outputs] = [in_channels / groups, out_channels / groups];
    const rows = weight
      .reshape(groups, inputs, outputs, kernel_size)
      .permute(0, 2, 3, 1)
      .reshape(groups, outputs * kernel_size, inputs);
    const product = x
      .reshape(batch, groups, inputs, frames)
      .permute(1, 0, 3, 2)
      .reshape(groups, batch * frames, inputs)
      .linear(rows);
    return product
      .reshape(groups, batch, frames, outputs * kernel_size)
      .permute(1, 2, 0, 3)
      .reshape(batch, frames, out_channels * kernel_size);
  }

  override extraRepr(): string {
    const parts = [
      `${this.in_channels}, ${this.out_channels}, kernel_size=(${this.kernel_size},), stride=(${this.stride},)`,
    ];
    if (this.padding !== 0) parts.push(`padding=(${this.padding},)`);
    if (this.output_padding !== 0) parts.push(`output_padding=(${this.output_padding},)`);
    if (this.groups !== 1) parts.push(`groups=${this.groups}`);
    if (this.bias === null) parts.push('bias=False');
    if (this.trim[0] !== 0 || this.trim[1] !== 0) parts.push(`trim=(${this.trim.join(', ')})`);
    return parts.join(', ');
  }
}
