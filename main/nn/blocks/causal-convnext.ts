import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Linear } from '../layers/linear.ts';
import { LayerNorm } from '../layers/norm.ts';
import { Module } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { CausalConv1d } from './causal-conv1d.ts';
import type { Stream } from './stream.ts';

/**
 * ConvNeXt block that never looks ahead, `[frames, dim]` in and out (Liu et al. 2022): depthwise convolution, LayerNorm,
 * linear, GELU (erf), linear, scale, residual.
 */
export class CausalConvNeXtBlock extends Module {
  readonly dwconv: CausalConv1d;
  readonly norm: LayerNorm;
  readonly pwconv1: Linear;
  readonly pwconv2: Linear;
  readonly gamma: Parameter;

  constructor(
    readonly dim: number,
    options: { kernel_size?: number; mult?: number; eps?: number } = {},
  ) {
    super();
    const { kernel_size = 7, mult = 4, eps = 1e-6 } = options;
    this.dwconv = new CausalConv1d(dim, dim, kernel_size, { groups: dim });
    this.norm = new LayerNorm(dim, { eps });
    this.pwconv1 = new Linear(dim, mult * dim);
    this.pwconv2 = new Linear(mult * dim, dim);
    this.gamma = new Parameter([dim], { init: 'ones' });
  }

  forward(g: GraphBuilder, x: Tensor, stream: Stream): Tensor {
    const y = this.norm.forward(g, this.dwconv.forward(g, x, stream));
    const z = this.pwconv2.forward(g, F.gelu(this.pwconv1.forward(g, y)));
    return z.mul(g.weight(this.gamma)).add(x);
  }
}
