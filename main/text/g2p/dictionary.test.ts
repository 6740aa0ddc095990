import { describe, expect, it } from 'vitest';
import { isSymbol, symbols } from '../arpabet.ts';
import { readAsset } from '../assets.ts';
import { processorTime } from '../testing.ts';
import { packDictionary } from '../training/pack.ts';
import { Dictionary } from './dictionary.ts';

const dictionary = new Dictionary(readAsset('dictionary.gz'));

describe('the packed dictionary', () => {
  it('is the whole of CMUdict', () => {
    expect(dictionary.size).toBe(126_046);
  });

  it.each([
    [
      'hello',
      [
        ['HH', 'AH0', 'L', 'OW1'],
        ['HH', 'EH0', 'L', 'OW1'],
      ],
    ],
    ["o'clock", [['AH0', 'K', 'L', 'AA1', 'K']]],
    ["'bout", [['B', 'AW1', 'T']]],
    ['a', [['AH0'], ['EY1']]],
    ['zzz', undefined],
    ['', undefined],
    ['hell', [['HH', 'EH1', 'L']]],
    ['hello\t', undefined],
    ['字', undefined],
    ['zzzzzzzzzzzzzzzzzzzz', undefined],
  ])('%j', (word, expected) => {
    expect(dictionary.lookup(word)).toEqual(expected);
    expect(dictionary.has(word)).toBe(expected !== undefined);
  });

  it('is sorted, and every entry is found and made of known symbols', () => {
    let last = '';
    for (let i = 0; i < dictionary.size; i++) {
      const word = dictionary.word(i);
      expect(word > last).toBe(true);
      last = word;
      if (i % 101 !== 0) continue;
      const readings = dictionary.lookup(word);
      expect(readings?.length).toBeGreaterThan(0);
      for (const phone of readings!.flat()) expect(isSymbol(phone)).toBe(true);
    }
    expect(() => dictionary.word(dictionary.size)).toThrow(RangeError);
  });

  it('loads in well under 100 ms', () => {
    const times = Array.from({ length: 5 }, () =>
      processorTime(() => new Dictionary(readAsset('dictionary.gz')).lookup('hello')),
    );
    expect(Math.min(...times)).toBeLessThan(100);
  });
});

describe('packing', () => {
  const entries = new Map([
    ['b', [['B']]],
    ["a'b", [['AH0', 'B'], ['UW2']]],
    ['a', [[symbols[0]!, symbols[68]!]]],
  ]);

  it('gives back what went in', () => {
    const small = new Dictionary(packDictionary(entries));
    expect(small.size).toBe(3);
    for (const [word, readings] of entries) expect(small.lookup(word)).toEqual(readings);
    expect(small.lookup('c')).toBeUndefined();
    expect([0, 1, 2].map((i) => small.word(i))).toEqual(['a', "a'b", 'b']);
  });

  it('notices damage', () => {
    const bytes = packDictionary(entries);
    expect(() => new Dictionary(bytes.subarray(5))).toThrow(/damaged/);
    expect(() => new Dictionary(new Uint8Array())).toThrow(/damaged/);
    expect(new Dictionary(bytes.subarray(0, bytes.length - 1)).size).toBe(3);
  });
});
