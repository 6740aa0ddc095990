import { elementsOf, type Shape, showShape } from './shapes.ts';

/** Names under which PyTorch saves the two halves of a weight-normalised tensor, old style and new. */
const patterns: readonly { suffix: RegExp; half: 'g' | 'v' }[] = [
  { suffix: /^(.*\.)?(\w+)_g$/, half: 'g' },
  { suffix: /^(.*\.)?(\w+)_v$/, half: 'v' },
  { suffix: /^(.*\.)?parametrizations\.(\w+)\.original0$/, half: 'g' },
  { suffix: /^(.*\.)?parametrizations\.(\w+)\.original1$/, half: 'v' },
];

/** Which weight a tensor is half of: `conv.weight_g` is the magnitude (`g`) of `conv.weight`; null: of none. */
export function weightNormHalf(name: string): { weight: string; half: 'g' | 'v' } | null {
  for (const { suffix, half } of patterns) {
    const match = suffix.exec(name);
    if (match !== null) return { weight: `${match[1] ?? ''}${match[2]}`, half };
  }
  return null;
}

/**
 * `g * v / ||v||` (Salimans and Kingma 2016).
 *
 * @param g magnitudes: one dimension of `v`'s (the others of size 1 or left out), or a single one for all of `v`.
 * @param v directions, any shape.
 * @throws RangeError where the shapes do not fit.
 */
export function foldWeightNorm(
  g: { data: Float32Array; shape: Shape },
  v: { data: Float32Array; shape: Shape },
): Float32Array {
  const axis = Math.max(
    0,
    g.shape.findIndex((size) => size !== 1),
  );
  const slices = g.data.length;
  if (slices !== 1 && (slices !== v.shape[axis] || g.shape.length > v.shape.length)) {
    throw new RangeError(
      `magnitudes of shape ${showShape(g.shape)} do not fit directions of shape ${showShape(v.shape)}`,
    );
  }
  const inner = slices === 1 ? v.data.length : elementsOf(v.shape.slice(axis + 1));
  const squares = new Float64Array(slices);
  for (let start = 0, slice = 0; start < v.data.length; start += inner, slice = (slice + 1) % slices) {
    let sum = 0;
    for (let index = start; index < start + inner; index += 1) sum += v.data[index]! * v.data[index]!;
    squares[slice]! += sum;
  }
  const folded = new Float32Array(v.data.length);
  for (let start = 0, slice = 0; start < v.data.length; start += inner, slice = (slice + 1) % slices) {
    const factor = g.data[slice]! / Math.sqrt(squares[slice]!);
    for (let index = start; index < start + inner; index += 1) folded[index] = v.data[index]! * factor;
  }
  return folded;
}
