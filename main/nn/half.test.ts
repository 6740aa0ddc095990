import { describe, expect, it } from 'vitest';
import {
  fromBFloat16,
  fromBFloat16Bits,
  fromFloat16,
  fromFloat16Bits,
  toBFloat16,
  toBFloat16Bits,
  toFloat16,
  toFloat16Bits,
} from './half.ts';

describe('float16', () => {
  it('returns every finite value to itself', () => {
    const changed = [...Array(0x10000).keys()].filter((bits) => {
      const value = fromFloat16Bits(bits);
      return !Number.isNaN(value) && toFloat16Bits(value) !== bits;
    });
    expect(changed).toEqual([]);
  });

  it.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [1e9, 0x7c00],
    [Number.NEGATIVE_INFINITY, 0xfc00],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [1.0001 * 2 ** -25, 0x0001],
    [2 ** -14, 0x0400],
    // Half-way cases go to the even neighbour.
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [3 * 2 ** -25, 0x0002],
  ])('rounds %d to %i', (value, bits) => {
    expect(toFloat16Bits(value)).toBe(bits);
  });

  it('keeps NaN', () => {
    expect(fromFloat16Bits(toFloat16Bits(Number.NaN))).toBeNaN();
  });

  it('packs little-endian bytes', () => {
    const bytes = toFloat16(Float32Array.of(1, -2));
    expect([...bytes]).toEqual([0x00, 0x3c, 0x00, 0xc0]);
    expect([...fromFloat16(bytes)]).toEqual([1, -2]);
  });
});

describe('bfloat16', () => {
  it('returns every value to itself', () => {
    const changed = [...Array(0x10000).keys()].filter((bits) => {
      const value = fromBFloat16Bits(bits);
      return !Number.isNaN(value) && toBFloat16Bits(value) !== bits;
    });
    expect(changed).toEqual([]);
  });

  it.each([
    [1 + 2 ** -8, 0x3f80],
    [1 + 3 * 2 ** -8, 0x3f82],
    [3.4e38, 0x7f80],
  ])('rounds %d to %i', (value, bits) => {
    expect(toBFloat16Bits(value)).toBe(bits);
  });

  it('keeps NaN and packs bytes', () => {
    expect(fromBFloat16Bits(toBFloat16Bits(Number.NaN))).toBeNaN();
    expect([...fromBFloat16(toBFloat16(Float32Array.of(1, -2.5)))]).toEqual([1, -2.5]);
  });
});
