import { number } from './number-rules.ts';
import { amount, cardinal, ordinal, year } from './numbers.ts';
import { type Context, finalDot, type Rule, rule, tokenEnd } from './rule.ts';

const months = 'January February March April May June July August September October November December'.split(
  ' ',
);
const shortMonths = 'Jan Feb Mar Apr May Jun Jul Aug Sept? Oct Nov Dec'.split(' ');
const days = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');
const shortDays = 'Mon Tues? Wed Thurs? Fri Sat Sun'.split(' ');

const monthSource = `(${months.join('|')}|${shortMonths.join('|')})(\\.?)`;

function monthName(text: string): string {
  return months.find((month) => month.startsWith(text.slice(0, 3))) ?? text;
}

function dayName(text: string): string {
  return days.find((day) => day.startsWith(text.slice(0, 3))) ?? text;
}

/** Two digits of a year become four as people mean them: 26 is 2026, 87 is 1987. */
function fullYear(text: string): string {
  if (text.length !== 2) return text;
  return Number(text) < 50 ? `20${text}` : `19${text}`;
}

function isDate(month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

function spoken(month: number, day: number, yearText?: string): string {
  const date = `${months[month - 1]!} ${ordinal(String(day))}`;
  return yearText === undefined ? date : `${date} , ${year(fullYear(yearText))}`;
}

/** Month first as in the United States unless only the other order is a date; then day first. */
function numericDate(first: string, second: string, yearText?: string): string | undefined {
  const a = Number(first);
  const b = Number(second);
  if (isDate(a, b)) return spoken(a, b, yearText);
  return isDate(b, a) ? spoken(b, a, yearText) : undefined;
}

/** "the" is said once, whether written or not. */
function the(context: Context): string {
  return context.before.toLowerCase() === 'the' ? '' : 'the ';
}

const dayNumber = '([0-3]?\\d)(?:st|nd|rd|th)?';
const yearNumber = "(?:,? (\\d{4})(?!\\d|[.:,]\\d)|,? '(\\d\\d)(?!\\d))?";
const notMore = '(?![\\p{L}\\p{N}]|[.:,/-]\\d|%)';

export const dateRules: readonly Rule[] = [
  // 2026-11-30, with the time of day after T left to the rules of time
  rule(`(\\d{4})([-/.])(\\d{1,2})\\2(\\d{1,2})(?:T(?=\\d)|(?![\\p{L}\\p{N}]|[-/.]\\d))`, 'u', (m) =>
    isDate(Number(m[3]), Number(m[4]))
      ? `${spoken(Number(m[3]), Number(m[4]), m[1])}${m[0].endsWith('T') ? ' ,' : ''}`
      : undefined,
  ),
  // 11/30/2026, 30.11.2026, 3-4-26
  rule('(\\d{1,2})([-/.])(\\d{1,2})\\2(\\d{4}|\\d{2})(?![\\p{L}\\p{N}]|[-/.]\\d)', 'u', (m) =>
    // Three short numbers with hyphens or periods are more often codes and versions.
    m[4]!.length === 2 && m[2] !== '/' ? undefined : numericDate(m[1]!, m[3]!, m[4]),
  ),
  // on 11/30
  rule('(\\d{1,2})/(\\d{1,2})(?![\\p{L}\\p{N}/]|\\.\\d| of )', 'u', (m, context) =>
    /^(?:on|by|since|until|till|from|before|after|dated|due|through)$/i.test(context.before)
      ? numericDate(m[1]!, m[2]!)
      : undefined,
  ),
  // Nov. 30, 2026; November 30-December 2
  rule(`${monthSource} ${dayNumber}${yearNumber}${notMore}`, 'u', (m) => {
    const [, month, , day, full, short] = m;
    if (Number(day) < 1 || Number(day) > 31) return undefined;
    const yearText = full ?? short;
    return `${monthName(month!)} ${ordinal(day!)}${yearText === undefined ? '' : ` , ${year(fullYear(yearText))}`}`;
  }),
  // November 3-5, 2026
  rule(`${monthSource} ${dayNumber} ?[-–] ?${dayNumber}${yearNumber}${notMore}`, 'u', (m) => {
    const [, month, , first, last, full, short] = m;
    if (Number(first) > 31 || Number(last) > 31) return undefined;
    const yearText = full ?? short;
    return `${monthName(month!)} ${ordinal(first!)} to ${ordinal(last!)}${yearText === undefined ? '' : ` , ${year(fullYear(yearText))}`}`;
  }),
  // Nov. 2026
  rule(`${monthSource},? (\\d{4})${notMore}`, 'u', (m) => `${monthName(m[1]!)} ${year(m[3]!)}`),
  // 30 November 2026, 30th of Nov.
  rule(
    `${dayNumber}(?:[ -]| of )${monthSource}(?:[ -]| ,|, )?(\\d{4})?${tokenEnd}`,
    'u',
    (m, context, end) => {
      const [, day, month, dot, full] = m;
      if (Number(day) < 1 || Number(day) > 31) return undefined;
      // "5 May flowers" and "2 March steps" have no year and no ordinal: still dates in most texts.
      const tail = /[ ,-]$/.test(m[0]) ? m[0].slice(-1) : '';
      if (tail === '-') return undefined;
      const said = `${the(context)}${ordinal(day!)} of ${monthName(month!)}${full === undefined ? '' : ` , ${year(full)}`}`;
      return `${said}${tail === ',' ? ' ,' : ''}${dot === '.' && full === undefined ? finalDot(context, end) : ''}`;
    },
  ),
  // Mon-Fri
  rule(
    `(${shortDays.join('|')})\\.? ?[-–] ?(${shortDays.join('|')})(\\.?)${tokenEnd}`,
    'u',
    (m, context, end) =>
      `${dayName(m[1]!)} to ${dayName(m[2]!)}${m[3] === '.' ? finalDot(context, end) : ''}`,
  ),
  // Nov. alone, Mon. alone
  rule(
    `(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\\.`,
    'u',
    (m, context, end) => monthName(m[1]!) + finalDot(context, end),
  ),
  rule(`(${shortDays.join('|')})\\.`, 'u', (m, context, end) => {
    // "Sun." and "Sat." may be words at the end of a sentence.
    if (/^(?:Sun|Sat|Wed)$/.test(m[1]!) && finalDot(context, end) !== '') return undefined;
    return dayName(m[1]!) + finalDot(context, end);
  }),
];

const half = '(?:\\s?(a\\.?m\\.?|p\\.?m\\.?|A\\.?M\\.?|P\\.?M\\.?)(?![\\p{L}\\p{N}]))?';

function clock(
  hour: string,
  minute: string,
  second: string | undefined,
  halfDay: string | undefined,
): string {
  const h = Number(hour);
  const m = Number(minute);
  const tail = halfDay === undefined ? '' : ` ${halfDay[0]!.toUpperCase()} M`;
  const s =
    Number(second ?? 0) === 0
      ? ''
      : ` and ${cardinal(second!)} ${Number(second) === 1 ? 'second' : 'seconds'}`;
  const head = cardinal(hour);
  if (m > 0) return `${head} ${m < 10 ? `oh ${cardinal(minute)}` : cardinal(minute)}${s}${tail}`;
  if (tail !== '') return `${head}${s}${tail}`;
  if (h === 0) return s === '' ? 'midnight' : `zero hours${s}`;
  return `${head} ${h > 12 ? 'hundred' : "o'clock"}${s}`;
}

export const timeRules: readonly Rule[] = [
  // 9:30 a.m., 21:05, 1:23:45
  rule(
    `(\\d{1,2}):([0-5]\\d)(?::([0-5]\\d)(?:[.,]\\d{1,6})?)?(?![:\\p{N}])${half}(?:Z(?![\\p{L}\\p{N}]))?`,
    'u',
    (m, context, end) => {
      if (Number(m[1]) > 24) return undefined;
      const zone = m[0].endsWith('Z') ? ' U T C' : '';
      return clock(m[1]!, m[2]!, m[3], m[4]) + zone + finalDot(context, end);
    },
  ),
  // 10am, 10 a.m., 10.30 pm
  rule(
    `(\\d{1,2})(?:\\.([0-5]\\d))?\\s?(a\\.?m\\.?|p\\.?m\\.?|A\\.?M\\.?|P\\.?M\\.?)(?![\\p{L}\\p{N}])`,
    'u',
    (m, context, end) => {
      if (Number(m[1]) > 24 || Number(m[1]) === 0) return undefined;
      // "I am 10 am I not" does not happen; "10 AM radios" is rare enough.
      return clock(m[1]!, m[2] ?? '00', undefined, m[3]) + finalDot(context, end);
    },
  ),
  // 16:9, 100:1
  rule(`(${number}):(${number})${tokenEnd}`, 'u', (m) => `${amount(m[1]!)} to ${amount(m[2]!)}`),
  rule(`(\\d+):(\\d+):(\\d+)${tokenEnd}`, 'u', (m) =>
    m
      .slice(1)
      .map((part) => amount(part))
      .join(' to '),
  ),
];
