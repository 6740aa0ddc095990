import { describe, expect, it } from 'vitest';
import { measureText } from './text-metrics.ts';

const counts = (text: string) => {
  const { characters, words, sentences } = measureText(text);
  return [characters, words, sentences];
};

describe('counts of a script', () => {
  it.each([
    ['', [0, 0, 0]],
    ['   \n\n ', [6, 0, 0]],
    ['Hello from Mizuoto. It is half past nine.', [41, 8, 2]],
    ['The value is 3.14, e.g. on page 12', [34, 8, 2]],
    ["Don't stop; well-known words aren't two.", [40, 6, 1]],
    ['“Who had been listening?” Nobody had.', [37, 6, 2]],
    ['Wait... what?! No', [17, 3, 3]],
    ['one\ntwo\n\nthree', [14, 3, 3]],
    ['你好，世界。今天天气很好！', [13, 10, 2]],
    ['我用 Qwen3 生成语音', [13, 7, 1]],
    ['😀 ok', [4, 1, 1]],
    ['1,000.5 and one,two', [19, 4, 1]],
    ['...', [3, 0, 0]],
  ])('%j', (text, expected) => {
    expect(counts(text)).toEqual(expected);
  });

  it('estimates what people need to say it', () => {
    // About 150 words a minute.
    const english = 'The quick brown fox jumps over the lazy dog near the river bank. '.repeat(20);
    const minutes = measureText(english).seconds / 60;
    expect(measureText(english).words / minutes).toBeGreaterThan(130);
    expect(measureText(english).words / minutes).toBeLessThan(200);
    // About 240 characters a minute.
    const chinese = '小河边住着一只老青蛙，它每天都在听水的声音。'.repeat(20);
    const rate = measureText(chinese).words / (measureText(chinese).seconds / 60);
    expect(rate).toBeGreaterThan(200);
    expect(rate).toBeLessThan(300);
  });

  it('never stumbles over broken text', () => {
    expect(counts('\ud83d')).toEqual([1, 0, 0]);
    expect(counts('a\u0000b')).toEqual([3, 2, 1]);
  });

  it('follows half a million characters', () => {
    const text = 'All this happened, more or less. '.repeat(16_000);
    const began = performance.now();
    expect(measureText(text).sentences).toBe(16_000);
    // Typing must not wait: far below a second even on a busy machine.
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
