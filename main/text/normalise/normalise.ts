import { letterNames } from '../abbreviation-lists.ts';
import { isLineEnd, isSpace } from '../characters.ts';
import { abbreviationRules, numberSignRules } from './abbreviations.ts';
import { acronymRules } from './acronyms.ts';
import { dateRules, timeRules } from './dates.ts';
import { foldText, foldWord } from './fold.ts';
import { inlineRules, lineRules } from './markup.ts';
import { moneyRules } from './money.ts';
import { decadeRules, numberRules } from './number-rules.ts';
import { phoneRules } from './phone-numbers.ts';
import { romanRules } from './roman-numerals.ts';
import { type Context, nextWord, type Rule, sticky } from './rule.ts';
import { greekRule, symbolRules } from './symbols.ts';
import { perRule, unitRules } from './units.ts';
import { webRules } from './web.ts';

/** One word, one letter said by its name (`B`, with a plural `B's`), or one mark of punctuation (a pause). */
export interface Spoken {
  kind: 'word' | 'letter' | 'mark';
  text: string;
  /** Characters of the original text that this came from. */
  start: number;
  end: number;
}

export interface NormaliseOptions {
  /** Does a pronouncing dictionary know this lower-case word? Decides between words and acronyms. */
  isWord?: (word: string) => boolean;
  /** Offset of the text within a longer one. */
  offset?: number;
}

/** Tried where a digit, a sign or a currency stands. */
const digitRules: readonly Rule[] = [
  ...webRules,
  ...dateRules,
  ...phoneRules,
  ...timeRules,
  ...moneyRules,
  ...numberSignRules,
  ...decadeRules,
  ...unitRules,
  ...symbolRules.slice(0, 1),
  ...numberRules.slice(0, -2),
  ...acronymRules,
  ...numberRules.slice(-2),
];
/** Tried where a capital, or a small letter that may begin more than a word, stands. */
const letterRules: readonly Rule[] = [
  ...webRules,
  ...dateRules,
  ...moneyRules,
  ...abbreviationRules,
  ...romanRules,
  ...acronymRules,
  greekRule,
];
const otherRules: readonly Rule[] = [
  ...inlineRules,
  ...numberSignRules,
  ...webRules,
  ...phoneRules,
  ...moneyRules,
  perRule,
  ...abbreviationRules.slice(0, 1),
  ...romanRules.slice(1, 2),
  ...acronymRules.slice(2, 3),
  ...symbolRules,
];

const digitStart = /[\d.,+\-±−'$£€¥₹₩₽₺₴₫₪₱฿₿]/;
const hasNumber = /[\d]/;
const letterStart = /\p{L}/u;
/** A small word with a space or a comma behind it needs no rule, unless it is one of these. */
const plainWord = sticky('[a-z]{2,}(?:\'[a-z]{1,3})?(?=[\\s,;!?"]|$)');
const needRules = new Set(
  'vs etc approx eg ie am pm ii iii iv vi vii viii ix xi xii xiii xiv xv xx'.split(' '),
);
const anyWord = sticky(
  "[\\p{L}\\p{M}](?:[\\p{L}\\p{M}\\p{Cf}]|'(?=\\p{L}))*(?:-(?=\\p{L})(?:[\\p{L}\\p{M}\\p{Cf}]|'(?=\\p{L}))+)*",
  'u',
);
const brokenWord = sticky('([a-z]+)-[ \\t]*(?:\\r\\n|\\n|\\r)[ \\t]*([a-z]+)');

const strength = (mark: string) => ('?!'.includes(mark) ? 4 : '.…'.includes(mark) ? 3 : ',' === mark ? 1 : 2);

/**
 * What a reader of English says for a text: numbers, dates, money, units, abbreviations, addresses and signs as
 * words, letters by name, punctuation as marks. Plain words stay as they are; foreign letters, emoji and markup are
 * left out. Runs in linear time.
 */
export function normaliseTokens(text: string, options: NormaliseOptions = {}): Spoken[] {
  const { isWord = () => false, offset = 0 } = options;
  const folded = foldText(text);
  const context: Context = { text: folded, isWord, shouting: isShouting(folded), before: '' };
  const out: Spoken[] = [];

  const emit = (say: string, start: number, end: number) => {
    for (const token of say.split(' ')) {
      if (token === '') continue;
      const place = { start: offset + start, end: offset + end };
      if (/^[,;:.?!…]$/.test(token)) pushMark(out, { kind: 'mark', text: token, ...place });
      else {
        const plain = foldWord(token);
        if (plain === '') continue;
        out.push({ kind: /^[A-Z](?:'s)?$/.test(plain) ? 'letter' : 'word', text: plain, ...place });
      }
    }
  };

  let at = 0;
  while (at < folded.length) {
    if (isSpace(folded.charCodeAt(at))) {
      const next = skipSpace(folded, at);
      if (next.lines >= 2) emit('.', at, next.end);
      else if (next.lines === 1 && listSign(folded, next.end)) emit(',', at, next.end);
      if (next.lines > 0 && out.at(-1)?.kind === 'mark') context.before = '';
      at = next.end;
      continue;
    }
    const plain = plainWord(folded, at);
    if (plain && !needRules.has(plain[0])) {
      out.push({ kind: 'word', text: plain[0], start: offset + at, end: offset + at + plain[0].length });
      context.before = plain[0];
      at += plain[0].length;
      continue;
    }
    const mark = plainMark(folded, at);
    if (mark !== undefined) {
      if (mark !== '') pushMark(out, { kind: 'mark', text: mark, start: offset + at, end: offset + at + 1 });
      if (mark !== '' && mark !== ':') context.before = '';
      at++;
      continue;
    }
    const found = applyRules(context, at);
    if (found) {
      // A rule that reads nothing would never end.
      const end = Math.max(found.end, at + 1);
      emit(found.say, at, end);
      remember(context, folded.slice(at, end), found.say);
      at = end;
      continue;
    }
    const code = folded.codePointAt(at)!;
    const word = letterStart.test(String.fromCodePoint(code)) ? readWord(context, at) : undefined;
    if (word) {
      emit(word.say, at, word.end);
      if (word.say !== '') context.before = folded.slice(Math.max(at, word.end - 80), word.end);
      at = word.end;
    } else at += code > 0xffff ? 2 : 1;
  }
  return out;
}

/** The same as one line of text: "It costs five dollars." */
export function normalise(text: string, options: NormaliseOptions = {}): string {
  let line = '';
  for (const { kind, text: token } of normaliseTokens(text, options))
    line += kind === 'mark' || line === '' ? token : ` ${token}`;
  return line;
}

/** Marks that need no rule: before a space, or quotation marks, which are silent. */
function plainMark(text: string, at: number): string | undefined {
  const char = text[at]!;
  if (char === '"') return '';
  if (!',;:!?'.includes(char) || !isSpace(text.charCodeAt(at + 1))) return undefined;
  return char;
}

function applyRules(context: Context, at: number) {
  const char = context.text[at]!;
  if (isLineStart(context.text, at)) {
    for (const rule of lineRules) {
      const found = rule(context, at);
      if (found) return found;
    }
  }
  if (digitStart.test(char) && hasNumber.test(context.text.slice(at, at + 4))) {
    for (const rule of digitRules) {
      const found = rule(context, at);
      if (found) return found;
    }
  }
  const rules = letterStart.test(char) ? letterRules : otherRules;
  for (const rule of rules) {
    const found = rule(context, at);
    if (found) return found;
  }
  return undefined;
}

/** A heading, an item of a list or a row of a table begins here. */
const listSign = sticky('(?:[-*+•▪◦‣·–—]|\\d{1,3}[.)]|#{1,6}|>)[ \\t]|\\|');

function skipSpace(text: string, from: number): { end: number; lines: number } {
  let end = from;
  let lines = 0;
  for (; end < text.length && isSpace(text.charCodeAt(end)); end++) {
    const code = text.charCodeAt(end);
    if (isLineEnd(code) && !(code === 10 && text.charCodeAt(end - 1) === 13)) lines++;
  }
  return { end, lines: end === text.length ? 0 : lines };
}

function isLineStart(text: string, at: number): boolean {
  for (let i = at - 1; i >= 0 && i >= at - 10; i--) {
    const code = text.charCodeAt(i);
    if (code === 10 || code === 13) return true;
    if (!isSpace(code)) return false;
  }
  return at < 10;
}

function remember(context: Context, raw: string, say: string): void {
  if (/^[.?!…,;]$/.test(say.trim())) context.before = '';
  else if (say !== '' && say !== ':')
    context.before = raw
      .slice(-80)
      .replace(/[.\s]+$/, '')
      .replace(/^.*\s/, '');
}

function readWord(context: Context, at: number): { end: number; say: string } {
  const broken = brokenWord(context.text, at);
  if (broken) return { end: at + broken[0].length, say: `${broken[1]!}-${broken[2]!}` };
  const found = anyWord(context.text, at);
  if (!found) return { end: at + String.fromCodePoint(context.text.codePointAt(at)!).length, say: '' };
  const end = at + found[0].length;
  const word = foldWord(found[0]).replace(/^[-']+|[-']+$/g, '');
  if (word.length !== 1) return { end, say: word };
  if (word === 'a') return { end, say: word };
  if (word === 'A') return { end, say: isArticle(context, end) ? 'a' : 'A' };
  return { end, say: word.toUpperCase() };
}

/** "A dog" against "plan A", "A.", "A and B". */
function isArticle(context: Context, end: number): boolean {
  if (letterNames.has(context.before.toLowerCase())) return false;
  const next = nextWord(context, end);
  if (!/^\s["'(]?[\p{L}\p{N}]/u.test(context.text.slice(end, end + 3))) return false;
  return (
    !/^(?:and|or|to|is|was|in|[B-HJ-Z]|\d)$/.test(next) || (context.before === '' && /^(?:\d)/.test(next))
  );
}

/** Never two marks in a row, and none at the start: the stronger one stays. */
function pushMark(out: Spoken[], mark: Spoken): void {
  const last = out[out.length - 1];
  if (!last) return;
  if (last.kind !== 'mark') out.push(mark);
  else if (strength(mark.text) > strength(last.text)) out[out.length - 1] = mark;
}

/** Mostly capitals, in words: then they are no acronyms. */
function isShouting(text: string): boolean {
  let upper = 0;
  let lower = 0;
  let words = 0;
  let run = 0;
  for (let i = 0; i <= text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 65 && code <= 90) {
      upper++;
      run++;
    } else {
      if (code >= 97 && code <= 122) lower++;
      if (run >= 2) words++;
      run = 0;
    }
  }
  return words >= 2 && upper > 3 * lower && upper >= 8;
}
