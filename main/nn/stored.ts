import { elementsOf, type Shape } from './shapes.ts';

/** Whether reordering the dimensions leaves the elements where they lie (only dimensions of size 1 move). */
export function keepsLayout(shape: Shape, order: readonly number[]): boolean {
  const moved = order.filter((axis) => shape[axis] !== 1);
  return moved.every((axis, index) => index === 0 || axis > moved[index - 1]!);
}

/** Elements of `itemBytes` bytes, copied into the order of dimensions `order`. */
export function reorder(
  bytes: Uint8Array,
  shape: Shape,
  order: readonly number[],
  itemBytes: number,
): Uint8Array {
  const strides = shape.map((_, axis) => elementsOf(shape.slice(axis + 1)));
  const sizes = order.map((axis) => shape[axis]!);
  const steps = order.map((axis) => strides[axis]!);
  const result = new Uint8Array(bytes.byteLength);
  const from = itemView(bytes, itemBytes);
  const to = itemView(result, itemBytes);
  const counter = Array<number>(order.length).fill(0);
  let source = 0;
  for (let target = 0; target < to.length; target += 1) {
    to[target] = from[source]!;
    for (let axis = order.length - 1; axis >= 0; axis -= 1) {
      counter[axis]! += 1;
      source += steps[axis]!;
      if (counter[axis]! < sizes[axis]!) break;
      source -= counter[axis]! * steps[axis]!;
      counter[axis] = 0;
    }
  }
  return result;
}

/** The bytes as whole items, compared and copied by their bits. */
function itemView(bytes: Uint8Array, itemBytes: number): Uint8Array | Uint16Array | Uint32Array {
  if (itemBytes === 1) return bytes;
  const aligned = bytes.byteOffset % itemBytes === 0 ? bytes : bytes.slice();
  const { buffer, byteOffset, byteLength } = aligned;
  return itemBytes === 2
    ? new Uint16Array(buffer, byteOffset, byteLength >> 1)
    : new Uint32Array(buffer, byteOffset, byteLength >> 2);
}
