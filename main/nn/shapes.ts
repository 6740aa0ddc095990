/** Shape arithmetic in PyTorch order; tensors have at most 4 dimensions, as in ggml. */
export type Shape = readonly number[];

export const maxRank = 4;

export function elementsOf(shape: Shape): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

export function showShape(shape: Shape): string {
  return `[${shape.join(', ')}]`;
}

/** Axis from 0 up; negative axes count from the end. */
export function normalAxis(axis: number, rank: number): number {
  const normal = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || normal < 0 || normal >= rank) {
    throw new RangeError(`Dimension ${axis} does not exist in a tensor of ${rank} dimensions.`);
  }
  return normal;
}

/** Leading dimensions of size 1 until there are `rank`. */
export function padShape(shape: Shape, rank: number): number[] {
  return [...Array<number>(Math.max(0, rank - shape.length)).fill(1), ...shape];
}

/** NumPy's broadcasting; throws where it is not defined. */
export function broadcastShapes(a: Shape, b: Shape): number[] {
  const rank = Math.max(a.length, b.length);
  const left = padShape(a, rank);
  const right = padShape(b, rank);
  return left.map((size, axis) => {
    const other = right[axis]!;
    if (size === other || other === 1) return size;
    if (size === 1) return other;
    throw new RangeError(`Shapes ${showShape(a)} and ${showShape(b)} do not broadcast.`);
  });
}

/** Fills in at most one -1. */
export function resolveShape(shape: Shape, elements: number): number[] {
  const known = shape.reduce((product, size) => (size === -1 ? product : product * size), 1);
  const unknown = shape.filter((size) => size === -1).length;
  const resolved = shape.map((size) => (size === -1 ? elements / known : size));
  if (
    unknown > 1 ||
    shape.length > maxRank ||
    elementsOf(resolved) !== elements ||
    resolved.some((size) => !Number.isInteger(size))
  ) {
    throw new RangeError(`${elements} elements do not reshape to ${showShape(shape)}.`);
  }
  return resolved;
}

export function isIdentity(order: readonly number[]): boolean {
  return order.every((axis, index) => axis === index);
}

/** `inverse(order)` undoes `permute(order)`. */
export function inverseOrder(order: readonly number[]): number[] {
  const inverse = Array<number>(order.length).fill(0);
  for (const [index, axis] of order.entries()) inverse[axis] = index;
  return inverse;
}
