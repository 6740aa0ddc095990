import { describe, expect, it } from 'vitest';
import { foldWeightNorm, weightNormHalf } from './weight-norm.ts';

describe('weightNormHalf', () => {
  it.each([
    ['conv.weight_g', { weight: 'conv.weight', half: 'g' }],
    ['conv.weight_v', { weight: 'conv.weight', half: 'v' }],
    ['weight_v', { weight: 'weight', half: 'v' }],
    ['a.0.parametrizations.weight.original0', { weight: 'a.0.weight', half: 'g' }],
    ['a.0.parametrizations.weight.original1', { weight: 'a.0.weight', half: 'v' }],
    ['parametrizations.weight.original1', { weight: 'weight', half: 'v' }],
    ['conv.weight', null],
    ['parametrizations.weight.original2', null],
  ])('reads %s', (name, expected) => {
    expect(weightNormHalf(name)).toEqual(expected);
  });
});

describe('foldWeightNorm', () => {
  const v = { data: Float32Array.of(3, 4, 6, 8), shape: [2, 2] };

  it('takes the norm of each slice of the first dimension', () => {
    const folded = foldWeightNorm({ data: Float32Array.of(5, 1), shape: [2, 1] }, v);
    expect([...folded]).toEqual([3, 4, expect.closeTo(0.6), expect.closeTo(0.8)]);
  });

  it('takes the norm along another dimension', () => {
    const folded = foldWeightNorm({ data: Float32Array.of(1, 2), shape: [1, 2] }, v);
    const norms = [Math.hypot(3, 6), Math.hypot(4, 8)];
    const expected = [3 / norms[0]!, 8 / norms[1]!, 6 / norms[0]!, 16 / norms[1]!];
    for (const [index, value] of expected.entries()) expect(folded[index]).toBeCloseTo(value, 6);
  });

  it('takes one norm of the whole', () => {
    const folded = foldWeightNorm({ data: Float32Array.of(Math.hypot(3, 4, 6, 8)), shape: [] }, v);
    for (const [index, value] of v.data.entries()) expect(folded[index]).toBeCloseTo(value, 5);
  });

  it('refuses magnitudes that do not fit', () => {
    expect(() => foldWeightNorm({ data: Float32Array.of(1, 2, 3), shape: [3, 1] }, v)).toThrow(RangeError);
  });
});
