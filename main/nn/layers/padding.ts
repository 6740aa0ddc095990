import { normalAxis } from '../shapes.ts';
import { Tensor } from '../tensor.ts';

export type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';

/** Extends one dimension by `left` and `right` entries, as torch.nn.functional.pad does. */
export function pad(x: Tensor, left: number, right: number, mode: PaddingMode = 'zeros', axis = -1): Tensor {
  if (left === 0 && right === 0) return x;
  const at = normalAxis(axis, x.rank);
  const length = x.size(at);
  if (mode === 'reflect') {
    if (Math.max(left, right) >= length) {
      throw new RangeError(`Reflection by ${Math.max(left, right)} needs more than ${length} frames.`);
    }
    const rows = x.transpose(at, -1);
    return rows
      .apply('pad_reflect_1d', [left, right], rows.shape.with(-1, length + left + right))
      .transpose(at, -1);
  }
  if (mode === 'circular' && Math.max(left, right) > length) {
    throw new RangeError(
      `Circular padding by ${Math.max(left, right)} needs as many frames; there are ${length}.`,
    );
  }
  const beyond = (side: 'left' | 'right', size: number): Tensor => {
    const shape = x.shape.with(at, size);
    if (mode === 'zeros') return zeros(x, shape);
    if (mode === 'circular') return x.narrow(at, side === 'left' ? length - size : 0, size);
    return x.narrow(at, side === 'left' ? 0 : length - 1, 1).expand(...shape);
  };
  let padded = x;
  if (left > 0) padded = beyond('left', left).concat(padded, at);
  return right > 0 ? padded.concat(beyond('right', right), at) : padded;
}

/** Joined as a constant: not every backend pads on the left. */
function zeros(like: Tensor, shape: number[]): Tensor {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  return Tensor.from(like.recorder, like.recorder.constant('f32', shape, data), shape, 'f32');
}
