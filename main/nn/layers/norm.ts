import type { GraphBuilder } from '../graph.ts';
import { Module, python } from '../module.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';

/** Mean 0, variance 1 over the last dimension, then scale and shift (torch.nn.LayerNorm). */
export class LayerNorm extends Module {
  readonly weight: Parameter | null;
  readonly bias: Parameter | null;
  readonly eps: number;

  constructor(
    readonly normalized_shape: number,
    options: { eps?: number; elementwise_affine?: boolean; bias?: boolean } = {},
  ) {
    super();
    const affine = options.elementwise_affine ?? true;
    this.eps = options.eps ?? 1e-5;
    this.weight = affine ? this.parameter([normalized_shape], { init: 'ones' }) : null;
    this.bias = affine && (options.bias ?? true) ? this.parameter([normalized_shape]) : null;
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    let y = x.record('norm', [x.contiguous()], [this.eps], x.shape);
    if (this.weight !== null) y = y.mul(g.weight(this.weight));
    return this.bias === null ? y : y.add(g.weight(this.bias));
  }

  override extraRepr(): string {
    return `(${this.normalized_shape},), eps=${this.eps}, elementwise_affine=${python(this.weight !== null)}`;
  }
}

/** `x / rms(x) * weight` over the last dimension (Zhang and Sennrich 2019; torch.nn.RMSNorm). */
export class RMSNorm extends Module {
  readonly weight: Parameter;
  readonly eps: number;

  constructor(
    readonly hidden_size: number,
    options: { eps?: number } = {},
  ) {
    super();
    this.eps = options.eps ?? 1e-6;
    this.weight = this.parameter([hidden_size], { init: 'ones' });
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.record('rms_norm', [x.contiguous()], [this.eps], x.shape).mul(g.weight(this.weight));
  }

  override extraRepr(): string {
    return `(${this.hidden_size},), eps=${this.eps}`;
  }
}

/** Normalises groups of channels, `[batch, channels, ...]` (Wu and He 2018; torch.nn.GroupNorm). */
export class GroupNorm extends Module {
  readonly weight: Parameter | null;
  readonly bias: Parameter | null;
  readonly eps: number;

  constructor(
    readonly num_groups: number,
    readonly num_channels: number,
    options: { eps?: number; affine?: boolean } = {},
  ) {
    super();
    if (num_channels % num_groups !== 0) {
      throw new RangeError(`${num_channels} channels do not divide into ${num_groups} groups.`);
    }
    const affine = options.affine ?? true;
    this.eps = options.eps ?? 1e-5;
    this.weight = affine ? this.parameter([num_channels], { init: 'ones' }) : null;
    this.bias = affine ? this.parameter([num_channels]) : null;
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const groups = x.size(0) * this.num_groups;
    const rows = x.reshape(groups, -1);
    let y = rows.record('norm', [rows], [this.eps], rows.shape).reshape(...x.shape);
    const perChannel = [this.num_channels, ...x.shape.slice(2).map(() => 1)];
    if (this.weight !== null) y = y.mul(g.weight(this.weight).reshape(...perChannel));
    return this.bias === null ? y : y.add(g.weight(this.bias).reshape(...perChannel));
  }

  override extraRepr(): string {
    return `${this.num_groups}, ${this.num_channels}, eps=${this.eps}, affine=${python(this.weight !== null)}`;
  }
}
