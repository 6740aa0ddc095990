import { describe, expect, it } from 'vitest';
import { isVowel, parse, stressOf, symbols, withD, withS, withStress } from './arpabet.ts';

describe('ARPAbet', () => {
  it('has 24 consonants and 15 vowels of three stresses', () => {
    expect(symbols).toHaveLength(69);
    expect(symbols.filter(isVowel)).toHaveLength(45);
    expect(new Set(symbols).size).toBe(69);
  });

  it.each([
    ['AA1', true, 1, 'AA0'],
    ['IY2', true, 2, 'IY0'],
    ['B', false, -1, 'B'],
    ['ZH', false, -1, 'ZH'],
  ])('%s', (phone, vowel, stress, unstressed) => {
    expect(isVowel(phone)).toBe(vowel);
    expect(stressOf(phone)).toBe(stress);
    expect(withStress(phone, 0)).toBe(unstressed);
  });

  it('parses, and refuses what is none', () => {
    expect(parse('HH AH0 L OW1')).toEqual(['HH', 'AH0', 'L', 'OW1']);
    for (const text of ['', 'AA', 'AA3', 'hh', 'B  B'])
      expect(() => parse(text)).toThrow(/no ARPAbet symbol/);
  });

  it.each([
    ['K AE1 T', 'K AE1 T S', 'K AE1 T IH0 D'],
    ['D AO1 G', 'D AO1 G Z', 'D AO1 G D'],
    ['HH AO1 R S', 'HH AO1 R S IH0 Z', 'HH AO1 R S T'],
    ['W AO1 K', 'W AO1 K S', 'W AO1 K T'],
    ['N IY1 D', 'N IY1 D Z', 'N IY1 D IH0 D'],
    ['M AE1 CH', 'M AE1 CH IH0 Z', 'M AE1 CH T'],
    ['P L EY1', 'P L EY1 Z', 'P L EY1 D'],
    ['B AE1 TH', 'B AE1 TH S', 'B AE1 TH T'],
  ])('endings of %s', (stem, s, d) => {
    expect(withS(parse(stem)).join(' ')).toBe(s);
    expect(withD(parse(stem)).join(' ')).toBe(d);
  });
});
