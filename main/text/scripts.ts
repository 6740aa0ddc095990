import { StudioError } from '../contract/errors.ts';
import { type Said, say } from '../contract/said.ts';

/** What a writing system is called in a message: the language where one script means one, else the script. */
type ScriptName = string;

/** `weight`: a Chinese sign says as much as two or three Latin letters. */
const scripts: readonly { name: ScriptName; test: RegExp; weight: number }[] = [
  { name: 'Latin', test: /\p{Script=Latin}/u, weight: 1 },
  { name: 'Japanese', test: /[\p{Script=Hiragana}\p{Script=Katakana}]/u, weight: 2 },
  { name: 'Chinese', test: /[\p{Script=Han}\p{Script=Bopomofo}]/u, weight: 2.5 },
  { name: 'Korean', test: /\p{Script=Hangul}/u, weight: 2.5 },
  { name: 'Cyrillic', test: /\p{Script=Cyrillic}/u, weight: 1 },
  { name: 'Greek', test: /\p{Script=Greek}/u, weight: 1 },
  { name: 'Arabic', test: /\p{Script=Arabic}/u, weight: 1 },
  { name: 'Hebrew', test: /\p{Script=Hebrew}/u, weight: 1 },
  { name: 'Hindi (Devanagari)', test: /\p{Script=Devanagari}/u, weight: 1 },
  { name: 'Bengali', test: /\p{Script=Bengali}/u, weight: 1 },
  { name: 'Tamil', test: /\p{Script=Tamil}/u, weight: 1 },
  { name: 'Telugu', test: /\p{Script=Telugu}/u, weight: 1 },
  { name: 'Thai', test: /\p{Script=Thai}/u, weight: 1 },
  { name: 'Lao', test: /\p{Script=Lao}/u, weight: 1 },
  { name: 'Khmer', test: /\p{Script=Khmer}/u, weight: 1 },
  { name: 'Burmese', test: /\p{Script=Myanmar}/u, weight: 1 },
  { name: 'Tibetan', test: /\p{Script=Tibetan}/u, weight: 1 },
  { name: 'Georgian', test: /\p{Script=Georgian}/u, weight: 1 },
  { name: 'Armenian', test: /\p{Script=Armenian}/u, weight: 1 },
  { name: 'Amharic (Ethiopic)', test: /\p{Script=Ethiopic}/u, weight: 1 },
  { name: 'Gujarati', test: /\p{Script=Gujarati}/u, weight: 1 },
  { name: 'Punjabi (Gurmukhi)', test: /\p{Script=Gurmukhi}/u, weight: 1 },
  { name: 'Kannada', test: /\p{Script=Kannada}/u, weight: 1 },
  { name: 'Malayalam', test: /\p{Script=Malayalam}/u, weight: 1 },
  { name: 'Sinhala', test: /\p{Script=Sinhala}/u, weight: 1 },
  { name: 'Mongolian', test: /\p{Script=Mongolian}/u, weight: 1 },
];
const weights = new Map(scripts.map(({ name, weight }) => [name, weight]));
const letter = /\p{L}/u;
/** Letters of no script: µ, ª, º. */
const common = /\p{Script=Common}/u;
/** Signs and digits that are read aloud even without a letter beside them. */
const speakableSign = /[\p{Nd}\p{Sc}%&+=@#°½¼¾]/u;

export interface ScriptCount {
  /** Letters by script; a letter of none of the known scripts counts as `other`. */
  letters: Map<ScriptName, number>;
  /** Digits, currency signs and other signs that become words. */
  signs: number;
}

/** Letters of a text by script. Chinese signs in a text with kana are Japanese, with Hangul Korean. */
export function countScripts(text: string): ScriptCount {
  const letters = new Map<ScriptName, number>();
  let signs = 0;
  let last = scripts[0]!;
  const add = (name: string) => letters.set(name, (letters.get(name) ?? 0) + 1);
  let latin = 0;
  for (const char of text) {
    const code = char.charCodeAt(0);
    if (code < 128) {
      if ((code | 32) >= 97 && (code | 32) <= 122) latin++;
      else if ((code >= 48 && code <= 57) || '$%&+=@#'.includes(char)) signs++;
      continue;
    }
    if (letter.test(char) && common.test(char)) signs++;
    else if (letter.test(char)) {
      if (!last.test.test(char))
        last = scripts.find(({ test }) => test.test(char)) ?? { name: 'other', test: /^$/, weight: 1 };
      add(last.name);
    } else if (speakableSign.test(char)) signs++;
  }
  if (latin > 0) letters.set('Latin', (letters.get('Latin') ?? 0) + latin);
  const han = letters.get('Chinese') ?? 0;
  const kana = letters.get('Japanese') ?? 0;
  const hangul = letters.get('Korean') ?? 0;
  if (han > 0 && kana + hangul > 0) {
    letters.delete('Chinese');
    letters.set(kana >= hangul ? 'Japanese' : 'Korean', han + Math.max(kana, hangul));
    if (kana > 0 && hangul > 0) letters.set(kana >= hangul ? 'Korean' : 'Japanese', Math.min(kana, hangul));
  }
  return { letters, signs };
}

/** Above this share of foreign writing (by weight) a text is refused rather than spoken with holes. */
const refusedShare = 0.2;

export interface Speaker {
  /** What the messages call the voice. */
  voice: string;
  /** Scripts that it can read. */
  scripts: readonly ScriptName[];
  /** "English text (letters a to z, digits and common signs)". */
  speaks: string;
}

/**
 * Checks that a voice can read a text. Throws `text_empty` or `text_not_speakable` (params: `script`, `share` in
 * per cent, `speaks`); answers warnings for stray foreign letters, which will be skipped.
 */
export function checkSpeakable(text: string, speaker: Speaker): Said[] {
  if (text.trim() === '') {
    throw new StudioError('text_empty', 'There is no text to speak. Type or paste some text first.');
  }
  const { letters, signs } = countScripts(text);
  let own = signs;
  let foreign = 0;
  let most = '';
  let mostLetters = 0;
  let skipped = 0;
  const names: string[] = [];
  for (const [name, count] of letters) {
    const weight = count * (weights.get(name) ?? 1);
    if (speaker.scripts.includes(name)) own += weight;
    // Single Greek letters are signs of mathematics and have names.
    else if (name === 'Greek' && !/\p{Script=Greek}{2}/u.test(text)) own += weight;
    else {
      foreign += weight;
      skipped += count;
      names.push(name === 'other' ? 'unknown' : name);
      if (weight > mostLetters) {
        mostLetters = weight;
        most = name;
      }
    }
  }
  if (own === 0 && foreign === 0) {
    throw new StudioError(
      'text_not_speakable',
      `The text holds only punctuation or symbols, nothing that can be said aloud. ${speaker.voice} speaks ${speaker.speaks}.`,
      { params: { script: 'symbols', share: 100, speaks: speaker.speaks } },
    );
  }
  const share = foreign / (foreign + own);
  if (share >= refusedShare) {
    const percent = Math.round(100 * share);
    const name = most === 'other' ? 'a script it does not know' : most;
    throw new StudioError(
      'text_not_speakable',
      `${share === 1 ? 'The text is' : `${percent} % of the text is`} written in ${name}, which ${speaker.voice} cannot speak. ` +
        `It speaks ${speaker.speaks}. Change the text, or choose a model for that language: "mizuoto models" lists them.`,
      { params: { script: name, share: percent, voice: speaker.voice, speaks: speaker.speaks } },
    );
  }
  if (skipped === 0) return [];
  return [say('text_skipped', { voice: speaker.voice, count: skipped, scripts: names.join(', ') })];
}
