import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWord, processorTime } from '../testing.ts';
import { normalise, normaliseTokens } from './normalise.ts';
import {
  amount,
  cardinal,
  decade,
  digitByDigit,
  fraction,
  longestCardinal,
  ordinal,
  pluralOf,
  roman,
  year,
} from './numbers.ts';

const say = (text: string) => normalise(text, { isWord });

describe('number words', () => {
  it.each([
    ['0', 'zero', 'zeroth'],
    ['3', 'three', 'third'],
    ['12', 'twelve', 'twelfth'],
    ['20', 'twenty', 'twentieth'],
    ['21', 'twenty one', 'twenty first'],
    ['99', 'ninety nine', 'ninety ninth'],
    ['100', 'one hundred', 'one hundredth'],
    ['1001', 'one thousand one', 'one thousand first'],
    ['1000000', 'one million', 'one millionth'],
    ['000042', 'forty two', 'forty second'],
    ['1000000000000000000', 'one quintillion', 'one quintillionth'],
  ])('%s', (digits, one, nth) => {
    expect(cardinal(digits)).toBe(one);
    expect(ordinal(digits)).toBe(nth);
  });

  it('reads what is too long for a name digit by digit', () => {
    expect(cardinal('9'.repeat(longestCardinal)).split(' ')[0]).toBe('nine');
    expect(cardinal('9'.repeat(longestCardinal))).toContain('decillion');
    expect(cardinal('9'.repeat(longestCardinal + 1))).not.toContain('decillion');
    expect(digitByDigit('12345678')).toBe('one two three four , five six seven eight');
  });

  it.each([
    ['1905', 'nineteen oh five'],
    ['1900', 'nineteen hundred'],
    ['2000', 'two thousand'],
    ['2007', 'two thousand seven'],
    ['2026', 'twenty twenty six'],
    ['476', 'four seventy six'],
    ['305', 'three oh five'],
    ['12345', 'twelve thousand three hundred forty five'],
  ])('year %s', (digits, expected) => expect(year(digits)).toBe(expected));

  it.each([
    ['3.14', 'three point one four'],
    ['.5', 'zero point five'],
    ['1,000.50', 'one thousand point five zero'],
    ['007', 'zero zero seven'],
  ])('amount %s', (text, expected) => expect(amount(text)).toBe(expected));

  it.each([
    ['1', '2', 'one half'],
    ['3', '4', 'three quarters'],
    ['2', '3', 'two thirds'],
    ['1', '100', 'one hundredth'],
    ['7', '23', 'seven over twenty three'],
    ['1', '0', 'one over zero'],
  ])('%s/%s', (top, bottom, expected) => expect(fraction(top, bottom)).toBe(expected));

  it.each([
    ['I', 1],
    ['IV', 4],
    ['XIV', 14],
    ['XLII', 42],
    ['MCMXCIX', 1999],
    ['IIII', 0],
    ['VX', 0],
    ['ABC', 0],
    ['', 0],
  ])('Roman %s is %i', (text, expected) => expect(roman(text)).toBe(expected));

  it('plurals', () => {
    expect([pluralOf('sixty'), pluralOf('six'), decade('1990'), decade('1800'), decade('80')]).toEqual([
      'sixties',
      'sixes',
      'nineteen nineties',
      'eighteen hundreds',
      'eighties',
    ]);
  });
});

describe('markup', () => {
  it.each([
    ['# Title\n\nSome **bold** text.', 'Title. Some bold text.'],
    ['- one\n- two', 'one, two'],
    ['1. one\n2. two', 'one. one, two. two'],
    ['> quoted\n> lines', 'quoted, lines'],
    ['Use `npm test` now.', 'Use npm test now.'],
    ['```js\nlet x;\n```', 'let X;'],
    ['| a | b |\n|---|---|\n| c | d |', 'a, B, C, D,'],
    ['a\n---\nb', 'a B'],
    ['exam-\nple', 'exam-ple'],
    ['line one\nline two', 'line one line two'],
    ['<p class="x">Hi</p>', 'Hi'],
    ['A &amp; B', 'A and B'],
  ])('%j', (text, expected) => expect(say(text)).toBe(expected));
});

describe('tokens', () => {
  it('know where they came from', () => {
    const text = 'It cost $5.20, Dr. Lee.';
    const tokens = normaliseTokens(text, { isWord, offset: 100 });
    for (const token of tokens) {
      expect(token.start).toBeGreaterThanOrEqual(100);
      expect(token.end).toBeLessThanOrEqual(100 + text.length);
    }
    const dollars = tokens.find((token) => token.text === 'dollars')!;
    expect(text.slice(dollars.start - 100, dollars.end - 100)).toBe('$5.20');
    const doctor = tokens.find((token) => token.text === 'doctor')!;
    expect(text.slice(doctor.start - 100, doctor.end - 100)).toBe('Dr.');
  });

  it('are words, letters and marks', () => {
    expect(normaliseTokens('The FBI, now.', { isWord }).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'word The',
      'letter F',
      'letter B',
      'letter I',
      'mark ,',
      'word now',
      'mark .',
    ]);
  });

  it('never begin with a mark and never hold two in a row', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', ' ', ',', '.', '?!', '—', '(', ')', '\n', '…', 'Dr.', '5')),
        (parts) => {
          const tokens = normaliseTokens(parts.join(''), { isWord });
          expect(tokens[0]?.kind).not.toBe('mark');
          for (let i = 1; i < tokens.length; i++)
            expect([tokens[i - 1]!.kind, tokens[i]!.kind]).not.toEqual(['mark', 'mark']);
        },
      ),
    );
  });
});

describe('plain words', () => {
  const words = fc.array(
    fc.constantFrom(
      ...'the quick brown fox jumps over lazy dogs and never stops because it likes people who say hello'.split(
        ' ',
      ),
    ),
    {
      minLength: 1,
      maxLength: 12,
    },
  );

  it('stay as they are', () => {
    fc.assert(
      fc.property(words, (list) => {
        expect(say(`${list.join(' ')}.`)).toBe(`${list.join(' ')}.`);
      }),
    );
  });

  it('and what was normalised stays so', () => {
    for (const text of [
      'It costs $5.20 on 2026-11-30 at 9:30 a.m.',
      '5 km, 3-5 people',
      'Mr. Smith read Chapter IV',
      'pi is 3.14159',
    ]) {
      const once = say(text);
      expect(say(once)).toBe(once);
    }
  });
});

describe('any text', () => {
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom(
        '$',
        '1',
        '12,000',
        '.',
        '-',
        '/',
        ':',
        '5 km',
        'a.m.',
        'No.',
        'IV',
        'http://',
        '@',
        '#',
        '\ud800',
        '\u0000',
        '字',
        '😀',
        'é',
        '³',
        '½',
        '\n',
        ' ',
        '&amp;',
        '[',
        '](',
        ')',
        '<b>',
        "'",
        '"',
        'U.S.',
        '00',
        'x',
        'GPT-4',
      ),
      fc.string({ maxLength: 6 }),
    ),
    { maxLength: 30 },
  );

  it('becomes words of the letters a to z, in order, the same every time', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('');
        const tokens = normaliseTokens(text, { isWord });
        let at = 0;
        for (const { kind, text: word, start, end } of tokens) {
          if (kind === 'word') expect(word).toMatch(/^(?:'em|[A-Za-z][A-Za-z'-]*)$/);
          if (kind === 'letter') expect(word).toMatch(/^[A-Z](?:'s)?$/);
          expect(start).toBeGreaterThanOrEqual(at);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          at = start;
        }
        expect(normaliseTokens(text, { isWord })).toEqual(tokens);
      }),
      { numRuns: 1000 },
    );
  });

  it('takes linear time, whatever the characters', () => {
    const n = 60_000;
    const texts = [
      '1',
      '1,',
      '1/',
      'a-',
      'a.',
      'A1',
      '$1',
      '[x',
      '<a',
      '&',
      'a@',
      '1:',
      '5" ',
      '1 000 ',
      "'",
      '(',
    ];
    for (const part of texts) {
      const text = part.repeat(n / part.length);
      expect(
        processorTime(() => normaliseTokens(text, { isWord })),
        part,
      ).toBeLessThan(6000);
    }
  });
});
