import type { DType, GraphRecorder } from '../../native/addon.ts';
import { dtypeCode } from '../../native/load.ts';
import {
  broadcastShapes,
  elementsOf,
  inverseOrder,
  isIdentity,
  normalAxis,
  padShape,
  resolveShape,
  type Shape,
  sameShape,
  showShape,
} from './shapes.ts';

/** Types that operations can produce. */
export type ComputeDType = 'f32' | 'f16' | 'bf16' | 'i32';

/**
 * A value in a graph that is being recorded. Shapes are in PyTorch order.
 *
 * A permuted tensor is kept as its base and an order of dimensions: elementwise operations then run on the base
 * and are permuted back, so that `[batch, channels, frames]` code costs no copy where a layer computes channels
 * last. Copies are recorded only where an operation needs them.
 */
export class Tensor {
  readonly recorder: GraphRecorder;
  readonly shape: Shape;
  readonly dtype: DType;
  /** Elements lie one after the other in the order of `shape`. */
  readonly isContiguous: boolean;
  readonly #base: Tensor | null;
  readonly #order: readonly number[];
  #handle: number;
  #copy: Tensor | null = null;

  private constructor(
    recorder: GraphRecorder,
    shape: Shape,
    dtype: DType,
    origin: { handle: number; contiguous: boolean } | { base: Tensor; order: readonly number[] },
  ) {
    this.recorder = recorder;
    this.shape = shape;
    this.dtype = dtype;
    if ('base' in origin) {
      this.#base = origin.base;
      this.#order = origin.order;
      this.#handle = -1;
      this.isContiguous = false;
    } else {
      this.#base = null;
      this.#order = [];
      this.#handle = origin.handle;
      this.isContiguous = origin.contiguous;
    }
  }

  /** Wraps a handle of the recorder. */
  static from(
    recorder: GraphRecorder,
    handle: number,
    shape: Shape,
    dtype: DType,
    contiguous = true,
  ): Tensor {
    return new Tensor(recorder, shape, dtype, { handle, contiguous });
  }

  /** Handle in the recorder; a permutation is recorded when it is first needed. */
  get handle(): number {
    if (this.#handle < 0) this.#handle = this.recorder.op('permute', [this.#base!.handle], [...this.#order]);
    return this.#handle;
  }

  get rank(): number {
    return this.shape.length;
  }

  get elements(): number {
    return elementsOf(this.shape);
  }

  size(axis: number): number {
    return this.shape[normalAxis(axis, this.rank)]!;
  }

  /** Records an operation whose result is contiguous. For operations that `Tensor` has no method for. */
  record(
    name: string,
    sources: readonly Tensor[],
    params: readonly number[],
    shape: Shape,
    dtype?: DType,
  ): Tensor {
    const handle = this.recorder.op(
      name,
      sources.map((source) => source.handle),
      [...params],
    );
    return Tensor.from(this.recorder, handle, shape, dtype ?? this.dtype);
  }

  /** `record` with this tensor, made contiguous, as the only operand. */
  apply(name: string, params: readonly number[], shape: Shape): Tensor {
    return this.record(name, [this.contiguous()], params, shape);
  }

  // Shape

  contiguous(): Tensor {
    if (this.isContiguous) return this;
    this.#copy ??= this.record('cont', [this], [], this.shape);
    return this.#copy;
  }

  /** Last dimension has stride 1, which matrix products want. */
  rowContiguous(): Tensor {
    const rowsKept = this.#base === null || this.#order.at(-1) === this.rank - 1;
    return rowsKept ? this : this.contiguous();
  }

  /** Copies first where the elements do not lie in order; one size may be -1. */
  reshape(...shape: number[]): Tensor {
    const target = resolveShape(shape, this.elements);
    if (sameShape(target, this.shape)) return this;
    return this.record('reshape', [this.contiguous()], target, target);
  }

  permute(...order: number[]): Tensor {
    const axes = order.map((axis) => normalAxis(axis, this.rank));
    if (axes.length !== this.rank || new Set(axes).size !== this.rank) {
      throw new RangeError(
        `[${order.join(', ')}] is no order of the dimensions of ${showShape(this.shape)}.`,
      );
    }
    const base = this.#base ?? this;
    const composed = this.#base === null ? axes : axes.map((axis) => this.#order[axis]!);
    if (isIdentity(composed)) return base;
    const shape = composed.map((axis) => base.shape[axis]!);
    const moved = composed.filter((axis) => base.shape[axis] !== 1);
    if (base.isContiguous && moved.every((axis, index) => index === 0 || axis > moved[index - 1]!)) {
      return base.reshape(...shape);
    }
    return new Tensor(this.recorder, shape, this.dtype, { base, order: composed });
  }

  transpose(first: number, second: number): Tensor {
    const order = this.shape.map((_, axis) => axis);
    const [a, b] = [normalAxis(first, this.rank), normalAxis(second, this.rank)];
    [order[a], order[b]] = [order[b]!, order[a]!];
    return this.permute(...order);
  }

  unsqueeze(axis: number): Tensor {
    const at = axis < 0 ? axis + this.rank + 1 : axis;
    return this.reshape(...this.shape.toSpliced(at, 0, 1));
  }

  squeeze(axis: number): Tensor {
    const at = normalAxis(axis, this.rank);
    if (this.shape[at] !== 1) throw new RangeError(`Dimension ${axis} of ${showShape(this.shape)} is not 1.`);
    return this.reshape(...this.shape.toSpliced(at, 1));
  }

  /** A view of `length` entries of one dimension, from `start` on. */
  narrow(axis: number, start: number, length: number): Tensor {
    const at = normalAxis(axis, this.rank);
    const size = this.shape[at]!;
    if (start < 0 || length < 1 || start + length > size) {
      throw new RangeError(
        `Entries ${start} to ${start + length} do not exist in dimension ${axis} of ${showShape(this.shape)}.`,
      );
    }
    if (length === size) return this;
    if (this.#base !== null) {
      return this.#base.narrow(this.#order[at]!, start, length).permute(...this.#order);
    }
    const shape = this.shape.with(at, length);
    const outermost = this.shape.slice(0, at).every((other) => other === 1);
    const handle = this.recorder.op('narrow', [this.handle], [at, start, length]);
    return Tensor.from(this.recorder, handle, shape, this.dtype, this.isContiguous && outermost);
  }

  /** Every `step`-th of the entries of one dimension but the last, `length` of them from `start` on. */
  slice(axis: number, start: number, length: number, step: number): Tensor {
    if (step === 1) return this.narrow(axis, start, length);
    const at = normalAxis(axis, this.rank);
    const last = start + (length - 1) * step;
    if (this.#base !== null) return this.contiguous().slice(axis, start, length, step);
    if (at === this.rank - 1 || start < 0 || length < 1 || step < 1 || last >= this.shape[at]!) {
      throw new RangeError(
        `${length} entries from ${start}, ${step} apart, cannot be taken from dimension ${axis} of ${showShape(this.shape)}.`,
      );
    }
    const handle = this.recorder.op('slice', [this.handle], [at, start, length, step]);
    return Tensor.from(this.recorder, handle, this.shape.with(at, length), this.dtype, false);
  }

  /** Equal parts along one dimension. */
  chunk(count: number, axis: number): Tensor[] {
    const size = this.size(axis);
    if (size % count !== 0) throw new RangeError(`${size} entries do not divide into ${count} equal parts.`);
    return Array.from({ length: count }, (_, index) =>
      this.narrow(axis, (index * size) / count, size / count),
    );
  }

  concat(other: Tensor, axis: number): Tensor {
    const at = normalAxis(axis, this.rank);
    const shape = this.shape.with(at, this.shape[at]! + other.size(axis));
    if (!sameShape(this.shape.with(at, 0), other.shape.with(at, 0))) {
      throw new RangeError(
        `Shapes ${showShape(this.shape)} and ${showShape(other.shape)} do not join along dimension ${axis}.`,
      );
    }
    if (this.#base !== null) {
      const back = inverseOrder(this.#order);
      return this.#base.concat(other.permute(...back), this.#order[at]!).permute(...this.#order);
    }
    return this.record('concat', [this.contiguous(), other.contiguous()], [at], shape);
  }

  /** Repeats dimensions of size 1 (and adds leading ones) until the shape is `shape`. */
  expand(...shape: number[]): Tensor {
    if (sameShape(broadcastShapes(this.shape, shape), shape) === false) {
      throw new RangeError(`${showShape(this.shape)} does not expand to ${showShape(shape)}.`);
    }
    const padded = this.padRank(shape.length);
    return sameShape(padded.shape, shape)
      ? padded
      : this.record('repeat', [padded.contiguous()], shape, shape);
  }

  cast(dtype: ComputeDType): Tensor {
    return dtype === this.dtype
      ? this
      : this.record('cast', [this.contiguous()], [dtypeCode[dtype]], this.shape, dtype);
  }

  // Arithmetic, with broadcasting

  add(other: Tensor | number): Tensor {
    return typeof other === 'number' ? this.affine(1, other) : this.binary('add', other);
  }

  sub(other: Tensor | number): Tensor {
    return typeof other === 'number' ? this.affine(1, -other) : this.binary('sub', other);
  }

  mul(other: Tensor | number): Tensor {
    return typeof other === 'number' ? this.affine(other, 0) : this.binary('mul', other);
  }

  div(other: Tensor | number): Tensor {
    return typeof other === 'number' ? this.affine(1 / other, 0) : this.binary('div', other);
  }

  /** `scale * x + shift` in one operation. */
  affine(scale: number, shift: number): Tensor {
    return scale === 1 && shift === 0 ? this : this.unary('scale', [scale, shift]);
  }

  private binary(name: string, other: Tensor): Tensor {
    const shape = broadcastShapes(this.shape, other.shape);
    const right = other.padRank(shape.length);
    let left = this.padRank(shape.length);
    if (!sameShape(left.shape, shape)) {
      const commutes = name === 'add' || name === 'mul';
      if (commutes && sameShape(right.shape, shape)) return right.binary(name, left);
      left = left.expand(...shape);
    }
    if (left.#base !== null) {
      const back = right.permute(...inverseOrder(left.#order));
      return left.#base.binary(name, back).permute(...left.#order);
    }
    return left.record(name, [left.rowContiguous(), right.rowContiguous()], [], shape);
  }

  /** An elementwise operation of one operand, run in the order in which the elements lie. */
  unary(name: string, params: readonly number[] = []): Tensor {
    if (this.#base !== null) return this.#base.unary(name, params).permute(...this.#order);
    return this.record(name, [this.contiguous()], params, this.shape);
  }

  /** The same with further operands, which broadcast to this one. */
  elementwise(name: string, others: readonly Tensor[], params: readonly number[] = []): Tensor {
    const padded = others.map((other) => other.padRank(this.rank));
    if (this.#base !== null) {
      const back = inverseOrder(this.#order);
      const moved = padded.map((other) => other.permute(...back));
      return this.#base.elementwise(name, moved, params).permute(...this.#order);
    }
    const operands = [this, ...padded].map((operand) => operand.contiguous());
    return this.record(name, operands, params, this.shape);
  }

  neg(): Tensor {
    return this.unary('neg');
  }

  abs(): Tensor {
    return this.unary('abs');
  }

  exp(): Tensor {
    return this.unary('exp');
  }

  log(): Tensor {
    return this.unary('log');
  }

  sqrt(): Tensor {
    return this.unary('sqrt');
  }

  sqr(): Tensor {
    return this.unary('sqr');
  }

  sin(): Tensor {
    return this.unary('sin');
  }

  cos(): Tensor {
    return this.unary('cos');
  }

  clamp(minimum: number, maximum: number): Tensor {
    return this.unary('clamp', [minimum, maximum]);
  }

  // Products

  /** `x W^T` for `x` `[..., in]` and `weight` `[..., out, in]`; leading dimensions of `weight` broadcast. */
  linear(weight: Tensor): Tensor {
    const rank = Math.max(this.rank, weight.rank);
    const [a, b] = [weight.padRank(rank), this.padRank(rank)];
    const batchFits = a.shape.slice(0, -2).every((size, axis) => b.shape[axis]! % size === 0);
    if (a.shape.at(-1) !== b.shape.at(-1) || !batchFits) {
      throw new RangeError(
        `A product of ${showShape(this.shape)} with the transpose of ${showShape(weight.shape)} is not defined.`,
      );
    }
    const shape = b.shape.with(-1, a.shape.at(-2)!);
    if (weight.rank === 2 && this.isContiguous && this.elements !== this.size(-2) * this.size(-1)) {
      // One large product instead of one per row of the batch.
      return this.reshape(-1, this.size(-1))
        .linear(weight)
        .reshape(...shape);
    }
    return this.record('mul_mat', [a.matrix(), b.matrix()], [], shape, 'f32');
  }

  /**
   * As an operand of a product. Kernels take rows that lie apart, but some read the matrices of a batch as if they
   * lay next to each other: anything with gaps between them is copied.
   */
  private matrix(): Tensor {
    if (this.isContiguous) return this;
    if (this.#base === null) {
      return this.shape.slice(0, -2).every((size) => size === 1) ? this : this.contiguous();
    }
    const [rows, row] = [this.#order.at(-2), this.#order.at(-1)];
    const apart = this.#base.isContiguous && row === this.rank - 1 && rows !== this.rank - 2;
    return apart ? this : this.contiguous();
  }

  /** `x y` for `x` `[..., n, k]` and `y` `[..., k, m]`. */
  matmul(other: Tensor): Tensor {
    return this.linear(other.transpose(-2, -1));
  }

  private padRank(rank: number): Tensor {
    if (rank === this.rank) return this;
    if (this.#base === null) return this.reshape(...padShape(this.shape, rank));
    const added = rank - this.rank;
    const order = [...Array(added).keys(), ...this.#order.map((axis) => axis + added)];
    return this.#base.padRank(rank).permute(...order);
  }
}
