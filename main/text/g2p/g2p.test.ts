import { describe, expect, it } from 'vitest';
import { isSymbol } from '../arpabet.ts';
import { englishG2p, type SpokenWord } from './g2p.ts';

const g2p = englishG2p();
const words = (text: string) => g2p.speak(text).filter((item): item is SpokenWord => item.kind === 'word');
/** Phones of the last word that is written with an asterisk: "I *read it". */
function marked(sentence: string): string {
  const at = sentence.indexOf('*');
  const word = words(sentence.replace('*', ' ')).find(({ start }) => start >= at)!;
  return word.parts.flat().join(' ');
}

describe('words out of context', () => {
  it.each([
    ['hello', 'HH AH0 L OW1'],
    ['Hello', 'HH AH0 L OW1'],
    ['cats', 'K AE1 T S'],
    ['mizuoto', 'M IY2 Z UW0 OW1 T OW0'],
    ["mizuoto's", 'M IY2 Z UW0 OW1 T OW0 Z'],
    ["zorp's", 'Z AO1 R P S'],
    ["blitz's", 'B L IH1 T S IH0 Z'],
    ["they'd've", 'DH EY1 D AH0 V'],
    ['doomscrolled', 'D UW1 M S K R OW2 L D'],
    ['googled', 'G UW1 G AH0 L D'],
    ['blogging', 'B L AO1 G IH0 NG'],
    ['emojis', 'IH0 M OW1 JH IY0 Z'],
    ['selfies', 'S EH1 L F IY2 Z'],
    ['screenshot', 'S K R IY1 N SH AA2 T'],
    ['pagemaker', 'P EY1 JH M EY2 K ER0'],
    ['html', 'EY2 CH T IY2 EH2 M EH1 L'],
    ['xqz', 'EH1 K S K Y UW1 Z IY1'],
    ["rock'n'roll", 'R AA1 K AH0 N R OW1 L'],
    ["o'malleyson", undefined],
    ['well-known', undefined],
    ['x', 'EH1 K S'],
    ['', ''],
    ["'", ''],
    ['--', ''],
  ])('%s', (word, expected) => {
    const phones = g2p.pronounce(word);
    expect(phones.every(isSymbol)).toBe(true);
    if (expected === undefined) expect(phones.length).toBeGreaterThan(3);
    else expect(phones.join(' ')).toBe(expected);
  });
});

describe('heteronyms', () => {
  it.each([
    ['I want to *read it.', 'R IY1 D'],
    ['I have *read it.', 'R EH1 D'],
    ['She *read it aloud.', 'R EH1 D'],
    ['I *read it yesterday.', 'R EH1 D'],
    ['Please *read this.', 'R IY1 D'],
    ['It was *read by many.', 'R EH1 D'],
    ['I *live in Rome.', 'L IH1 V'],
    ['It is a *live show.', 'L AY1 V'],
    ['We watched *live music.', 'L AY1 V'],
    ['He *lives here.', 'L IH1 V Z'],
    ['It saved their *lives.', 'L AY1 V Z'],
    ['They *lead the way.', 'L IY1 D'],
    ['The *lead pipe broke.', 'L EH1 D'],
    ['The *wind blows.', 'W IH1 N D'],
    ['You must *wind the clock.', 'W AY1 N D'],
    ['He *wound up the toy.', 'W AW1 N D'],
    ['The *wound healed.', 'W UW1 N D'],
    ['They *record a song.', 'R IH0 K AO1 R D'],
    ['We broke the *record.', 'R EH1 K ER0 D'],
    ['He *records songs.', 'R IH0 K AO1 R D Z'],
    ['The *records are old.', 'R EH1 K ER0 D Z'],
    ['How do you *use it?', 'Y UW1 Z'],
    ['It is of no *use.', 'Y UW1 S'],
    ['Make *use of it.', 'Y UW1 S'],
    ['I *used to swim.', 'Y UW1 S T'],
    ['It was *used to swim.', 'Y UW1 Z D'],
    ['Please *close the door.', 'K L OW1 Z'],
    ['They are very *close.', 'K L OW1 S'],
    ['It is *close to me.', 'K L OW1 S'],
    ['She shed a *tear.', 'T IH1 R'],
    ['Do not *tear it.', 'T EH1 R'],
    ['They *tear it up.', 'T EH1 R'],
    ['The *bow and arrow.', 'B OW1'],
    ['They *bow down.', 'B AW1'],
    ['He took a *bow.', 'B AW1'],
    ['At *present we wait.', 'P R EH1 Z AH0 N T'],
    ['I will *present it.', 'P R IH0 Z EH1 N T'],
    ['The *object fell.', 'AA1 B JH EH0 K T'],
    ['They *object to it.', 'AH0 B JH EH1 K T'],
    ['The *content is good.', 'K AA1 N T EH0 N T'],
    ['I am *content.', 'K AH0 N T EH1 N T'],
    ['Wait a *minute.', 'M IH1 N AH0 T'],
    ['In *minute detail.', 'M AY0 N UW1 T'],
    ['It will *increase.', 'IH0 N K R IY1 S'],
    ['An *increase came.', 'IH1 N K R IY2 S'],
    ['The *project ended.', 'P R AA1 JH EH0 K T'],
    ['We *refuse to go.', 'R AH0 F Y UW1 Z'],
    ['They *estimate the cost.', 'EH1 S T AH0 M EY2 T'],
    ['An *estimate came.', 'EH1 S T AH0 M AH0 T'],
    ['A *separate room.', 'S EH1 P ER0 IH0 T'],
    ['We must *separate them.', 'S EH1 P ER0 EY2 T'],
    ['He is *Polish.', 'P OW1 L IH0 SH'],
    ['We *polish shoes.', 'P AA1 L IH0 SH'],
    ['A *dove flew.', 'D AH1 V'],
    ['He *dove into it.', 'D OW1 V'],
    ['He plays *bass.', 'B EY1 S'],
    ['My *resume is long.', 'R EH1 Z AH0 M EY2'],
    ['They *resume work.', 'R IH0 Z UW1 M'],
    ['The *house is big.', 'HH AW1 S'],
    ['They *house them.', 'HH AW1 Z'],
    ['According to *record sales.', 'R EH1 K ER0 D'],
  ])('%s', (sentence, expected) => expect(marked(sentence)).toBe(expected));
});

describe('sentences', () => {
  it('the before a vowel', () => {
    expect(marked('*the apple')).toBe('DH IY0');
    expect(marked('*the dog')).toBe('DH AH0');
    expect(marked('*the FBI')).toBe('DH IY0');
    expect(marked('*the USA')).toBe('DH AH0');
  });

  it('letters by name, also in the plural', () => {
    expect(words('The PDFs.').map(({ parts }) => parts.flat().join(' '))).toEqual([
      'DH AH0',
      'P IY1',
      'D IY1',
      'EH1 F S',
    ]);
    expect(words('Plan A is a plan.').map(({ source }) => source)).toEqual([
      'dictionary',
      'letter',
      'dictionary',
      'dictionary',
      'dictionary',
    ]);
  });

  it('hyphenated words have parts', () => {
    expect(words('a dog-friendly inn')[1]!.parts).toHaveLength(2);
    expect(words('avant-garde')[0]!.parts).toHaveLength(1);
    expect(words('co-operate')[0]!.parts).toEqual([['K', 'OW0', 'AA1', 'P', 'ER0', 'EY2', 'T']]);
  });

  it('says how sure it is', () => {
    const source = (text: string) => words(text)[0]!.source;
    expect(['hello', 'doomscrolled', 'zorblatt', 'B'].map(source)).toEqual([
      'dictionary',
      'parts',
      'model',
      'letter',
    ]);
  });

  it('keeps marks and offsets', () => {
    const text = 'Hello, $5!';
    expect(g2p.speak(text, 10).map(({ kind, text: said, start, end }) => [kind, said, start, end])).toEqual([
      ['word', 'Hello', 10, 15],
      ['mark', ',', 15, 16],
      ['word', 'five', 17, 19],
      ['word', 'dollars', 17, 19],
      ['mark', '!', 19, 20],
    ]);
  });

  it('every word of normalised text has phones', () => {
    const text =
      "Dr. Lee's 3 PDFs (2.5 MB) cost $1.50 on Nov. 30, 2026, didn't they? Müller's zorp-like XQZ-9 won't.";
    for (const { text: word, parts } of words(text)) {
      expect(parts.flat().length, word).toBeGreaterThan(0);
      expect(parts.flat().every(isSymbol), word).toBe(true);
    }
  });
});
