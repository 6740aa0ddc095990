import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/** `scale * x` per channel, `[..., size]`: tames a branch before it is added (Touvron et al. 2021). */
export class LayerScale extends Module {
  readonly scale: Parameter;

  constructor(size: number) {
    super();
    this.scale = new Parameter([size], { init: 'ones' });
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.mul(g.weight(this.scale));
  }
}
