import { expect, test } from 'vitest';
import { checkTranscript } from './reference.ts';

test.each([
  ['Hello there, how are you?', 2],
  ['你好，今天天气怎么样？', 2],
  ['こんにちは、お元気ですか。', 1.5],
  ['早上好 and good morning', 2],
])('"%s" can be said in %f s', (text, seconds) => {
  expect(() => checkTranscript(text, seconds)).not.toThrow();
});

test.each([
  ['in Chinese', '字'.repeat(70), 2],
  ['in English', 'word '.repeat(30), 2],
  ['in both', `${'字'.repeat(30)}${' word'.repeat(10)}`, 2],
])('more than anybody says is refused %s, with the numbers', (_, text, seconds) => {
  expect(() => checkTranscript(text, seconds)).toThrow(
    expect.objectContaining({
      code: 'reference_unusable',
      message: expect.stringMatching(/\d+ characters in 2 s, where at most \d+ could be said/),
    }),
  );
});
