import { describe, expect, test } from 'vitest';
import { ComplexFft, RealFft } from './fft.ts';

const noise = (length: number) =>
  Float64Array.from({ length }, (_, i) => Math.sin(i * 12.9898) * Math.cos(i * i * 0.37));

/** The definition, term by term. */
function direct(data: Float64Array): Float64Array {
  const size = data.length / 2;
  const out = new Float64Array(2 * size);
  for (let k = 0; k < size; k++) {
    for (let n = 0; n < size; n++) {
      const angle = (-2 * Math.PI * ((k * n) % size)) / size;
      out[2 * k]! += data[2 * n]! * Math.cos(angle) - data[2 * n + 1]! * Math.sin(angle);
      out[2 * k + 1]! += data[2 * n]! * Math.sin(angle) + data[2 * n + 1]! * Math.cos(angle);
    }
  }
  return out;
}

const farthest = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)));

const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 20, 31, 64, 100, 127, 400, 512];

describe('ComplexFft', () => {
  test.each(sizes)('size %i is the sum of its definition, and back', (size) => {
    const fft = new ComplexFft(size);
    const data = noise(2 * size);
    const out = new Float64Array(2 * size);
    fft.forward(data, out);
    expect(farthest(out, direct(data))).toBeLessThan(1e-12 * (1 + size));
    const back = new Float64Array(2 * size);
    fft.inverse(out, back);
    expect(farthest(back, data)).toBeLessThan(1e-13 * (1 + size));
  });

  test('a size of 0 or 2.5 is refused', () => {
    expect(() => new ComplexFft(0)).toThrow(RangeError);
    expect(() => new ComplexFft(2.5)).toThrow(RangeError);
  });
});

describe('RealFft', () => {
  test.each(sizes)('size %i equals the complex one, and back, twice', (size) => {
    const fft = new RealFft(size);
    const re = new Float64Array(fft.bins);
    const im = new Float64Array(fft.bins);
    for (const signal of [noise(size), noise(size).map((value) => value ** 2)]) {
      fft.forward(signal, re, im);
      const expected = direct(
        Float64Array.from({ length: 2 * size }, (_, i) => (i % 2 ? 0 : signal[i / 2]!)),
      );
      expect(farthest(re, expected.filter((_, i) => i % 2 === 0).subarray(0, fft.bins))).toBeLessThan(
        1e-12 * (1 + size),
      );
      expect(farthest(im, expected.filter((_, i) => i % 2 === 1).subarray(0, fft.bins))).toBeLessThan(
        1e-12 * (1 + size),
      );
      const back = new Float64Array(size);
      fft.inverse(re, im, back);
      expect(farthest(back, signal)).toBeLessThan(1e-13 * (1 + size));
    }
  });

  test('imaginary parts of bin 0 and Nyquist do not matter', () => {
    for (const size of [8, 9]) {
      const fft = new RealFft(size);
      const re = noise(fft.bins);
      const im = noise(fft.bins);
      const clean = im.slice();
      clean[0] = 0;
      if (size % 2 === 0) clean[fft.bins - 1] = 0;
      const [a, b] = [new Float64Array(size), new Float64Array(size)];
      fft.inverse(re, im, a);
      fft.inverse(re, clean, b);
      expect(a).toEqual(b);
    }
  });
});
