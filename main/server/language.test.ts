import { expect, it } from 'vitest';
import { StudioError, say } from '../contract/index.ts';
import { inWordsOf, messagesFor } from './language.ts';

const asked = (wish?: string) =>
  messagesFor({ headers: wish === undefined ? {} : { 'accept-language': wish } });

it.each([
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
  ['zh', 'zh-CN'],
  ['fr, zh-TW;q=0.2', 'zh-CN'],
  ['zh, en', 'zh-CN'],
  ['en, zh', 'en'],
  ['en;q=0.3, zh;q=0.7', 'zh-CN'],
  ['en-US,en;q=0.9,zh;q=0.8', 'en'],
  ['zh;q=0, en;q=0.1', 'en'],
  ['zhu, *', 'en'],
  [';;;q=,,zh;q=x', 'en'],
  ['', 'en'],
])('Accept-Language "%s" reads %s', (wish, language) => {
  expect(asked(wish).language).toBe(language);
});

it('nothing asked for is English', () => expect(asked().language).toBe('en'));

it('translates errors and what is said, wherever they stand, and leaves everything else', () => {
  const error = new StudioError('unknown_engine', 'There is none.', {
    params: { engine: 'a', known: 'b, c' },
  });
  const value = {
    bytes: new Uint8Array([1]),
    none: null,
    jobs: [{ error: error.toBody(), warnings: [say('text_controls', { count: 2 })] }],
    user: { code: 'mine', message: 'kept' },
    text: 'There is none.',
  };
  const before = structuredClone(value);
  const said = inWordsOf(asked('zh'), value) as typeof value;
  expect(said.jobs[0]!.error.message).toBe('没有名为“a”的引擎。可用的有：b、c。');
  expect(said.jobs[0]!.error.params).toEqual(error.params);
  expect(said.jobs[0]!.warnings[0]!.message).toBe('已去掉文本中的控制字符：2 个。');
  expect({ ...said, jobs: before.jobs }).toEqual(before);
  expect(value).toEqual(before);
  expect(inWordsOf(asked('en'), value)).toBe(value);
});
