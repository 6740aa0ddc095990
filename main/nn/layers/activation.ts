import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Module, python } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/** Activations by the names that upstream configurations use (`hidden_act`). */
export const activations = {
  gelu: F.gelu,
  gelu_tanh: F.geluTanh,
  gelu_pytorch_tanh: F.geluTanh,
  gelu_new: F.geluTanh,
  silu: F.silu,
  swish: F.silu,
  sigmoid: F.sigmoid,
  tanh: F.tanh,
  relu: F.relu,
  elu: F.elu,
  softplus: F.softplus,
  mish: F.mish,
} as const satisfies Record<string, (x: Tensor) => Tensor>;

export type ActivationName = keyof typeof activations;

/** An activation as a step of a `Sequential`; any shape. */
export class Activation extends Module {
  constructor(readonly name: ActivationName) {
    super();
  }

  forward(_g: GraphBuilder, x: Tensor): Tensor {
    return activations[this.name](x);
  }

  override extraRepr(): string {
    return this.name;
  }
}

/** `x + sin(alpha x)^2 / (alpha + 1e-9)` per channel, `[batch, channels, frames]` (Ziyin et al. 2020). */
export class Snake extends Module {
  readonly alpha: Parameter;
  readonly logscale: boolean;

  /** @param options.shape of `alpha` in the checkpoint: `[channels]` (BigVGAN) or `[1, channels, 1]` (DAC). */
  constructor(
    readonly channels: number,
    options: { logscale?: boolean; shape?: readonly number[] } = {},
  ) {
    super();
    this.logscale = options.logscale ?? false;
    this.alpha = snakeParameter(options.shape ?? [channels], this.logscale);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const alpha = perChannel(g, this.alpha, this.channels, this.logscale);
    return F.snake(x, alpha, alpha);
  }

  override extraRepr(): string {
    return `${this.channels}, logscale=${python(this.logscale)}`;
  }
}

/** `x + sin(alpha x)^2 / (beta + 1e-9)` per channel, `[batch, channels, frames]` (Lee et al. 2023, BigVGAN). */
export class SnakeBeta extends Module {
  readonly alpha: Parameter;
  readonly beta: Parameter;
  readonly logscale: boolean;

  constructor(
    readonly channels: number,
    options: { logscale?: boolean; shape?: readonly number[] } = {},
  ) {
    super();
    this.logscale = options.logscale ?? false;
    this.alpha = snakeParameter(options.shape ?? [channels], this.logscale);
    this.beta = snakeParameter(options.shape ?? [channels], this.logscale);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return F.snake(
      x,
      perChannel(g, this.alpha, this.channels, this.logscale),
      perChannel(g, this.beta, this.channels, this.logscale),
    );
  }

  override extraRepr(): string {
    return `${this.channels}, logscale=${python(this.logscale)}`;
  }
}

function snakeParameter(shape: readonly number[], logscale: boolean): Parameter {
  return new Parameter(shape, { readBy: 'elementwise', init: logscale ? 'zeros' : 'ones' });
}

function perChannel(g: GraphBuilder, parameter: Parameter, channels: number, logscale: boolean): Tensor {
  const value = g.weight(parameter).reshape(channels, 1);
  return logscale ? value.exp() : value;
}
