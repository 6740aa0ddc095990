import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/**
 * `x + sin(alpha x)^2 / (beta + 1e-9)` per channel, `[frames, channels]` (Lee et al. 2023, BigVGAN), for checkpoints
 * that hold logarithms: they are undone once, when the weights are read.
 */
export class SnakeBetaRows extends Module {
  readonly alpha: Parameter;
  readonly beta: Parameter;

  /** @param logs natural logarithms of alpha and beta, `[channels]` each; absent: random, for tests. */
  constructor(
    readonly channels: number,
    logs?: { alpha: Float32Array; beta: Float32Array },
  ) {
    super();
    const parameter = (log?: Float32Array): Parameter =>
      new Parameter([channels], { init: 'ones', ...(log === undefined ? {} : { value: log.map(Math.exp) }) });
    this.alpha = parameter(logs?.alpha);
    this.beta = parameter(logs?.beta);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return F.snake(x, g.weight(this.alpha), g.weight(this.beta));
  }

  override extraRepr(): string {
    return String(this.channels);
  }
}
