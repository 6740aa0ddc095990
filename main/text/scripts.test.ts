import { describe, expect, it } from 'vitest';
import { StudioError } from '../contract/errors.ts';
import { checkSpeakable, countScripts } from './scripts.ts';
import { processorTime } from './testing.ts';

const mini = { voice: 'The built-in voice', scripts: ['Latin'], speaks: 'English' };

function check(text: string): string {
  try {
    const warnings = checkSpeakable(text, mini);
    return warnings.length === 0 ? 'ok' : `warning: ${warnings.map(({ message }) => message).join(' ')}`;
  } catch (error) {
    if (!(error instanceof StudioError)) throw error;
    return error.code === 'text_empty'
      ? error.code
      : `${error.code} ${error.params.script} ${error.params.share}`;
  }
}

describe('checkSpeakable', () => {
  it.each([
    ['Hello', 'ok'],
    ['Müller, café, naïve, Straße, Łódź, İstanbul', 'ok'],
    ['42', 'ok'],
    ['$', 'ok'],
    ['50 %', 'ok'],
    ['π', 'ok'],
    ['α > β', 'ok'],
    ['1️⃣', 'ok'],
    ['', 'text_empty'],
    [' \n\t\u00a0 ', 'text_empty'],
    ['...!?', 'text_not_speakable symbols 100'],
    ['😀🎉', 'text_not_speakable symbols 100'],
    ['— “ ” …', 'text_not_speakable symbols 100'],
    ['你好，世界', 'text_not_speakable Chinese 100'],
    ['こんにちは世界', 'text_not_speakable Japanese 100'],
    ['カタカナ', 'text_not_speakable Japanese 100'],
    ['안녕하세요', 'text_not_speakable Korean 100'],
    ['Привет, мир', 'text_not_speakable Cyrillic 100'],
    ['مرحبا بالعالم', 'text_not_speakable Arabic 100'],
    ['שלום', 'text_not_speakable Hebrew 100'],
    ['नमस्ते', 'text_not_speakable Hindi (Devanagari) 100'],
    ['สวัสดี', 'text_not_speakable Thai 100'],
    ['Γειά σου κόσμε', 'text_not_speakable Greek 100'],
    ['გამარჯობა', 'text_not_speakable Georgian 100'],
    ['Բարեւ', 'text_not_speakable Armenian 100'],
    ['ᚠᚢᚦ', 'text_not_speakable a script it does not know 100'],
    ['Hello 世界', 'text_not_speakable Chinese 50'],
    [
      'I was in 東京 last year and liked it a lot.',
      'warning: The built-in voice skipped characters that it cannot speak (Chinese): 2.',
    ],
    [
      'The letter Ж is Russian.',
      'warning: The built-in voice skipped characters that it cannot speak (Cyrillic): 1.',
    ],
    ['The angle α is 5 µm.', 'ok'],
    [
      'The word λόγος is Greek, and the rest of this is not.',
      'warning: The built-in voice skipped characters that it cannot speak (Greek): 5.',
    ],
  ])('%s', (text, expected) => {
    expect(check(text)).toBe(expected);
  });

  it('names the script, the share and what can be spoken', () => {
    expect(() => checkSpeakable('Привет', mini)).toThrow(
      'The text is written in Cyrillic, which The built-in voice cannot speak. It speaks English. Change the text, or choose a model for that language: "mizuoto models" lists them.',
    );
    expect(() => checkSpeakable('Hello 世界', mini)).toThrow(/^50 % of the text is written in Chinese/);
  });

  it('a voice that can read a script is not told off for it', () => {
    expect(checkSpeakable('你好', { ...mini, scripts: ['Latin', 'Chinese'] })).toEqual([]);
  });

  it('counts', () => {
    expect(countScripts('ab字5%')).toEqual({
      letters: new Map([
        ['Chinese', 1],
        ['Latin', 2],
      ]),
      signs: 2,
    });
    expect(countScripts('漢字かな한')).toEqual({
      letters: new Map([
        ['Japanese', 4],
        ['Korean', 1],
      ]),
      signs: 0,
    });
  });

  it('500,000 characters take no time', () => {
    for (const text of ['字'.repeat(500_000), 'aЖ字'.repeat(166_666), 'ᚠ'.repeat(500_000)]) {
      expect(processorTime(() => countScripts(text))).toBeLessThan(1500);
    }
  });
});
