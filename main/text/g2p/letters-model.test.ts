import { describe, expect, it } from 'vitest';
import { isSymbol, isVowel, stressOf } from '../arpabet.ts';
import { readAsset } from '../assets.ts';
import { align, graphoneOf } from '../training/align.ts';
import { isHeldOut, isSpelling, readCorpus } from '../training/corpus.ts';
import { editDistance, scoreLetters } from '../training/evaluate.ts';
import { trainNGram } from '../training/ngram.ts';
import { gzip, packLetterModel } from '../training/pack.ts';
import { LetterModel, longestWord } from './letters-model.ts';

const model = new LetterModel(readAsset('letters.gz'));

describe('the packed letter model', () => {
  it('says one in nine phones wrong at most in words it never saw', () => {
    const words = [...readCorpus()].filter(([word]) => isSpelling(word) && isHeldOut(word));
    expect(words.length).toBeGreaterThan(5000);
    // A fifth of the held-out words; `node main/text/build-assets.mjs evaluate` measures all of them: 10.0 %.
    const sample = words.filter((_, i) => i % 5 === 0).map(([word, readings]) => ({ word, readings }));
    const score = scoreLetters(sample, (word) => model.pronounce(word));
    expect(score.phoneError).toBeLessThan(0.11);
    expect(score.phoneErrorNoStress).toBeLessThan(0.085);
    expect(score.phoneError).toBeGreaterThan(0.02);
  });

  it.each([
    ['blarg', 'B L AA1 R G'],
    ['wug', 'W AH1 G'],
    ['zorp', 'Z AO1 R P'],
    ['quokka', 'K W OW1 K AH0'],
    ['schnitzel', 'SH N IH1 T Z AH0 L'],
  ])('%s', (word, expected) => expect(model.pronounce(word).join(' ')).toBe(expected));

  it('stresses exactly one vowel', () => {
    for (const word of ['a', 'ox', 'banana', 'xyzzy', 'antidisestablishment', 'aeiou', 'rhythm', 'mizuoto']) {
      const phones = model.pronounce(word);
      expect(phones.every(isSymbol), word).toBe(true);
      expect(phones.some(isVowel), word).toBe(true);
      expect(
        phones.filter((phone) => stressOf(phone) === 1),
        word,
      ).toHaveLength(1);
    }
  });

  it('takes any length and refuses what is no spelling', () => {
    expect(model.pronounce('ab'.repeat(200)).length).toBeGreaterThan(200);
    expect(model.pronounce('z'.repeat(longestWord + 1)).length).toBeGreaterThan(0);
    for (const word of ['', 'A', 'é', 'a b', "a'", '1'])
      expect(() => model.pronounce(word)).toThrow(RangeError);
  });

  it('notices damage', () => {
    const bytes = readAsset('letters.gz');
    expect(() => new LetterModel(bytes.subarray(3))).toThrow(/damaged/);
    expect(() => new LetterModel(bytes.subarray(0, bytes.length / 8))).toThrow(/damaged/);
    expect(() => new LetterModel(bytes.subarray(0, bytes.length - 1))).toThrow(/damaged/);
  });
});

describe('training', () => {
  const examples =
    'cab:K AE1 B|back:B AE1 K|bake:B EY1 K|cake:K EY1 K|ax:AE1 K S|she:SH IY1|shack:SH AE1 K|cash:K AE1 SH|box:B AA1 K S'
      .split('|')
      .flatMap((entry) => {
        const [word = '', phones = ''] = entry.split(':');
        return Array.from({ length: 6 }, () => ({ word, phones: phones.split(' ') }));
      });
  const { paths } = align(examples, 12, 1);

  it('aligns letters with phones', () => {
    const shown = (index: number) =>
      paths[index * 6]!.map(graphoneOf).map(({ letters, phones }) => `${letters}:${phones.join('+')}`);
    expect(shown(0)).toEqual(['c:K', 'a:AE1', 'b:B']);
    expect(shown(4)).toEqual(['a:AE1', 'x:K+S']);
    expect(shown(5)).toEqual(['sh:SH', 'e:IY1']);
  });

  it('learns a model that says what it was taught, packed and unpacked', () => {
    const keys = [...new Set(paths.flatMap((path) => path!))];
    const taught = trainNGram(
      paths.map((path) => path!.map((key) => 2 + keys.indexOf(key))),
      4,
      10_000,
    );
    const small = new LetterModel(packLetterModel(taught, keys.map(graphoneOf)));
    for (const { word, phones } of examples) expect(small.pronounce(word)).toEqual(phones);
    expect(small.pronounce('shab')).toEqual(['SH', 'AE1', 'B']);
  });

  it('gives a probability distribution after every history', () => {
    const { firstChild, childCount, logProbability, logBackoff } = trainNGram(
      [
        [2, 3, 2],
        [2, 4],
        [3, 3, 4, 2],
      ],
      3,
      10_000,
    );
    let sum = 0;
    for (let i = firstChild[0]!; i < firstChild[0]! + childCount[0]!; i++)
      sum += Math.exp(logProbability[i]!);
    expect(sum).toBeCloseTo(1, 6);
    expect(logBackoff[0]).toBe(0);
  });

  it('keeps to its size', () => {
    const words = Array.from({ length: 300 }, (_, i) => [
      2 + (i % 7),
      2 + (i % 5),
      2 + (i % 11),
      2 + (i % 3),
    ]);
    const whole = trainNGram(words, 4, 1e9).symbol.length;
    expect(trainNGram(words, 4, Math.floor(whole / 2)).symbol.length).toBeLessThanOrEqual(
      Math.floor(whole / 2),
    );
  });

  it('packs the same bytes every time', () => {
    expect(gzip(new Uint8Array([1, 2, 3]))).toEqual(gzip(new Uint8Array([1, 2, 3])));
  });

  it.each([
    ['', '', 0],
    ['abc', 'abc', 0],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
    ['', 'ab', 2],
  ])('edit distance of %j and %j', (a, b, expected) => expect(editDistance([...a], [...b])).toBe(expected));
});
