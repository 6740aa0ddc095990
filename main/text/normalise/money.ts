import { number } from './number-rules.ts';
import { amount, cardinal } from './numbers.ts';
import { type Rule, rule, tokenEnd } from './rule.ts';

interface Currency {
  one: string;
  many: string;
  /** The hundredth part, where people name it. */
  cent?: [one: string, many: string];
}

const cents: [string, string] = ['cent', 'cents'];
const dollar: Currency = { one: 'dollar', many: 'dollars', cent: cents };
const signs: Record<string, Currency> = {
  $: dollar,
  '£': { one: 'pound', many: 'pounds', cent: ['penny', 'pence'] },
  '€': { one: 'euro', many: 'euros', cent: cents },
  '¥': { one: 'yen', many: 'yen' },
  '₹': { one: 'rupee', many: 'rupees', cent: ['paisa', 'paise'] },
  '₩': { one: 'won', many: 'won' },
  '₽': { one: 'ruble', many: 'rubles', cent: ['kopeck', 'kopecks'] },
  '₺': { one: 'lira', many: 'lira' },
  '₴': { one: 'hryvnia', many: 'hryvnias' },
  '₫': { one: 'dong', many: 'dong' },
  '₪': { one: 'shekel', many: 'shekels' },
  '₱': { one: 'peso', many: 'pesos' },
  '฿': { one: 'baht', many: 'baht' },
  '₿': { one: 'bitcoin', many: 'bitcoins' },
};
const prefixes: Record<string, string> = {
  US: 'U S ',
  C: 'Canadian ',
  CA: 'Canadian ',
  A: 'Australian ',
  AU: 'Australian ',
  NZ: 'New Zealand ',
  HK: 'Hong Kong ',
  S: 'Singapore ',
};
const codes: Record<string, Currency> = {
  USD: { ...dollar, one: 'U S dollar', many: 'U S dollars' },
  CAD: { ...dollar, one: 'Canadian dollar', many: 'Canadian dollars' },
  AUD: { ...dollar, one: 'Australian dollar', many: 'Australian dollars' },
  EUR: signs['€']!,
  GBP: signs['£']!,
  JPY: signs['¥']!,
  CNY: { one: 'yuan', many: 'yuan' },
  RMB: { one: 'yuan', many: 'yuan' },
  INR: signs['₹']!,
  CHF: { one: 'Swiss franc', many: 'Swiss francs' },
  SEK: { one: 'Swedish krona', many: 'Swedish kronor' },
  NOK: { one: 'Norwegian krone', many: 'Norwegian kroner' },
  DKK: { one: 'Danish krone', many: 'Danish kroner' },
  BTC: signs['₿']!,
};

const scaleNames: Record<string, string> = {
  k: 'thousand',
  m: 'million',
  mn: 'million',
  mm: 'million',
  b: 'billion',
  bn: 'billion',
  t: 'trillion',
  tn: 'trillion',
};
const scale = '(?: ?(thousand|million|billion|trillion)| ?(bn|mn|tn)|(k|K|m|M|mm|MM|b|B|T|t))?';
const sign = `[${Object.keys(signs).join('')}]`;

function scaleOf(word?: string, short?: string, letter?: string): string {
  if (word) return ` ${word}`;
  const key = (short ?? letter ?? '').toLowerCase();
  return key === '' ? '' : ` ${scaleNames[key]!}`;
}

function say(text: string, by: string, currency: Currency, prefix = ''): string {
  const plain = text.replace(/[,'\s]/g, '');
  const [whole = '', fractional] = plain.split('.');
  const isOne = plain === '1' && by === '';
  if (by !== '' || !currency.cent || fractional?.length !== 2) {
    // "$5.0" and "$5.205" are amounts; "$1.5 billion" as well.
    return `${amount(plain)}${by} ${prefix}${isOne ? currency.one : currency.many}`;
  }
  const hundredths = Number(fractional);
  const [one, many] = currency.cent;
  const small = `${cardinal(String(hundredths))} ${hundredths === 1 ? one : many}`;
  if (Number(whole) === 0 && hundredths > 0) return small;
  const large = `${cardinal(whole === '' ? '0' : whole)} ${prefix}${whole === '1' ? currency.one : currency.many}`;
  return hundredths === 0 ? large : `${large} and ${small}`;
}

function minus(...marks: (string | undefined)[]): string {
  return marks.some((mark) => mark === '-') ? 'minus ' : '';
}

export const moneyRules: readonly Rule[] = [
  // $5-10, £3m–£4m
  rule(
    `(US|CA?|AU?|NZ|HK|S)?(${sign})(${number})${scale} ?[-–—] ?(?:\\2)?(${number})${scale}${tokenEnd}`,
    'u',
    (m) => {
      const currency = signs[m[2]!]!;
      const prefix = prefixes[m[1] ?? ''] ?? '';
      const last = scaleOf(m[8], m[9], m[10]);
      const first = scaleOf(m[4], m[5], m[6]);
      const low = amount(m[3]!);
      return `${low}${first} to ${say(m[7]!, last, currency, prefix)}`;
    },
  ),
  // -$5.20, US$1.5 billion
  rule(
    `(?<![\\p{L}\\p{N}])(-)?(US|CA?|AU?|NZ|HK|S)?(${sign}) ?(-)?(${number})${scale}${tokenEnd}`,
    'u',
    (m) => {
      const by = scaleOf(m[6], m[7], m[8]);
      return minus(m[1], m[4]) + say(m[5]!, by, signs[m[3]!]!, prefixes[m[2] ?? ''] ?? '');
    },
  ),
  rule(`(${sign}) ?(${number})`, 'u', (m) => say(m[2]!, '', signs[m[1]!]!)),
  // USD 5, EUR 1.5bn
  rule(`(${Object.keys(codes).join('|')}) ?(${number})${scale}${tokenEnd}`, 'u', (m) =>
    say(m[2]!, scaleOf(m[3], m[4], m[5]), codes[m[1]!]!),
  ),
  // 5 USD, 5€, 50c, 50¢
  rule(
    `(-)?(${number})${scale} ?(${Object.keys(codes).join('|')})${tokenEnd}`,
    'u',
    (m) => minus(m[1]) + say(m[2]!, scaleOf(m[3], m[4], m[5]), codes[m[6]!]!),
  ),
  rule(
    `(-)?(${number})${scale} ?(${sign})(?![\\p{L}\\p{N}])`,
    'u',
    (m) => minus(m[1]) + say(m[2]!, scaleOf(m[3], m[4], m[5]), signs[m[6]!]!),
  ),
  rule(`(${number}) ?(?:¢|c(?![\\p{L}\\p{N}/]))`, 'u', (m) =>
    // "5 c" with a space is a letter more often than a coin.
    m[0].endsWith(' c') ? undefined : `${amount(m[1]!)} ${m[1] === '1' ? 'cent' : 'cents'}`,
  ),
  rule(`(\\d{1,2})p${tokenEnd}`, 'u', (m) => `${cardinal(m[1]!)} ${m[1] === '1' ? 'penny' : 'pence'}`),
];
