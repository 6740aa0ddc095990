import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/**
 * `x + sin(alpha x)^2 / (beta + 1e-9)` per channel, `[frames, channels]` (Lee et al. 2023, BigVGAN), with logarithms
 * and division done once when the weights are read.
 */
export class SnakeBetaRows extends Module {
  readonly alpha: Parameter;
  readonly inverse_beta: Parameter;

  /** @param logs natural logarithms of alpha and beta, as checkpoints hold them; absent: random, for tests. */
  constructor(
    readonly channels: number,
    logs?: { alpha: Float32Array; beta: Float32Array },
  ) {
    super();
    this.alpha = new Parameter([channels], {
      init: 'ones',
      ...(logs === undefined ? {} : { value: logs.alpha.map(Math.exp) }),
    });
    this.inverse_beta = new Parameter([channels], {
      init: 'ones',
      ...(logs === undefined ? {} : { value: logs.beta.map((beta) => 1 / (Math.exp(beta) + 1e-9)) }),
    });
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const wave = x.mul(g.weight(this.alpha)).sin().sqr();
    return wave.mul(g.weight(this.inverse_beta)).add(x);
  }

  override extraRepr(): string {
    return String(this.channels);
  }
}
