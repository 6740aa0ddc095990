import { describe, expect, it } from 'vitest';
import { parseNumber } from './NumberField.tsx';

describe('typed numbers', () => {
  const bounds = { minimum: 0.5, maximum: 2 };
  it.each([
    ['1.25', 1.25],
    ['1,25', 1.25],
    [' .75 ', 0.75],
    ['１．５', 1.5],
    ['9', 2],
    ['-1', 0.5],
    ['', null],
    ['fast', undefined],
    ['1e9', undefined],
    ['0x10', undefined],
    ['1.2.3', undefined],
  ])('%j is %s', (text, value) => {
    expect(parseNumber(text, bounds)).toBe(value);
  });

  it('are whole where they must be', () => {
    expect(parseNumber('12.7', { minimum: 0, maximum: 100, whole: true })).toBe(13);
  });
});
