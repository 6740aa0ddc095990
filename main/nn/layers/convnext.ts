import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { Conv1d, type Conv1dOptions } from './conv1d.ts';
import { Linear } from './linear.ts';
import { LayerNorm } from './norm.ts';

/** Names of a block's parts, which differ between checkpoints. */
export interface ConvNeXtNames {
  dwconv?: string;
  norm?: string;
  pw1?: string;
  pw2?: string;
  gamma?: string;
}

export interface ConvNeXtOptions {
  kernel_size?: number;
  /** Width of the inner layer: a multiple of `dim`, or its own size. */
  mult?: number;
  intermediate_dim?: number;
  padding?: Conv1dOptions['padding'];
  dilation?: number;
  layer_norm_eps?: number;
  /** Scale of the branch before the residual is added; false: none. */
  layer_scale?: boolean;
  names?: ConvNeXtNames;
}

/**
 * ConvNeXt block over frames, `[batch, dim, frames]` in and out (Liu et al. 2022; one-dimensional as in Vocos,
 * Siuzdak 2023): depthwise convolution, LayerNorm, linear, GELU (erf), linear, scale, residual.
 */
export class ConvNeXtBlock extends Module {
  readonly #dwconv: Conv1d;
  readonly #norm: LayerNorm;
  readonly #pw1: Linear;
  readonly #pw2: Linear;
  readonly #gamma: Parameter | null;
  readonly #names: Required<ConvNeXtNames>;

  constructor(
    readonly dim: number,
    options: ConvNeXtOptions = {},
  ) {
    super();
    const { kernel_size = 7, mult = 4, dilation = 1 } = options;
    const inner = options.intermediate_dim ?? mult * dim;
    this.#names = {
      dwconv: 'dwconv',
      norm: 'norm',
      pw1: 'pw1',
      pw2: 'pw2',
      gamma: 'gamma',
      ...options.names,
    };
    this.#dwconv = new Conv1d(dim, dim, kernel_size, {
      padding: options.padding ?? Math.floor(((kernel_size - 1) * dilation) / 2),
      dilation,
      groups: dim,
    });
    this.#norm = new LayerNorm(dim, { eps: options.layer_norm_eps ?? 1e-5 });
    this.#pw1 = new Linear(dim, inner);
    this.#pw2 = new Linear(inner, dim);
    // Read only here, so it moves with the block.
    this.#gamma = (options.layer_scale ?? true) ? new Parameter([dim], { init: 'ones' }) : null;
  }

  override *members(): Generator<[string, Parameter | Module]> {
    if (this.#gamma !== null) yield [this.#names.gamma, this.#gamma];
    yield [this.#names.dwconv, this.#dwconv];
    yield [this.#names.norm, this.#norm];
    yield [this.#names.pw1, this.#pw1];
    yield [this.#names.pw2, this.#pw2];
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const last = x.transpose(1, 2).contiguous();
    let y = this.#norm.forward(g, this.#dwconv.forward(g, last.transpose(1, 2)).transpose(1, 2));
    y = this.#pw2.forward(g, F.gelu(this.#pw1.forward(g, y)));
    if (this.#gamma !== null) y = y.mul(g.weight(this.#gamma));
    return last.add(y).transpose(1, 2);
  }

  override extraRepr(): string {
    return String(this.dim);
  }
}
