import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { missingRecogniser, recognise } from '../bench/wer/recogniser.ts';
import { align, scoredWords, showErrors, total } from '../bench/wer/score.ts';
import { Rig } from '../main/engines/mini/testing/rig.ts';

const heldOut = new URL('../app/resources/mini-voice/recipe/heldout.tsv', import.meta.url);

/** `npm run bench -- wer` measures all 40 sentences through the command line. */
describe('an offline recogniser understands the built-in voice', () => {
  // The recogniser is Debian's; elsewhere the benchmark says what to install.
  it.runIf(missingRecogniser() === null)(
    'eight held-out sentences, from plain text',
    async () => {
      const texts = readFileSync(fileURLToPath(heldOut), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[1]!)
        .filter((_, i) => i % 5 === 4);
      expect(texts).toHaveLength(8);
      const rig = await Rig.open();
      try {
        const clips = [];
        for (const text of texts)
          clips.push({ samples: (await rig.speak({ text })).samples, sampleRate: 24_000 });
        const heard = recognise(clips);
        const results = texts.map((text, i) => {
          const words = scoredWords(text);
          return { words: words.length, alignment: align(words, scoredWords(heard[i]!)) };
        });
        const errors = results.map(({ alignment }) => showErrors(alignment)).join('\n');
        // A handful of sentences: a word more or less is chance, nonsense would be far above.
        expect(total(results).rate, errors).toBeLessThanOrEqual(0.15);
        // What is scored is what was said: the wrong sentences are not understood.
        const wrong = results.map((_, i) => {
          const words = scoredWords(texts[(i + 1) % texts.length]!);
          return { words: words.length, alignment: align(words, scoredWords(heard[i]!)) };
        });
        expect(total(wrong).rate).toBeGreaterThan(0.7);
      } finally {
        await rig.close();
      }
    },
    300_000,
  );
});

describe('word error rate', () => {
  it.each([
    ['a b c', 'a b c', [0, 0, 0]],
    ['a b c', 'a x c', [1, 0, 0]],
    ['a b c', 'a c', [0, 1, 0]],
    ['a b c', 'a b b c', [0, 0, 1]],
    ['a b c', '', [0, 3, 0]],
    ['', 'a', [0, 0, 1]],
    ['the small boat was', 'the small but it was', [1, 0, 1]],
  ])('%j heard as %j', (wanted, heard, [substitutions, deletions, insertions]) => {
    const words = (text: string) => text.split(' ').filter(Boolean);
    expect(align(words(wanted), words(heard))).toMatchObject({ substitutions, deletions, insertions });
  });

  it('adds up', () => {
    const alignment = align(['a', 'b'], ['a', 'c', 'd']);
    expect(
      total([
        { words: 2, alignment },
        { words: 2, alignment: align(['a', 'b'], ['a', 'b']) },
      ]),
    ).toEqual({
      words: 4,
      substitutions: 1,
      deletions: 0,
      insertions: 1,
      rate: 0.5,
    });
    expect(total([]).rate).toBe(0);
  });

  it('compares words, not spellings', () => {
    expect(scoredWords("It costs $25, at 9 o'clock.")).toEqual(
      "it costs twenty five dollars at nine o'clock".split(' '),
    );
    expect(scoredWords('twenty-five')).toEqual(['twenty', 'five']);
  });

  it('shows what was misheard', () => {
    expect(showErrors(align(['a', 'b'], ['a', 'c']))).toBe('a [b|c]');
  });
});
