import type { Tensor } from '../tensor.ts';

export type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';

/** Extends the last dimension by `left` and `right` entries, as torch.nn.functional.pad does. */
export function pad(x: Tensor, left: number, right: number, mode: PaddingMode = 'zeros'): Tensor {
  if (left === 0 && right === 0) return x;
  const length = x.size(-1);
  if (mode === 'zeros') {
    const shape = x.shape.with(-1, length + left + right);
    return x.record('pad', [x.contiguous()], [left, right, 0, 0, 0, 0, 0, 0], shape);
  }
  if (mode === 'reflect') {
    if (Math.max(left, right) >= length) {
      throw new RangeError(
        `Reflection by ${Math.max(left, right)} needs a longer input than ${length} frames.`,
      );
    }
    return x.record(
      'pad_reflect_1d',
      [x.contiguous()],
      [left, right],
      x.shape.with(-1, length + left + right),
    );
  }
  if (mode === 'circular' && Math.max(left, right) > length) {
    throw new RangeError(
      `Circular padding by ${Math.max(left, right)} needs at least as many frames; there are ${length}.`,
    );
  }
  // What lies beyond an edge: the other end, or the edge's own frame again.
  const beyond = (side: 'left' | 'right', size: number): Tensor => {
    if (mode === 'circular') return x.narrow(-1, side === 'left' ? length - size : 0, size);
    return x.narrow(-1, side === 'left' ? 0 : length - 1, 1).expand(...x.shape.with(-1, size));
  };
  let padded = x;
  if (left > 0) padded = beyond('left', left).concat(padded, -1);
  return right > 0 ? padded.concat(beyond('right', right), -1) : padded;
}
