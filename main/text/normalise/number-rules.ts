import {
  amount,
  cardinal,
  decade,
  digitByDigit,
  fraction,
  isCode,
  longestCardinal,
  ordinal,
  year,
} from './numbers.ts';
import { type Context, nextWord, type Rule, rule, tokenEnd } from './rule.ts';

/** Digits with thousands separators (comma, apostrophe, narrow space) and decimals. */
export const number =
  '(?:\\d{1,3}(?:,\\d{3})+(?!\\d)|\\d{1,2}(?:,\\d{2})+,\\d{3}(?!\\d)|\\d{1,3}(?:[\\u00a0\\u2009\\u202f]\\d{3})+(?!\\d)|\\d{1,3}(?: \\d{3})* 000(?!\\d)|\\d{1,3}(?: \\d{3}){2,}(?!\\d)|\\d+)(?:\\.\\d+)?|\\.\\d+';

/** A sign belongs to the number after it where nothing stands before it. */
export const signed = `(?<![\\p{L}\\p{N}.)\\]])([-+±])?(${number})`;

export function sign(mark: string | undefined): string {
  if (mark === '-') return 'minus ';
  if (mark === '+') return 'plus ';
  return mark === '±' ? 'plus or minus ' : '';
}

const yearCues = new Set(
  'in since by until till from before after around circa during year of late early mid between to and through class copyright summer winter spring autumn fall january february march april may june july august september october november december christmas'.split(
    ' ',
  ),
);

/** Numbers of three digits that are names: "room 305" is "three oh five". */
const pairCues = new Set(
  'flight room route boeing airbus highway interstate suite apartment bus gate line model channel unit'.split(
    ' ',
  ),
);

/** A bare number: a year where it looks like one, a code with leading zeros, else a cardinal. */
function bareNumber(digits: string, context: Context, end: number): string {
  if (isCode(digits) || digits.length > 18) return digitByDigit(digits);
  if (digits.length === 4 && isYear(digits, context, end)) return year(digits);
  if (digits.length === 3 && pairCues.has(context.before.toLowerCase())) return year(digits);
  // RTX 4090
  if (digits.length === 4 && /^\p{Lu}{2,4}$/u.test(context.before) && !digits.endsWith('000'))
    return year(digits);
  if (digits === '911' && /^(?:call|dial|calling|dialed|dialled)$/i.test(context.before))
    return digitByDigit(digits);
  return cardinal(digits);
}

function isYear(digits: string, context: Context, end: number): boolean {
  const value = Number(digits);
  const after = nextWord(context, end).toLowerCase();
  if (/^(?:bc|bce|ad|ce)$/.test(after)) return true;
  if (
    /^(?:[a-z]{3,}[^s]s|people|men|women|children)$/.test(after) &&
    !/^(?:was|is|has|census|series)$/.test(after)
  ) {
    // "1990 cars" counts, "1990 was" does not; round hundreds sound the same both ways.
    return value % 100 === 0 && value % 1000 !== 0 && value < 2000;
  }
  if (value >= 1700 && value < 2100) return true;
  return value >= 1000 && value < 1700 && yearCues.has(context.before.toLowerCase());
}

function fractionOf(match: RegExpExecArray): string | undefined {
  const [, whole, numerator, denominator] = match;
  const pair = `${numerator}/${denominator}`;
  if (whole === undefined) {
    if (pair === '24/7') return 'twenty four seven';
    if (pair === '9/11') return 'nine eleven';
    if (numerator === denominator && numerator!.length === 2)
      return `${cardinal(numerator!)} ${cardinal(denominator!)}`;
    if (Number(denominator) === 0) return `${cardinal(numerator!)} over zero`;
    return fraction(numerator!, denominator!);
  }
  const part = fraction(numerator!, denominator!);
  return `${cardinal(whole)} and ${part.replace(/^one /, /half|quarter/.test(part) ? 'a ' : 'one ')}`;
}

/** "5-10": a range; a single hyphen between two numbers is "to". */
function rangeOf(match: RegExpExecArray, context: Context): string {
  const [, first, second] = match;
  const years = /^\d{4}$/.test(first!) && /^(?:1[0-9]|20)/.test(first!);
  if (years && /^\d{4}$/.test(second!)) return `${year(first!)} to ${year(second!)}`;
  // "1990-95"
  if (years && /^\d{2}$/.test(second!))
    return `${year(first!)} to ${second === '00' ? 'two thousand' : shortYear(second!)}`;
  const words = /=/.test(context.text.slice(match.index, match.index + match[0].length + 12))
    ? 'minus'
    : 'to';
  return `${amount(first!)} ${words} ${amount(second!)}`;
}

const ordinalSuffix = '(?:st|nd|rd|th|ST|ND|RD|TH)';
/** '05 is "oh five". */
function shortYear(digits: string): string {
  return digits[0] === '0' && digits !== '00' ? `oh ${cardinal(digits)}` : cardinal(digits);
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

export function superscriptDigits(text: string): string {
  return [...text].map((char) => (char === '⁻' ? '-' : String(superscripts.indexOf(char)))).join('');
}

/** "to the sixth", with the short names of the first two. */
export function power(exponent: string): string {
  const negative = exponent.startsWith('-');
  const digits = exponent.replace('-', '');
  if (!negative && digits === '2') return 'squared';
  if (!negative && digits === '3') return 'cubed';
  return negative ? `to the minus ${cardinal(digits)}` : `to the ${ordinal(digits)}`;
}

/** Before the units: "the 60s" are no seconds. */
export const decadeRules: readonly Rule[] = [
  // 1990s, 80s, '90s
  rule(`(\\d{3}0)['’]?s${tokenEnd}`, 'u', (m) => decade(m[1]!)),
  rule(`['’](\\d0)s${tokenEnd}`, 'u', (m) => decade(m[1]!)),
  rule(`([2-9]0)['’]?s${tokenEnd}`, 'u', (m, context) =>
    /^(?:the|his|her|my|their|our|your|early|late|mid|in)$/i.test(context.before) || m[0].includes("'")
      ? decade(m[1]!)
      : undefined,
  ),
  rule(`['’](\\d\\d)(?!['’])${tokenEnd}`, 'u', (m) => shortYear(m[1]!)),
];

export const numberRules: readonly Rule[] = [
  // 1.5e-3
  rule(
    `([-+])?(\\d+(?:\\.\\d+)?)[eE]([-+])?(\\d{1,3})${tokenEnd}`,
    'u',
    (m) =>
      `${sign(m[1])}${amount(m[2]!)} times ten to the ${sign(m[3])}${m[3] === '-' ? cardinal(m[4]!) : ordinal(m[4]!)}`,
  ),
  // 10⁸, 5²
  rule(`(\\d+)([⁻]?[${superscripts}]+)`, 'u', (m) => `${cardinal(m[1]!)} ${power(superscriptDigits(m[2]!))}`),
  // 2.0.1
  rule(`\\d+(?:\\.\\d+){2,}${tokenEnd}`, 'u', (m) =>
    m[0]
      .split('.')
      .map((part) => amount(part))
      .join(' point '),
  ),
  // 1/2/3 is a list
  rule('\\d{1,6}(?:/\\d{1,6}){2,8}(?![\\p{L}\\p{N}/])', 'u', (m) =>
    m[0]
      .split('/')
      .map((part) => amount(part))
      .join(' , '),
  ),
  // 2 1/2, 3/4
  rule(`(?:(\\d{1,6})[ -])?(\\d{1,4})/(\\d{1,4})(?![\\p{L}\\p{N}/.])`, 'u', fractionOf),
  rule(`(?:(\\d{1,6})[ -])?(\\d{1,4})/(\\d{1,4})(?=\\.(?!\\d))`, 'u', fractionOf),
  // 3-5 but not 1-2-3
  rule(
    `(?<![\\p{L}\\p{N}][-–])(${number}) ?[-–—] ?(${number})(?![\\p{L}\\p{N}]|[-–]\\d|(?:,\\d))`,
    'u',
    rangeOf,
  ),
  // 1-2-3: one after the other
  rule(`\\d+(?:-\\d+){2,}${tokenEnd}`, 'u', (m) =>
    m[0]
      .split('-')
      .map((part) => (part.length > 2 || isCode(part) ? digitByDigit(part) : cardinal(part)))
      .join(' , '),
  ),
  // 1920x1080, 3 × 5, 5x
  rule(`(${number}) ?[xX×] ?(${number})(?: ?[xX×] ?(${number}))?${tokenEnd}`, 'u', (m, context) => {
    const around = context.text.slice(Math.max(0, m.index - 4), m.index + m[0].length + 4);
    const words = m[0].includes('×') && /[=≈+÷−^⁰¹²³⁴-⁹]/.test(around) ? 'times' : 'by';
    return m
      .slice(1)
      .filter((part) => part !== undefined)
      .map((part) => dimension(part))
      .join(` ${words} `);
  }),
  rule(`(${number})[xX×](?! ?[-+*/=^])${tokenEnd}`, 'u', (m) => `${amount(m[1]!)} times`),
  // 1st, 22nd
  rule(`(\\d{1,3}(?:,\\d{3})+|\\d+)${ordinalSuffix}${tokenEnd}`, 'u', (m) =>
    ordinal(m[1]!.replaceAll(',', '')),
  ),
  // 5k, 12M
  rule(
    `(${number})(k|M)${tokenEnd}`,
    'u',
    (m) => `${amount(m[1]!)} ${m[2] === 'k' ? 'thousand' : 'million'}`,
  ),
  rule(`${signed}`, 'u', (m, context, end) => {
    const text = m[2]!;
    return (
      sign(m[1]) +
      (/^\d+$/.test(text) && m[1] === undefined ? bareNumber(text, context, end) : plainAmount(text))
    );
  }),
  rule(number, 'u', (m, context, end) =>
    /^\d+$/.test(m[0]) ? bareNumber(m[0], context, end) : plainAmount(m[0]),
  ),
];

function plainAmount(text: string): string {
  const whole = text.replace(/[,'\s]/g, '').split('.')[0]!;
  return whole.length > longestCardinal ? amountOfDigits(text) : amount(text);
}

function amountOfDigits(text: string): string {
  return text
    .split('.')
    .map((part) => digitByDigit(part.replace(/\D/g, '')))
    .join(' point ');
}

/** Sizes in pixels are read in pairs: 1920 by 1080. */
function dimension(text: string): string {
  return /^[1-9]\d{3}$/.test(text) && !text.endsWith('000') ? year(text) : amount(text);
}
