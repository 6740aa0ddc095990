import { describe, expect, it } from 'vitest';
import { createFormat } from './format.ts';

const en = createFormat('en');
const zh = createFormat('zh-CN');
const MiB = 1024 ** 2;

describe('sizes', () => {
  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [1023, '1,023 bytes'],
    [1024, '1 kB'],
    [8.5 * MiB, '8.5 MB'],
    [512 * MiB, '512 MB'],
    [1023.97 * MiB, '1 GB'],
    [23.4 * 1024 * MiB, '23.4 GB'],
    [5000 * 1024 ** 4, '5,000 TB'],
  ])('%d is %s', (bytes, text) => {
    expect(en.bytes(bytes)).toBe(text);
  });

  it('share one unit when one is part of the other', () => {
    expect(en.bytesOf(512 * MiB, 12 * 1024 * MiB)).toEqual({ part: '0.5', whole: '12 GB' });
    expect(zh.bytesOf(21.3 * 1024 * MiB, 23.4 * 1024 * MiB)).toEqual({ part: '21.3', whole: '23.4 GB' });
  });
});

describe('times', () => {
  it.each([
    [0, '0:00'],
    [7.9, '0:07'],
    [750, '12:30'],
    [3723, '1:02:03'],
    [-1, '0:00'],
  ])('%d seconds are %s on the clock', (seconds, text) => {
    expect(en.clock(seconds)).toBe(text);
  });

  it.each([
    [0.04, '0.1 sec', '0.1秒'],
    [14.4, '14 sec', '14秒'],
    [59.7, '1 min', '1分钟'],
    [200, '3 min 20 sec', '3分钟20秒'],
    [1500, '25 min', '25分钟'],
    [3600, '1 hr', '1小时'],
    [5400, '1 hr 30 min', '1小时30分钟'],
  ])('%d seconds in words', (seconds, english, chinese) => {
    expect(en.span(seconds)).toBe(english);
    expect(zh.span(seconds)).toBe(chinese);
  });
});

describe('short times and differences', () => {
  it.each([
    [0.0003, '0.3 ms', '0.3毫秒'],
    [0.018, '18 ms', '18毫秒'],
    [1.234, '1.23 sec', '1.23秒'],
    [42.36, '42.4 sec', '42.4秒'],
    [90, '1 min 30 sec', '1分钟30秒'],
  ])('%d seconds as exactly as it is worth', (seconds, english, chinese) => {
    expect(en.time(seconds)).toBe(english);
    expect(zh.time(seconds)).toBe(chinese);
  });

  it('have a sign', () => {
    expect([0.12, -0.094, 0].map(en.signedPercent)).toEqual(['+12%', '-9%', '0%']);
  });
});

describe('names', () => {
  it('come from the system, and unknown ones stay as they are', () => {
    expect(en.language('en-US')).toBe('American English');
    expect(zh.language('en-US')).toBe('美国英语');
    expect(en.language('not a tag')).toBe('not a tag');
    expect(zh.script('Han')).toBe('汉字');
    expect(zh.script('symbols')).toBeNull();
    // Some writing is called by its language.
    expect([en.script('Chinese'), zh.script('Chinese')]).toEqual(['Chinese', '中文']);
    expect(en.script('a script it does not know')).toBeNull();
  });
});
