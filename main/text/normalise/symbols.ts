import { power, superscriptDigits } from './number-rules.ts';
import { amount } from './numbers.ts';
import { type Context, type Match, type Rule, rule, sticky } from './rule.ts';

/** Signs that are always said. */
const spoken: Record<string, string> = {
  '&': 'and',
  '=': 'equals',
  '@': 'at',
  '%': 'percent',
  '≠': 'is not equal to',
  '≈': 'is about',
  '±': 'plus or minus',
  '×': 'times',
  '÷': 'divided by',
  '√': 'the square root of',
  '∞': 'infinity',
  '∑': 'the sum of',
  '∏': 'the product of',
  '∫': 'the integral of',
  '∂': 'partial',
  '∈': 'in',
  '∀': 'for all',
  '∃': 'there is',
  '⇒': 'implies',
  '⇔': 'if and only if',
  '°': 'degrees',
  '℃': 'degrees Celsius',
  '℉': 'degrees Fahrenheit',
  '№': 'number',
  '§': 'section',
  '©': 'copyright',
  $: 'dollars',
  '£': 'pounds',
  '€': 'euros',
  '¥': 'yen',
  '¢': 'cents',
  '₹': 'rupees',
  '½': 'one half',
  '¼': 'one quarter',
  '¾': 'three quarters',
  '⅓': 'one third',
  '⅔': 'two thirds',
  '⅕': 'one fifth',
  '⅛': 'one eighth',
  '⅜': 'three eighths',
  '⅝': 'five eighths',
  '⅞': 'seven eighths',
  '²': 'squared',
  '³': 'cubed',
  '\u2126': 'ohms',
  '\u03a9': 'omega',
};

const greek: Record<string, string> = {
  α: 'alpha',
  β: 'beta',
  γ: 'gamma',
  δ: 'delta',
  ε: 'epsilon',
  ζ: 'zeta',
  η: 'eta',
  θ: 'theta',
  ι: 'iota',
  κ: 'kappa',
  λ: 'lambda',
  µ: 'mu',
  μ: 'mu',
  ν: 'nu',
  ξ: 'xi',
  ο: 'omicron',
  π: 'pi',
  ρ: 'rho',
  σ: 'sigma',
  ς: 'sigma',
  τ: 'tau',
  υ: 'upsilon',
  φ: 'phi',
  χ: 'chi',
  ψ: 'psi',
  ω: 'omega',
};

const vulgar: Record<string, string> = {
  '½': 'a half',
  '¼': 'a quarter',
  '¾': 'three quarters',
  '⅓': 'one third',
  '⅔': 'two thirds',
  '⅛': 'one eighth',
  '⅜': 'three eighths',
  '⅝': 'five eighths',
  '⅞': 'seven eighths',
};

/** "x ≥ 3" is a statement, "needs ≥ 3" is not. */
const isValue = (context: Context) => /^(?:\p{L}|[\d.,%]+)$/u.test(context.before);

/** A pause, said once, and only between words. */
const pause = (end: number): Match => ({ end, say: ',' });

const marks = sticky('(?:\\.{2,}|…)[.…]*|[?!‽؟]+|[.;:,。！？、，；：]');
const dashes = sticky('(?:--+(?!\\p{L})|(?<=[\\p{L}\\p{N}.,!?\\u0027])--+|[—―]+)', 'u');
const isBetween = (context: Context, at: number, length: number, before: RegExp, after: RegExp) =>
  before.test(context.text[at - 1] ?? '') && after.test(context.text[at + length] ?? '');

const wideMarks: Record<string, string> = {
  '。': '.',
  '！': '!',
  '？': '?',
  '、': ',',
  '，': ',',
  '；': ';',
  '：': ':',
};

/** A single Greek letter is a sign; a Greek word is foreign writing. */
export const greekRule: Rule = (context, at) => {
  const char = context.text[at]!;
  const name = greek[char.toLowerCase()];
  if (!name) return undefined;
  if (
    /\p{Script=Greek}/u.test(context.text[at + 1] ?? '') ||
    /\p{Script=Greek}/u.test(context.text[at - 1] ?? '')
  )
    return undefined;
  return { end: at + 1, say: name };
};

export const symbolRules: readonly Rule[] = [
  // 5½
  rule(
    `(\\d{1,6}) ?([${Object.keys(vulgar).join('')}])`,
    'u',
    (m) => `${amount(m[1]!)} and ${vulgar[m[2]!]!}`,
  ),
  // x², x^2, 10^-3
  rule('[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+', 'u', (m, context) =>
    // A raised number after a word is a footnote.
    /^(?:\p{L}{4,}|)$/u.test(context.before) ? '' : power(superscriptDigits(m[0])),
  ),
  rule('\\^(-?\\d{1,4})(?!\\d)', 'u', (m) => power(m[1]!)),
  rule('\\^([a-zA-Z])(?!\\p{L})', 'u', (m) => `to the ${m[1]!.toUpperCase()}`),
  rule('[₀₁₂₃₄₅₆₇₈₉]+', 'u', (m) =>
    amount([...m[0]].map((char) => String('₀₁₂₃₄₅₆₇₈₉'.indexOf(char))).join('')),
  ),
  // ~5, <10, >3
  rule('[~∼≈] ?(?=[$£€]?\\d)', 'u', () => 'about'),
  rule('(?:<=|=<|≤) ?(?=\\S)', 'u', (_, context) => `${isValue(context) ? 'is ' : ''}at most`),
  rule('(?:>=|≥) ?(?=\\S)', 'u', (_, context) => `${isValue(context) ? 'is ' : ''}at least`),
  rule('!=|=/=', 'u', () => 'is not equal to'),
  rule('={1,3}(?!>)', 'u', (_, context, end) =>
    /[\p{L}\p{N}]/u.test(context.text.slice(end, end + 3)) ? 'equals' : '',
  ),
  rule('<(?= ?-?[\\d$£€])', 'u', (_, context) => (context.before === '' ? 'under' : 'is less than')),
  rule('>(?= ?-?[\\d$£€])', 'u', (_, context) => (context.before === '' ? 'over' : 'is more than')),
  rule('(?:[-=]+>|→|⟶|➜|=>)', 'u', () => ','),
  // 3 + 4, A+, +5
  rule('\\+(?=\\s?[\\p{L}\\p{N}(])', 'u', () => 'plus'),
  rule('\\+', 'u', (_, context) => (/^(?:\p{Lu}|\d+)$/u.test(context.before) ? 'plus' : '')),
  rule('−(?= ?[\\p{L}\\p{N}(])', 'u', () => 'minus'),
  // 3 * 4
  rule('\\*(?= ?\\d)', 'u', (_, context) => (/^\d/.test(context.before) ? 'times' : '')),
  // either/or
  (context, at) => {
    if (context.text[at] !== '/') return undefined;
    if (isBetween(context, at, 1, /\p{L}/u, /\p{L}/u)) return { end: at + 1, say: 'slash' };
    if (/^ ?\d/.test(context.text.slice(at + 1, at + 3)) && /^\d/.test(context.before))
      return { end: at + 1, say: 'over' };
    return { end: at + 1, say: /[\p{L}\p{N}]/u.test(context.text.slice(at - 1, at)) ? ',' : '' };
  },
  // marks of punctuation
  (context, at) => {
    const found = marks(context.text, at);
    if (!found) return undefined;
    const text = found[0];
    const end = at + text.length;
    if (
      text === '.' &&
      /^(?:\s|)$/.test(context.text[at - 1] ?? '') &&
      /\p{L}/u.test(context.text[end] ?? '')
    )
      return { end, say: 'dot' };
    if (/^(?:\.{2,}|…)/.test(text)) return { end, say: '…' };
    if (text.length > 1 || '?!‽؟'.includes(text)) return { end, say: /[?؟‽]/.test(text) ? '?' : '!' };
    const mark = wideMarks[text] ?? text;
    // A mark inside a token, "x.y", "a:b", is no pause unless it is a colon before a space.
    if (isBetween(context, at, 1, /[\p{L}\p{N}]/u, /[\p{L}\p{N}]/u)) {
      if (mark === '.') return { end, say: 'dot' };
      return { end, say: mark === ':' ? '' : ',' };
    }
    return { end, say: mark };
  },
  (context, at) => {
    const found = dashes(context.text, at);
    return found ? pause(at + found[0].length) : undefined;
  },
  // - and – : "to" between numbers, a pause between spaces, nothing inside words
  (context, at) => {
    const char = context.text[at]!;
    if (!'-–‒‑−'.includes(char)) return undefined;
    const end = at + 1;
    if (
      isBetween(context, at, 1, /[\d%°\p{L}.]/u, /[\d$£€]/u) &&
      /^[$£€¥]?\d|^[ap]\.?m$/i.test(context.before)
    )
      return { end, say: 'to' };
    if (char === '–' && isBetween(context, at, 1, /[\p{L}\p{N}]/u, /[\p{L}\p{N}]/u))
      return { end, say: /\d/.test(context.before) ? 'to' : '' };
    const loose = /\s|^$/.test(context.text[at - 1] ?? '') && /\s|^$/.test(context.text[end] ?? '');
    return loose ? pause(end) : { end, say: '' };
  },
  (context, at) => {
    const char = context.text[at]!;
    if (!'()[]{}|•·‣▪◦■●'.includes(char)) return undefined;
    // "f(x)", "[sic]ness": no pause inside a token.
    const inside = '([{'.includes(char)
      ? /[\p{L}\p{N}]/u.test(context.text[at - 1] ?? '')
      : /[\p{L}\p{N}]/u.test(context.text[at + 1] ?? '');
    return inside ? { end: at + 1, say: '' } : pause(at + 1);
  },
  (context, at) => {
    const say = spoken[context.text[at]!];
    return say === undefined ? undefined : { end: at + 1, say };
  },
];
