import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Messages } from '../../cli/messages.ts';
import type { StudioError } from '../../contract/index.ts';
import { englishReader } from './english.ts';
import { readGoldens, voiceFolder } from './testing/golden.ts';
import type { TextReader, Utterance } from './utterances.ts';

let read: TextReader;
let names: string[];
beforeAll(async () => {
  read = await englishReader(path.join(voiceFolder, 'phones.json'), 58);
  names = JSON.parse(readFileSync(path.join(voiceFolder, 'phones.json'), 'utf8')).phones;
});

const utterances = (text: string): Utterance[] => [...read(text).utterances()];
const phones = ({ ids }: Utterance) => [...ids].map((id) => names[id]!);

describe('English text', () => {
  test.each(readGoldens())(
    'the phones of "$text" are the reference’s',
    ({ text, phones: expected, word_start }) => {
      const [utterance, ...rest] = utterances(text);
      expect(rest).toEqual([]);
      const comma = phones(utterance!).filter(
        (phone, i, all) => !(phone === 'pau' && i > 0 && i < all.length - 1),
      );
      expect(comma).toEqual(expected);
      if (!text.includes(',')) expect(utterance!.wordStarts).toEqual(word_start);
    },
  );

  test('a sentence is an utterance, with what stands behind it and its share of the text', () => {
    const all = utterances('One thing. Another thing!\n\nA third one.');
    expect(all.map(({ text }) => text)).toEqual(['One thing.', 'Another thing!', 'A third one.']);
    expect(all.map(({ boundary }) => boundary)).toEqual(['sentence', 'paragraph', 'paragraph']);
    expect(all[0]!.progress.from).toBe(0);
    expect(all.at(-1)!.progress.to).toBe(1);
    for (const [i, { progress }] of all.entries())
      if (i > 0) expect(progress.from).toBe(all[i - 1]!.progress.to);
  });

  test('a long sentence stays one utterance: one pause where its runs meet, no two in a row', () => {
    const long = `${'We walked along the river and talked about the weather, '.repeat(8)}and then we went home.`;
    const [utterance, ...rest] = utterances(long);
    expect(rest).toEqual([]);
    const all = phones(utterance!);
    expect(all.length).toBeGreaterThan(200);
    expect(all[0]).toBe('pau');
    expect(all.at(-1)).toBe('pau');
    for (let i = 1; i < all.length; i++) expect(all[i] === 'pau' && all[i - 1] === 'pau').toBe(false);
    expect(utterance!.wordStarts.length).toBe(all.length);
  });

  test('a text without any stop still comes in pieces of bounded length', () => {
    const all = utterances('and so on '.repeat(2000));
    expect(all.length).toBeGreaterThan(5);
    expect(Math.max(...all.map(({ ids }) => ids.length))).toBeLessThan(2500);
  });

  test('questions, and questions that ask by a word', () => {
    const kind = (text: string) => utterances(text)[0]!.ending;
    expect(kind('Is it late?')).toBe('question');
    expect(kind('You know what?')).toBe('question');
    expect(kind('What time is it?')).toBe('wh_question');
    expect(kind('And where were you?')).toBe('wh_question');
    expect(kind("Who's there?")).toBe('wh_question');
    expect(kind('It is late.')).toBe('statement');
    expect(kind('What a day!')).toBe('statement');
  });

  test('text that it cannot speak is refused by name, stray signs are skipped with a warning', () => {
    expect(() => read('')).toThrow(expect.objectContaining({ code: 'text_empty' }));
    expect(() => read('你好，世界。')).toThrow(expect.objectContaining({ code: 'text_not_speakable' }));
    expect(() => read('你好，世界。')).toThrow(/Chinese.*English/);
    try {
      read('你好，世界。');
    } catch (error) {
      const chinese = new Messages('zh-CN').error(error as StudioError);
      expect(chinese).toMatch(
        /^文本中有 100% 是中文，Mizuoto Mini 读不了，它只会读英语文本（.*）。.*“mizuoto models”/,
      );
    }
    const mixed = read('The word 猫 means cat in this long English sentence.');
    expect(mixed.warnings).toHaveLength(1);
    expect([...mixed.utterances()]).toHaveLength(1);
  });

  test('half a million characters are read one sentence at a time', () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(11_200);
    expect(text.length).toBeGreaterThan(500_000);
    const iterator = read(text).utterances()[Symbol.iterator]();
    const began = performance.now();
    expect(iterator.next().value.text).toBe('The quick brown fox jumps over the lazy dog.');
    expect(performance.now() - began).toBeLessThan(2000);
    iterator.return?.();
  });

  test('a voice with fewer phones than the table is refused', async () => {
    await expect(englishReader(path.join(voiceFolder, 'phones.json'), 57)).rejects.toMatchObject({
      code: 'checkpoint_invalid',
    });
  });
});
