import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorCodes, StudioError } from '../../../main/contract/errors.ts';
import { toErrorBody } from '../bridge/errors.ts';
import { formatFor } from '../i18n/index.ts';
import { describeError, errorActions, errorReport } from './describe.ts';

const english = (error: StudioError) => describeError(error.toBody(), 'en', formatFor('en'));
const chinese = (error: StudioError) => describeError(error.toBody(), 'zh-CN', formatFor('zh-CN'));

describe('an error in words', () => {
  it('names the numbers, formatted by what they are', () => {
    const error = new StudioError('out_of_device_memory', 'CPU text.', {
      params: { device: 'Vulkan0', needed: 3 * 1024 ** 3, available: 1.5 * 1024 ** 3, component: 'talker' },
    });
    expect(english(error).why).toBe('talker needs 3 GB on Vulkan0; 1.5 GB are free.');
    expect(chinese(error).why).toBe('talker 在 Vulkan0 上需要 3 GB，只剩 1.5 GB。');
  });

  it('uses the less precise sentence when a number is missing', () => {
    const error = new StudioError('out_of_device_memory', 'It needs more.', {
      params: { needed: 1024 ** 3, available: 0 },
    });
    expect(chinese(error).why).toBe('需要 1 GB，只剩 0字节。');
  });

  it('reads stages, shares and scripts', () => {
    const foreign = new StudioError('text_not_speakable', 'In Han.', {
      params: { script: 'Han', share: 87, speaks: 'English text' },
    });
    expect(english(foreign).why).toBe('87% of it is written in Han. This voice speaks English text.');
    expect(chinese(foreign).why).toBe('其中 87% 的文字是汉字，这个音色不会说。');
    const signs = new StudioError('text_not_speakable', 'Only signs.', {
      params: { script: 'symbols', share: 100, speaks: 'English text' },
    });
    expect(english(signs)).toEqual({
      title: 'This voice cannot speak the text',
      why: 'Only signs.',
      fix: '',
    });
    expect(chinese(signs).why).toBe('其中没有这个音色会说的语言。');
  });

  it('says of a device that ran out of memory what would do', () => {
    const stage = { device: 'CUDA0', stage: 'talker', attempts: 1, total_mb: 4096, working_mb: 700 };
    const weights = { weights_mb: 3000, least_mb: 600 };
    const why = (more: Record<string, string | number>) => {
      const params = { ...stage, ...weights, ...more };
      return english(new StudioError('out_of_device_memory', 'x', { params })).why;
    };
    expect(why({ others_mb: 1024 })).toMatch(
      /at least 600 MB of its 2\.9\d* GB.*has 4 GB, of which other programs hold 1 GB/,
    );
    expect(why({ others_mb: 1024, mode: 'high', instead: 'auto' })).toMatch(
      /mode “high” is in force.* all 2\.9\d* GB of weights at once.*vram_mode “auto”/,
    );
    expect(why({ simulated_mb: 64 })).toMatch(/simulate_vram_mb gives CUDA0 only 64 MB: raise it/);
  });

  it('does not say the same twice', () => {
    const error = new StudioError(
      'internal',
      'Something went wrong inside the studio. The log has the details.',
    );
    expect(english(error).why).toBe('The log has the details.');
  });

  it('never shows a brace, a bare object or an empty line, whatever is known', () => {
    const known: Record<string, string | number>[] = [
      {},
      { path: '/x', device: 'CPU' },
      { needed: 1, seconds: 600, limit: 2_000_000 },
    ];
    for (const code of Object.keys(errorCodes) as ErrorCode[]) {
      for (const params of known) {
        for (const language of ['en', 'zh-CN'] as const) {
          const body = new StudioError(code, '', { params }).toBody();
          const { title, why, fix } = describeError(body, language, formatFor(language));
          for (const text of [title, why, fix]) {
            expect(text).toMatch(/\S/);
            expect(text).not.toMatch(/[{}]|undefined|\[object/);
          }
        }
      }
    }
  });

  it.each([
    [{ device: 'Vulkan0' }, /^The driver of Vulkan0 was reset/, /^Start the studio again/],
    [
      { device: 'Vulkan0', replaced: 'Vulkan0' },
      /was reset/,
      /^Generate again: the engine was started again for Vulkan0/,
    ],
    [
      { device: 'Vulkan0', replaced: 'Vulkan0', how: 'SIGSEGV' },
      /^The driver of Vulkan0 crashed \(SIGSEGV\)\.$/,
      /^Generate again: the engine/,
    ],
    [{ device: 'Simulated0', reopened: 'Simulated0' }, /was reset/, /^Generate again: Simulated0 is opened/],
    [
      { device: 'Vulkan0', avoided: 'Vulkan0', times: 3, minutes: 10 },
      /^Vulkan0 was lost 3 times within 10 minutes and is not used/,
      /on another device than Vulkan0/,
    ],
    [
      { device: 'Vulkan0', given_up: 'Vulkan0', times: 3, minutes: 10 },
      /^Vulkan0 was lost 3 times within 10 minutes and is not tried again/,
      /choose another device than Vulkan0/,
    ],
  ])('says of a lost device what became of it (%j)', (params, why, fix) => {
    const error = new StudioError('device_lost', 'Gone.', { params: params as Record<string, string> });
    expect(english(error).why).toMatch(why);
    expect(english(error).fix).toMatch(fix);
    const chinese = describeError(error.toBody(), 'zh-CN', formatFor('zh-CN'));
    expect(`${chinese.why}${chinese.fix}`).not.toMatch(/[{}]|[a-z]{12}/);
  });

  it('offers something to do for every error that the person can change', () => {
    expect(Object.keys(errorActions).sort()).toEqual(Object.keys(errorCodes).sort());
    expect(errorActions.out_of_device_memory).toBe('show_memory');
    expect(errorActions.text_empty).toBe('edit_text');
  });

  it('reports everything in one text to copy', () => {
    const error = new StudioError('device_lost', 'Gone.', {
      params: { device: 'Vulkan0' },
      detail: 'at line 1',
    });
    expect(errorReport(error.toBody())).toBe('device_lost: Gone.\ndevice: Vulkan0\n\nat line 1');
  });
});

describe('whatever was thrown', () => {
  it('keeps the host’s code when it crossed the shell as a plain object', () => {
    expect(
      toErrorBody({ code: 'disk_full', message: 'Full.', params: { path: '/a', odd: {} }, retryable: true }),
    ).toEqual({ code: 'disk_full', message: 'Full.', params: { path: '/a' }, retryable: true });
  });

  it('becomes internal, with its text as detail only', () => {
    for (const thrown of [
      new TypeError('x is not a function'),
      'text',
      null,
      { code: 'made_up', message: 'm' },
    ]) {
      const body = toErrorBody(thrown);
      expect(body.code).toBe('internal');
      expect(body.message).not.toContain('not a function');
    }
    expect(toErrorBody(new TypeError('x is not a function')).detail).toContain('x is not a function');
  });
});
