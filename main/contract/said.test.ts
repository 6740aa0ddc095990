import { describe, expect, it } from 'vitest';
import { plainWriter, type SaidCode, say, sentenceOf } from './said.ts';
import { sentencesEn } from './sentences.en.ts';
import { sentencesZh } from './sentences.zh-CN.ts';
import { wordsZh } from './words.zh-CN.ts';

const codes = Object.keys(sentencesEn) as SaidCode[];
const places = (sentence: string): string[] =>
  [...sentence.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!).sort();
const han = /\p{Script=Han}/u;

describe('what the studio says', () => {
  it.each(codes)('%s is said in both languages, with the same values', (code) => {
    expect(new Set(places(sentencesZh[code]))).toEqual(new Set(places(sentencesEn[code])));
    expect(han.test(sentencesEn[code])).toBe(false);
    if (code === 'note') return;
    expect(han.test(sentencesZh[code]), sentencesZh[code]).toBe(true);
    // A western comma, colon, semicolon or bracket next to a Chinese character.
    expect(sentencesZh[code]).not.toMatch(/\p{Script=Han}[,;:?!()]|[,;?!()]\p{Script=Han}/u);
    // Units belong to the values, so that each reader writes them as it does everywhere.
    expect(sentencesEn[code]).not.toMatch(/\}\s*(MiB|MB|ms|s)\b/);
  });

  it('writes sizes, times and counts as their reader does', () => {
    const retry = say('retry', { name: 'talker', device: 'Vulkan0', attempt: 2, attempts: 3, cap: 36_200 });
    expect(retry.message).toBe(
      'talker ran out of memory on Vulkan0; attempt 2 of 3 with at most 36,200 MiB of its weights there.',
    );
    const numbers = { ...plainWriter, size: (mebibytes: number) => `${mebibytes / 1000} GB` };
    expect(sentenceOf(retry, 'en', numbers)).toContain('at most 36.2 GB of');
    expect(sentenceOf(retry, 'zh-CN', numbers)).toBe(
      'talker 在 Vulkan0 上耗尽显存；第 2 次尝试（共 3 次），最多加载 36.2 GB 权重。',
    );
  });

  it('translates words of its own that stand in for a value, and leaves others', () => {
    const skipped = say('text_skipped', { voice: 'Mini', count: 3, scripts: 'Chinese, Linear A' });
    expect(skipped.message).toBe('Mini skipped characters that it cannot speak (Chinese, Linear A): 3.');
    expect(sentenceOf(skipped, 'zh-CN', plainWriter)).toContain('（中文、Linear A）');
    for (const word of Object.values(wordsZh)) expect(han.test(word!)).toBe(true);
  });

  it('shows a missing value instead of failing', () => {
    expect(say('calibrated', { bytes: 5 }).message).toContain('? took 5 MiB of working memory');
  });
});
