import { describe, expect, it } from 'vitest';
import { StudioError } from '../contract/errors.ts';
import { cleanText } from './clean.ts';
import { processorTime } from './testing.ts';

function failure(run: () => unknown): StudioError {
  try {
    run();
  } catch (error) {
    if (error instanceof StudioError) return error;
  }
  throw new Error('no StudioError');
}

describe('cleanText', () => {
  it.each([
    ['Hello', 'Hello', 0],
    ['café – naïve “Müller” 😀 字', 'café – naïve “Müller” 😀 字', 0],
    ['a\tb\r\nc\u2028d\u0085e\ff', 'a\tb\r\nc\u2028d\u0085e\ff', 0],
    ['a\u0000b', 'a b', 1],
    ['a\u0007\u001bb', 'a  b', 1],
    ['\ufeffHello', ' Hello', 0],
    ['He\ufeffllo', 'He llo', 1],
    ['a\ud800b', 'a b', 1],
    ['a\udc00b', 'a b', 1],
    ['\ud83d', ' ', 1],
    ['\udc00\ud83d', '  ', 1],
    ['caf\ufffd is open on most days', 'caf  is open on most days', 1],
    ['a\u009fb\uffffc', 'a b c', 1],
    ['a\u0001\ud800\ufffdb and a long text behind it', 'a   b and a long text behind it', 3],
    ['', '', 0],
  ])('%j', (text, expected, warnings) => {
    const got = cleanText(text);
    expect(got.text).toBe(expected);
    expect(got.text).toHaveLength(text.length);
    expect(got.warnings).toHaveLength(warnings);
  });

  it('says how many', () => {
    expect(cleanText('a\u0000b\u0001').warnings).toEqual([
      {
        code: 'text_controls',
        params: { count: 2 },
        message: 'Control characters in the text were removed: 2.',
      },
    ]);
    expect(cleanText('\ud800a').warnings).toMatchObject([{ code: 'text_surrogates', params: { count: 1 } }]);
  });

  it('knows a binary file and a wrong encoding', () => {
    const binary = failure(() => cleanText('M\0Z\0\0\0\0\0\0\0\0abc'));
    expect(binary.code).toBe('text_malformed');
    expect(binary.params).toMatchObject({ reason: 'it holds NUL characters', count: 9 });
    const encoding = failure(() => cleanText('M\ufffd\ufffdll\ufffd\ufffdr'));
    expect(encoding).toMatchObject({
      code: 'text_malformed',
      params: { reason: 'it holds characters that cannot be decoded', count: 4 },
    });
    expect(cleanText('\0'.repeat(8)).text).toBe(' '.repeat(8));
  });

  it('500,000 characters take no time', () => {
    for (const text of ['\u0001'.repeat(500_000), 'a\ud800'.repeat(250_000), 'x'.repeat(500_000)]) {
      expect(processorTime(() => expect(cleanText(text).text).toHaveLength(500_000))).toBeLessThan(1000);
    }
  });
});
