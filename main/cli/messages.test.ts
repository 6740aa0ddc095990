import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { errorCodes, findingIds, StudioError, say } from '../contract/index.ts';
import { sentencesZh } from '../contract/sentences.zh-CN.ts';
import { reasons } from '../contract/words.zh-CN.ts';
import { findingSentences } from '../host/doctor/sentences.ts';
import { wordsOfOptions, zhErrors } from './errors.zh-CN.ts';
import { zhFindings } from './findings.zh-CN.ts';
import { en } from './messages.en.ts';
import { CommandError, languageOf, Messages } from './messages.ts';
import { zhCN } from './messages.zh-CN.ts';

/** What is chosen, saved, cloned or designed is 音色; 声音 is what is heard. */
const voiceAsSound = /个声音|内置声音|我的声音|保存的?声音|“[^”]*”的声音|(?:克隆|设计|描述|添加)声音|声音数/;
const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

it('both languages have the same messages with the same places', () => {
  expect(Object.keys(zhCN).sort()).toEqual(Object.keys(en).sort());
  for (const [key, text] of Object.entries(en)) {
    expect(places(zhCN[key as keyof typeof en]), key).toEqual(places(text));
  }
});

it('Chinese messages are Chinese, and have a sentence for each error code', () => {
  expect(Object.keys(zhErrors).sort()).toEqual(Object.keys(errorCodes).sort());
  const exempt = ['hintCode', 'settingChanged', 'modelProblem', 'doctorVersions'];
  for (const [key, texts] of [...Object.entries(zhCN), ...Object.entries(zhErrors)]) {
    if (exempt.includes(key)) continue;
    for (const text of [texts].flat()) expect(text, key).toMatch(/\p{Script=Han}/u);
  }
});

/** Everything that the terminal says in Chinese, by where it stands. */
const chinese: [string, string][] = [
  ...Object.entries(zhCN),
  ...Object.entries(zhErrors).flatMap(([code, texts]) => [texts].flat().map((text) => pair(code, text))),
  ...Object.entries(zhFindings).flatMap(([id, { message, fix }]) => [pair(id, message), pair(id, fix ?? '')]),
  ...Object.entries(sentencesZh),
  ...reasons.map(([english, words]) => pair(String(english), words)),
  ...Object.values(wordsOfOptions).flatMap((words) =>
    Object.entries(words ?? {}).map(([k, v]) => pair(k, v ?? '')),
  ),
];
function pair(key: string, text: string): [string, string] {
  return [key, text];
}

it('Chinese is written with Chinese signs, and a voice is 音色 as in the window', () => {
  for (const [key, text] of chinese) {
    if (key === 'hintCode') continue;
    // A western comma, colon, semicolon or bracket next to a Chinese character or a value within a Chinese sentence.
    expect(text, key).not.toMatch(
      /\p{Script=Han}[,;:?!()]|[,;?!()]\p{Script=Han}|[”）}][,;:?]|\([^()]*\p{Script=Han}/u,
    );
    expect(text, key).not.toMatch(voiceAsSound);
  }
});

it.each([
  'README.zh-CN.md',
  'docs/cli.zh-CN.md',
  'docs/memory.zh-CN.md',
  'docs/qwen3-tts.zh-CN.md',
  'docs/writing-engines.zh-CN.md',
])('%s says 音色, too, and 您', (path) => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  expect(text).not.toMatch(voiceAsSound);
  expect(text).not.toContain('你');
});

it('doctor has a sentence in Chinese for each finding, with values that the English one has, too', () => {
  expect(Object.keys(zhFindings).sort()).toEqual([...findingIds].sort());
  for (const id of findingIds) {
    const [zh, english] = [zhFindings[id], findingSentences[id]];
    for (const [ours, theirs] of [
      [zh.message, english.message],
      [zh.fix, english.fix],
    ]) {
      expect(ours === null, id).toBe(theirs === null);
      if (ours === null || theirs === null) continue;
      expect(ours, id).toMatch(/\p{Script=Han}/u);
      expect([...new Set(places(ours!))], id).toEqual([...new Set(places(theirs!))]);
    }
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

it('errors speak the language, with as many of their values as they have', () => {
  const zh = new Messages('zh-CN');
  const full = new StudioError('unknown_engine', 'There is none.', { params: { engine: 'a', known: 'b' } });
  expect(zh.error(full)).toBe('没有名为“a”的引擎。可用的有：b。');
  expect(zh.error(new StudioError('unknown_engine', 'There is none.'))).toMatch(/^没有这个引擎/);
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
