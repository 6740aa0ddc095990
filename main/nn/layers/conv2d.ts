import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

type Pair = number | readonly [number, number];

export interface Conv2dOptions {
  stride?: Pair;
  padding?: Pair;
  dilation?: Pair;
  bias?: boolean;
}

/**
 * Convolution over an image, `[batch, in_channels, height, width] -> [batch, out_channels, height', width']`
 * (torch.nn.Conv2d with zero padding and one group).
 */
export class Conv2d extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly kernel_size: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];

  constructor(
    readonly in_channels: number,
    readonly out_channels: number,
    kernel_size: Pair,
    options: Conv2dOptions = {},
  ) {
    super();
    this.kernel_size = pair(kernel_size);
    this.stride = pair(options.stride ?? 1);
    this.padding = pair(options.padding ?? 0);
    this.dilation = pair(options.dilation ?? 1);
    this.weight = this.parameter([out_channels, in_channels, ...this.kernel_size]);
    this.bias = (options.bias ?? true) ? this.parameter([out_channels]) : null;
  }

  /** Height and width of the result. */
  outputSize(height: number, width: number): [number, number] {
    const along = (size: number, axis: 0 | 1): number => {
      const reach = (this.kernel_size[axis] - 1) * this.dilation[axis];
      return Math.floor((size + 2 * this.padding[axis] - reach - 1) / this.stride[axis]) + 1;
    };
    return [along(height, 0), along(width, 1)];
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const [batch, channels, height, width] = [x.size(0), x.size(1), x.size(2), x.size(3)];
    const [rows, columns] = this.outputSize(height, width);
    if (x.rank !== 4 || channels !== this.in_channels || rows < 1 || columns < 1) {
      throw new RangeError(
        `A Conv2d of ${this.in_channels} channels and kernel ${this.kernel_size.join(' x ')} does not take [${x.shape.join(', ')}].`,
      );
    }
    const weight = g.weight(this.weight);
    const taps = channels * this.kernel_size[0] * this.kernel_size[1];
    const unfolded = x
      .contiguous()
      .record(
        'im2col_2d',
        [weight, x.contiguous()],
        [...this.stride, ...this.padding, ...this.dilation],
        [batch, rows, columns, taps],
        'f32',
      );
    const product = unfolded
      .reshape(batch, rows * columns, taps)
      .linear(weight.reshape(this.out_channels, taps));
    const y = this.bias === null ? product : product.add(g.weight(this.bias));
    return y.reshape(batch, rows, columns, this.out_channels).permute(0, 3, 1, 2);
  }

  override extraRepr(): string {
    const parts = [
      `${this.in_channels}, ${this.out_channels}, kernel_size=(${this.kernel_size.join(', ')})`,
      `stride=(${this.stride.join(', ')})`,
    ];
    if (this.padding.some((size) => size !== 0)) parts.push(`padding=(${this.padding.join(', ')})`);
    if (this.dilation.some((size) => size !== 1)) parts.push(`dilation=(${this.dilation.join(', ')})`);
    if (this.bias === null) parts.push('bias=False');
    return parts.join(', ');
  }
}

function pair(value: Pair): readonly [number, number] {
  return typeof value === 'number' ? [value, value] : value;
}
