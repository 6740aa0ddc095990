import type { GraphBuilder } from '../graph.ts';
import { type Module, ModuleList } from '../module.ts';
import type { Tensor } from '../tensor.ts';

/** A module that takes one tensor and gives one. */
export type Layer = Module & { forward(g: GraphBuilder, x: Tensor): Tensor };

/** Layers one after the other, named `0`, `1`, ... (torch.nn.Sequential). */
export class Sequential extends ModuleList<Layer> {
  constructor(...layers: Layer[]) {
    super(layers);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    let y = x;
    for (const layer of this) y = layer.forward(g, y);
    return y;
  }
}
