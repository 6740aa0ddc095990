import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/** Rows of a table by index, `[...] -> [..., dim]` in float32 (torch.nn.Embedding). Never streams. */
export class Embedding extends Module {
  readonly weight: Parameter;

  constructor(
    readonly num_embeddings: number,
    readonly embedding_dim: number,
  ) {
    super();
    this.weight = this.parameter([num_embeddings, embedding_dim], { readBy: 'rows' });
  }

  /** @param ids i32, each from 0 to `num_embeddings` - 1; the caller checks the range. */
  forward(g: GraphBuilder, ids: Tensor): Tensor {
    const shape = [...ids.shape, this.embedding_dim];
    return ids.record('get_rows', [g.weight(this.weight), ids], [], shape, 'f32');
  }

  override extraRepr(): string {
    return `${this.num_embeddings}, ${this.embedding_dim}`;
  }
}
