import type { GraphBuilder } from '../graph.ts';
import { Module, python } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/** `x W^T + b` over the last dimension, `[..., in] -> [..., out]` (torch.nn.Linear). */
export class Linear extends Module {
  static override readonly streamable = true;
  readonly weight: Parameter;
  readonly bias: Parameter | null;

  constructor(
    readonly in_features: number,
    readonly out_features: number,
    options: { bias?: boolean } = {},
  ) {
    super();
    this.weight = this.parameter([out_features, in_features]);
    this.bias = (options.bias ?? true) ? this.parameter([out_features]) : null;
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const y = x.linear(g.weight(this.weight));
    return this.bias === null ? y : y.add(g.weight(this.bias));
  }

  override extraRepr(): string {
    return `in_features=${this.in_features}, out_features=${this.out_features}, bias=${python(this.bias !== null)}`;
  }
}
