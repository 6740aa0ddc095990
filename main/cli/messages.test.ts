import { expect, it } from 'vitest';
import { errorCodes, StudioError, say } from '../contract/index.ts';
import { zhErrors } from './errors.zh-CN.ts';
import { en } from './messages.en.ts';
import { CommandError, languageOf, Messages } from './messages.ts';
import { zhCN } from './messages.zh-CN.ts';

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

it('both languages have the same messages with the same places', () => {
  expect(Object.keys(zhCN).sort()).toEqual(Object.keys(en).sort());
  for (const [key, text] of Object.entries(en)) {
    expect(places(zhCN[key as keyof typeof en]), key).toEqual(places(text));
  }
});

it('Chinese messages are Chinese, and have a sentence for each error code', () => {
  expect(Object.keys(zhErrors).sort()).toEqual(Object.keys(errorCodes).sort());
  const exempt = ['hintCode', 'settingChanged'];
  for (const [key, texts] of [...Object.entries(zhCN), ...Object.entries(zhErrors)]) {
    if (exempt.includes(key)) continue;
    for (const text of [texts].flat()) expect(text, key).toMatch(/\p{Script=Han}/u);
  }
});

it('help in both languages names the same commands and options', () => {
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    if (!key.startsWith('help')) continue;
    const words = (text: string) =>
      [...new Set(text.match(/(?<![\w-])--?[a-z][a-z-]*|mizuoto [a-z]+/gm) ?? [])].sort();
    expect(words(zhCN[key]), key).toEqual(words(en[key]));
  }
});

it('follows the locale', () => {
  expect(languageOf({ LANG: 'zh_CN.UTF-8' }, 'en-US')).toBe('zh-CN');
  expect(languageOf({ LC_ALL: 'zh' }, 'en-US')).toBe('zh-CN');
  expect(languageOf({ LC_ALL: 'C', LANG: 'zh_CN.UTF-8' }, 'zh-CN')).toBe('en');
  expect(languageOf({}, 'zh-Hans-CN')).toBe('zh-CN');
  expect(languageOf({ LANG: 'zhu_XX' }, 'en-US')).toBe('en');
});

it('errors speak the language where it has all values, English otherwise', () => {
  const zh = new Messages('zh-CN');
  const full = new StudioError('unknown_engine', 'There is none.', { params: { engine: 'a', known: 'b' } });
  expect(zh.error(full)).toBe('没有名为“a”的引擎。可用的有：b。');
  expect(zh.error(new StudioError('unknown_engine', 'There is none.'))).toBe('There is none.');
  const range = { call: 'speak', field: 'speed', value: 9, minimum: 0.25, maximum: 4 };
  expect(zh.error(new StudioError('invalid_request', '', { params: range }))).toMatch(/^speed 不能是 9/);
  const shape = { call: 'speak', field: 'text', reason: 'no' };
  expect(zh.error(new StudioError('invalid_request', '', { params: shape }))).toMatch(/^请求无效/);
  const own = new CommandError('invalid_request', 'unknownCommand', { name: 'sya' });
  expect(own.message).toBe('There is no command "sya".');
  expect(zh.error(own)).toBe('没有“sya”这个命令。');
});

it('says decisions, warnings and reasons in the language of the terminal, sizes in MiB', () => {
  const retry = say('retry', { name: 'talker', device: 'Vulkan0', attempt: 2, attempts: 3, cap: 512 });
  expect(new Messages('en').said(retry)).toBe(retry.message);
  expect(new Messages('zh-CN').said(retry)).toBe(
    'talker 在 Vulkan0 上耗尽显存；第 2 次尝试（共 3 次），最多加载 512 MiB 权重。',
  );
  const waited = say('wait_over', { name: 'talker', seconds: 600, holder: 'codec' });
  expect(new Messages('zh-CN').said(waited)).toContain('600 秒');
  expect(new Messages('zh-CN').said(say('device_software'))).toBe('软件实现的显卡驱动，比处理器还慢');
});
