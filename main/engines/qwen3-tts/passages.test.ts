import { describe, expect, it } from 'vitest';
import { passages } from './passages.ts';

const count = (text: string): number => text.split(/\s+/).filter(Boolean).length;

describe('passages', () => {
  it('leaves a text that fits as it is, without the space around it', () => {
    const text = '  One. Two\n\nthree —  four!  ';
    expect([...passages(text, count)]).toEqual([{ text: text.trim(), progress: { from: 0, to: 1 } }]);
  });

  it('puts as many sentences together as fit, and loses none', () => {
    const sentence = 'The quick brown fox jumps over the lazy dog today.';
    const text = Array.from({ length: 40 }, (_, index) => `${index} ${sentence}`).join(' ');
    const found = [...passages(text, count, 50)];
    expect(found.map((passage) => passage.text).join(' ')).toBe(text);
    expect(found.map((passage) => count(passage.text))).toEqual(Array(10).fill(44));
    expect(found[0]!.progress.from).toBe(0);
    expect(found.at(-1)!.progress.to).toBe(1);
    for (const [index, { progress }] of found.entries()) {
      expect(progress.to).toBeGreaterThan(progress.from);
      if (index > 0) expect(progress.from).toBe(found[index - 1]!.progress.to);
    }
  });

  it('cuts a sentence that no passage could hold, and passes over what has no sound', () => {
    const endless = 'word '.repeat(3000);
    const found = [...passages(endless, count, 600)];
    expect(found.length).toBeGreaterThan(4);
    expect(
      found
        .map((passage) => passage.text.trim())
        .join(' ')
        .split(' '),
    ).toHaveLength(3000);
    const spaced = `${'Word. '.repeat(20)}\n\n***\n\n${'— — — '.repeat(200)}`;
    expect([...passages(spaced, count, 20)].every((passage) => /\p{L}/u.test(passage.text))).toBe(true);
  });

  it('speaks any script, digits and signs that are words; refuses the rest', () => {
    for (const text of ['你好', '7', '100 %', 'नमस्ते', '&'])
      expect([...passages(text, count)]).toHaveLength(1);
    for (const text of ['…', '— !?', '😀', '* * *']) {
      expect(() => [...passages(text, count)]).toThrow(
        expect.objectContaining({ code: 'text_not_speakable' }),
      );
    }
  });

  it('is asked for one passage at a time', () => {
    let asked = 0;
    const counting = (text: string): number => {
      asked += 1;
      return count(text);
    };
    const text = 'A sentence with a few words in it. '.repeat(2000);
    passages(text, counting, 30).next();
    expect(asked).toBeLessThan(20);
  });
});
