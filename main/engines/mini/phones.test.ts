import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PhoneMapper, type PhoneTable } from './phones.ts';

const folder = new URL('../../../app/resources/mini-voice/', import.meta.url);
const table = JSON.parse(readFileSync(fileURLToPath(new URL('phones.json', folder)), 'utf8')) as PhoneTable;
const mapper = new PhoneMapper(table);
const phones = (text: string) => mapper.toPhones(text).map((utterance) => utterance.phones.join(' '));

describe('phones of the built-in voice', () => {
  it.each([
    ['Hello.', 'pau hh ax0 l ow1 pau'],
    ['Hello, world!', 'pau hh ax0 l ow1 pau w er1 l d pau'],
    ['"Hello"', 'pau hh ax0 l ow1 pau'],
    ['Well... yes.', 'pau w eh1 l pau y eh1 s pau'],
    ['The cat and a dog.', 'pau dh ax0 k ae1 t ae1 n d ax0 d ao1 g pau'],
    ['the apple', 'pau dh ax0 ae1 p ax0 l pau'],
    ['plan A', 'pau p l ae1 n ey1 pau'],
    ['I waited.', 'pau ay1 w ey1 t ax0 d pau'],
    ['inside', 'pau ih0 n s ay1 d pau'],
    ['thirty', 'pau th er1 d iy0 pau'],
    ['to you', 'pau t ax0 y uw1 pau'],
    ["didn't", 'pau d ih1 d n t pau'],
    ['FBI', 'pau eh1 f b iy1 ay1 pau'],
    ['5%', 'pau f ay1 v p er0 s eh1 n t pau'],
    [', , hello , ,', 'pau hh ax0 l ow1 pau'],
    ['So (yes), no.', 'pau s ow1 pau y eh1 s pau n ow1 pau'],
  ])('%s', (text, expected) => expect(phones(text)).toEqual([expected]));

  it('nothing for what cannot be said', () => {
    for (const text of ['', ' ', '...', '?!', '😀', '字', '"""', '---']) expect(phones(text)).toEqual([]);
  });

  it('marks the first phone of each word and of each part of a compound', () => {
    const [one] = mapper.toPhones('A dog-friendly inn?');
    const starts = [...one!.wordStart].flatMap((flag, i) => (flag ? [one!.phones[i]!] : []));
    expect(starts).toEqual(['ax0', 'd', 'f', 'ih1']);
    expect(one!.wordStart).toHaveLength(one!.ids.length);
    expect([...one!.ids]).toEqual(one!.phones.map((phone) => table.ids[phone]));
    expect(one!.isQuestion).toBe(true);
  });

  it('knows a question by its last mark', () => {
    const question = (text: string) => mapper.toPhones(text).at(-1)!.isQuestion;
    expect(question('Is it?')).toBe(true);
    expect(question('Is it?"')).toBe(true);
    expect(question('"Is it?" he asked.')).toBe(false);
    expect(question('What?!')).toBe(true);
    expect(question('It is.')).toBe(false);
  });

  it('says where the words are', () => {
    const text = 'It cost $5.';
    const [one] = mapper.toPhones(text, 100);
    expect(one!.words.map((word) => [word.text, text.slice(word.start - 100, word.end - 100)])).toEqual([
      ['It', 'It'],
      ['cost', 'cost'],
      ['five', '$5'],
      ['dollars', '$5'],
    ]);
    for (const { firstPhone, lastPhone } of one!.words) {
      expect(one!.wordStart[firstPhone]).toBe(1);
      expect(lastPhone).toBeGreaterThan(firstPhone);
    }
    expect([one!.start, one!.end]).toEqual([100, 110]);
  });

  it('cuts what is longer than the training data, at pauses or before phrases', () => {
    const clause = 'the children ran out into the garden behind the house, ';
    const runs = mapper.toPhones(clause.repeat(6));
    expect(runs.length).toBeGreaterThan(2);
    for (const run of runs) {
      expect(run.ids.length).toBeLessThanOrEqual(98);
      expect([run.phones[0], run.phones.at(-1)]).toEqual(['pau', 'pau']);
      expect(run.words.at(-1)!.text).toBe('house');
    }
    const plain = mapper.toPhones(
      'the old man walked slowly along the river and looked at the boats on the water because he liked the way in which they moved with the wind that came down from the mountains',
    );
    expect(plain.length).toBe(2);
    expect(['and', 'because', 'on', 'at']).toContain(plain[1]!.words[0]!.text);
  });

  it('a number of many digits becomes several runs, the question at the last', () => {
    const runs = mapper.toPhones(`${'1234567890'.repeat(20)}?`);
    expect(runs.length).toBeGreaterThan(5);
    expect(runs.map((run) => run.isQuestion)).toEqual(runs.map((_, i) => i === runs.length - 1));
  });

  it('never two pauses in a row, whatever the text', () => {
    for (const text of ['a,, b', 'a (b) [c], d.', 'Wait — no: stop; go... now!', 'x. y. z?']) {
      for (const line of phones(text)) expect(line).not.toContain('pau pau');
    }
  });

  it('refuses a table that lacks a phone', () => {
    const { ax0: _, ...ids } = table.ids;
    expect(() => new PhoneMapper({ ...table, ids })).toThrow(/ax0/);
  });

  it('reads the golden sentences as they were trained', () => {
    expect(phones('Hello, and welcome.')).toEqual(['pau hh ax0 l ow1 pau ae1 n d w eh1 l k ax0 m pau']);
    expect(phones('The quick brown fox jumps over the lazy dog.')).toEqual([
      'pau dh ax0 k w ih1 k b r aw1 n f aa1 k s jh ah1 m p s ow1 v er0 dh ax0 l ey1 z iy0 d ao1 g pau',
    ]);
  });
});
