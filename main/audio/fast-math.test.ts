import { expect, test } from 'vitest';
import { fastCos, fastExp, fastSin } from './fast-math.ts';

test('sine and cosine', () => {
  let worst = 0;
  for (let i = -40_000; i < 40_000; i++) {
    const x = i * 0.0123;
    worst = Math.max(worst, Math.abs(fastSin(x) - Math.sin(x)), Math.abs(fastCos(x) - Math.cos(x)));
  }
  expect(worst).toBeLessThan(2e-13);
  expect(Math.abs(fastSin(99_999.7) - Math.sin(99_999.7))).toBeLessThan(2e-11);
  for (const x of [1e5, -1e7, 1e22, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(fastSin(x)).toBe(Math.sin(x));
    expect(fastCos(x)).toBe(Math.cos(x));
  }
});

test('exponential', () => {
  for (let i = -70_000; i < 70_000; i++) {
    const x = i * 0.00101;
    const error = Math.abs(fastExp(x) / Math.exp(x) - 1);
    if (!(error < 1e-13)) expect.fail(`exp(${x}) is off by ${error}`);
  }
  for (const x of [-64, 64, 709, 1000, -1000, Number.NaN]) expect(fastExp(x)).toBe(Math.exp(x));
});
