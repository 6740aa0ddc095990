import type { GraphBuilder } from '../graph.ts';
import { Module, ModuleList } from '../module.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { CausalConv1d } from './causal-conv1d.ts';
import type { Stream } from './stream.ts';

/** Entries of a codebook as training leaves them: sums of what fell to each entry, and how much did. */
export interface CodebookSums {
  /** `[codebook_size, codebook_dim]` */
  sums: Float32Array;
  /** `[codebook_size]` */
  usage: Float32Array;
}

/** `sums / max(usage, 1e-5)`: the entries themselves; `into` may be the sums. */
export function codebookEntries(
  { sums, usage }: CodebookSums,
  into: Float32Array = new Float32Array(sums.length),
): Float32Array {
  const dim = sums.length / usage.length;
  for (let entry = 0; entry < usage.length; entry += 1) {
    const divisor = Math.max(usage[entry]!, Math.fround(1e-5));
    for (let i = entry * dim; i < (entry + 1) * dim; i += 1) into[i] = sums[i]! / divisor;
  }
  return into;
}

/** A codebook of vectors, looked up by code or searched for the nearest. */
export class Codebook extends Module {
  /** `[codebook_size, codebook_dim]` */
  readonly embedding: Parameter;
  /** Half the squared length of each entry, negative, for the search; null where it only decodes. */
  readonly half_norm: Parameter | null;

  /** @param entries absent: random, for tests. */
  constructor(
    readonly codebook_size: number,
    readonly codebook_dim: number,
    options: { entries?: Float32Array; search?: boolean } = {},
  ) {
    super();
    const { entries, search = false } = options;
    this.embedding = new Parameter([codebook_size, codebook_dim], {
      readBy: 'rows',
      ...(entries === undefined ? {} : { value: entries }),
    });
    const norms = search && entries !== undefined ? { value: halfNorms(entries, codebook_dim) } : {};
    this.half_norm = search ? new Parameter([codebook_size], norms) : null;
  }

  /** @param codes i32 `[frames]` @returns `[frames, codebook_dim]` */
  decode(g: GraphBuilder, codes: Tensor): Tensor {
    return codes.record(
      'get_rows',
      [g.weight(this.embedding), codes],
      [],
      [codes.size(0), this.codebook_dim],
      'f32',
    );
  }

  /**
   * The entry with the least Euclidean distance: the largest `x e - |e|^2 / 2`.
   *
   * @param x `[frames, codebook_dim]` @returns i32 `[frames]`
   */
  encode(g: GraphBuilder, x: Tensor): Tensor {
    if (this.half_norm === null) throw new Error('This codebook was made to decode only.');
    const frames = x.size(0);
    // In float32 also where a device would round both sides: a code is right or wrong.
    const products = x.record(
      'mul_mat',
      [g.weight(this.embedding), x.contiguous()],
      [1],
      [frames, this.codebook_size],
      'f32',
    );
    const scores = products.add(g.weight(this.half_norm));
    return scores.record('argmax', [scores], [], [frames], 'i32');
  }

  override extraRepr(): string {
    return `${this.codebook_size}, ${this.codebook_dim}`;
  }
}

/** Residual vector quantizer: each codebook codes what the ones before it left over (Zeghidour et al. 2021). */
export class ResidualVectorQuantizer extends Module {
  /** Pointwise convolutions. */
  readonly input_proj: CausalConv1d | null;
  readonly output_proj: CausalConv1d | null;
  readonly layers: ModuleList<Codebook>;

  /** @param options.input_dim width of what is encoded, `output_dim` of what is decoded; absent: it does not do that. */
  constructor(codebooks: readonly Codebook[], options: { input_dim?: number; output_dim?: number }) {
    super();
    const dim = codebooks[0]!.codebook_dim;
    const { input_dim, output_dim } = options;
    this.input_proj = input_dim === undefined ? null : new CausalConv1d(input_dim, dim, 1, { bias: false });
    this.output_proj =
      output_dim === undefined ? null : new CausalConv1d(dim, output_dim, 1, { bias: false });
    this.layers = new ModuleList(codebooks);
  }

  /** @param codes i32 `[frames]` of each codebook @returns `[frames, output_dim]` */
  decode(g: GraphBuilder, codes: readonly Tensor[], stream: Stream): Tensor {
    const parts = codes.map((column, index) => this.layers.at(index).decode(g, column));
    const sum = parts.reduce((total, part) => total.add(part));
    return this.output_proj === null ? sum : this.output_proj.forward(g, sum, stream);
  }

  /** @param x `[frames, input_dim]` @returns i32 `[frames]` of each codebook */
  encode(g: GraphBuilder, x: Tensor, stream: Stream): Tensor[] {
    let residual = this.input_proj === null ? x : this.input_proj.forward(g, x, stream);
    const last = this.layers.length - 1;
    return [...this.layers].map((layer, index) => {
      const codes = layer.encode(g, residual);
      if (index < last) residual = residual.sub(layer.decode(g, codes));
      return codes;
    });
  }
}

function halfNorms(entries: Float32Array, dim: number): Float32Array {
  const norms = new Float32Array(entries.length / dim);
  for (let entry = 0; entry < norms.length; entry += 1) {
    let sum = 0;
    for (let i = entry * dim; i < (entry + 1) * dim; i += 1) sum += entries[i]! * entries[i]!;
    norms[entry] = -sum / 2;
  }
  return norms;
}
