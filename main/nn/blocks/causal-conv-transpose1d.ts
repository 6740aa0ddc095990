import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import type { Stream } from './stream.ts';

/**
 * Transposed convolution that never looks ahead, chunk by chunk: `[frames, in_channels] -> [frames * stride,
 * out_channels]` (torch.nn.ConvTranspose1d without its last `kernel - stride` frames, as causal decoders cut it).
 *
 * A kernel of `m` strides lets `m` frames meet in each output: one product per frame that meets, whose rows are
 * `stride` outputs side by side, so that nothing overlaps and nothing is added twice. It keeps `m - 1` frames.
 */
export class CausalConvTranspose1d extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter | null;

  constructor(
    readonly in_channels: number,
    readonly out_channels: number,
    readonly kernel_size: number,
    readonly stride: number,
    options: { bias?: boolean } = {},
  ) {
    super();
    if (kernel_size % stride !== 0) {
      throw new RangeError(`A kernel of ${kernel_size} frames is no multiple of the stride ${stride}.`);
    }
    this.weight = this.parameter([in_channels, out_channels, kernel_size], { storedOrder: [2, 1, 0] });
    this.bias = (options.bias ?? true) ? this.parameter([out_channels]) : null;
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    if (x.rank !== 2 || x.size(1) !== this.in_channels) {
      throw new RangeError(
        `CausalConvTranspose1d takes [frames, ${this.in_channels}], not [${x.shape.join(', ')}].`,
      );
    }
    const frames = x.size(0);
    const meeting = this.kernel_size / this.stride;
    const width = this.stride * this.out_channels;
    const weight = g.weight(this.weight).reshape(meeting * width, this.in_channels);
    let table = x;
    if (meeting > 1) {
      const shape = [meeting - 1, this.in_channels];
      table = stream.recall(g, this, 'frames', shape).concat(x, 0);
      stream.keep(this, 'frames', table.narrow(0, frames, meeting - 1));
    }
    const products = Array.from({ length: meeting }, (_, age) =>
      table.narrow(0, meeting - 1 - age, frames).linear(weight.narrow(0, age * width, width)),
    );
    const y = products
      .reduce((sum, product) => sum.add(product))
      .reshape(frames * this.stride, this.out_channels);
    return this.bias === null ? y : y.add(g.weight(this.bias));
  }

  override extraRepr(): string {
    const bias = this.bias === null ? ', bias=False' : '';
    return `${this.in_channels}, ${this.out_channels}, kernel_size=(${this.kernel_size},), stride=(${this.stride},)${bias}`;
  }
}
