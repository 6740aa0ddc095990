import { expect, it } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import { type Said, say, sayOfError } from '../../../main/contract/said.ts';
import { formatFor } from './index.ts';
import { sayIn } from './said.ts';

const inBoth = (said: Said) =>
  (['en', 'zh-CN'] as const).map((language) => sayIn(said, language, formatFor(language)));

it('says reasons and names of the host in the language of the window', () => {
  const aside = say('settings_kept_aside', {
    path: '/s.json',
    reason: 'it is not JSON',
    aside: '/s.json.bak',
  });
  expect(inBoth(aside)).toEqual([
    '/s.json could not be used (it is not JSON). It is kept as /s.json.bak; the default settings are used.',
    '无法使用 /s.json（不是 JSON）。已把它保留为 /s.json.bak，并使用默认设置。',
  ]);
  const repaired = say('reference_repaired', {
    reason: 'The last 3 bytes are a part of a sample and were left out.',
  });
  expect(inBoth(repaired)[1]).toBe('读取参考音频时做了修复：末尾 3 字节不是完整的采样，已略去。');
  const strange = say('voice_language', { voice: 'Li', language: 'ru', model: 'm', known: 'en, zh' });
  expect(inBoth(strange)[1]).toContain('（它会：en、zh）');
});

it('says the error that is the reason as the window says errors', () => {
  const error = new StudioError('invalid_setting', 'compute.threads cannot be "many": it takes null.', {
    params: { key: 'compute.threads', value: '"many"', expected: 'integer 1..512 | null' },
  });
  const [english, chinese] = inBoth(sayOfError('settings_bad_value', error.toBody(), { path: '/s.json' }));
  expect(english).toMatch(/^\/s\.json: .*compute\.threads.*Its default is used\.$/);
  expect(chinese).toBe(
    '/s.json：“compute.threads”不能是 "many"，可用的取值：1 到 512 的整数、null。已改用默认值。',
  );
});
