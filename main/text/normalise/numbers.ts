/** English number words. Numbers are strings of digits: any length, no rounding. */

const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'zero ten twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const scales =
  ' thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion'.split(
    ' ',
  );
/** Longer numbers are read digit by digit. */
export const longestCardinal = scales.length * 3;

const irregularOrdinals: Record<string, string> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

function belowHundred(n: number): string {
  if (n < 20) return ones[n]!;
  const unit = n % 10;
  return unit === 0 ? tens[n / 10]! : `${tens[Math.floor(n / 10)]!} ${ones[unit]!}`;
}

function belowThousand(n: number): string {
  if (n < 100) return belowHundred(n);
  const rest = n % 100;
  return `${ones[Math.floor(n / 100)]!} hundred${rest === 0 ? '' : ` ${belowHundred(rest)}`}`;
}

/** `1234` -> "one thousand two hundred thirty four". Leading zeros do not count. */
export function cardinal(digits: string): string {
  const plain = digits.replace(/^0+(?=\d)/, '');
  if (plain.length > longestCardinal) return digitByDigit(digits);
  const groups: string[] = [];
  for (let end = plain.length; end > 0; end -= 3) {
    const value = Number(plain.slice(Math.max(0, end - 3), end));
    const scale = scales[groups.length]!;
    groups.push(value === 0 ? '' : `${belowThousand(value)}${scale === '' ? '' : ` ${scale}`}`);
  }
  return (
    groups
      .reverse()
      .filter((group) => group !== '')
      .join(' ') || 'zero'
  );
}

/** `21` -> "twenty first". */
export function ordinal(digits: string): string {
  const words = cardinal(digits).split(' ');
  const last = words.pop()!;
  const spoken = irregularOrdinals[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`);
  return [...words, spoken].join(' ');
}

/** `007` -> "zero zero seven"; long strings breathe after every four digits. */
export function digitByDigit(digits: string): string {
  const words: string[] = [];
  for (let i = 0; i < digits.length; i++) {
    if (i > 0 && digits.length > 7 && i % 4 === 0) words.push(',');
    words.push(ones[Number(digits[i])]!);
  }
  return words.join(' ');
}

/** Unsigned, with thousands separators and decimals: `1,000.50` -> "one thousand point five zero". */
export function amount(text: string): string {
  const [whole = '', decimals] = text.replace(/[,'\s]/g, '').split('.');
  if (decimals === undefined) return isCode(whole) ? digitByDigit(whole) : cardinal(whole);
  return `${whole === '' ? 'zero' : cardinal(whole)} point ${[...decimals].map((d) => ones[Number(d)]!).join(' ')}`;
}

/** Leading zeros make a code of a number. */
export function isCode(digits: string): boolean {
  return digits.length > 1 && digits[0] === '0';
}

/** Years and other numbers read in pairs: 1905 "nineteen oh five", 2026 "twenty twenty six", 2007 "two thousand seven". */
export function year(digits: string): string {
  if (digits.length === 3) {
    const rest = Number(digits.slice(1));
    const head = ones[Number(digits[0])]!;
    return rest === 0 ? `${head} hundred` : `${head} ${rest < 10 ? `oh ${ones[rest]!}` : belowHundred(rest)}`;
  }
  if (digits.length !== 4) return cardinal(digits);
  const high = Number(digits.slice(0, 2));
  const low = Number(digits.slice(2));
  if (low === 0) return high % 10 === 0 ? cardinal(digits) : `${belowHundred(high)} hundred`;
  if (high % 10 === 0 && low < 10) return cardinal(digits);
  return `${belowHundred(high)} ${low < 10 ? `oh ${ones[low]!}` : belowHundred(low)}`;
}

/** Plural of a number word: "sixties", "twos", "hundreds". */
export function pluralOf(words: string): string {
  if (/(?:[^aeiou])y$/.test(words)) return `${words.slice(0, -1)}ies`;
  return `${words}${/x$/.test(words) ? 'es' : 's'}`;
}

/** `1990` -> "nineteen nineties", `2000` -> "two thousands", `80` -> "eighties". */
export function decade(digits: string): string {
  if (digits.length === 4 && digits.endsWith('00') && digits[1] !== '0') return pluralOf(year(digits));
  return pluralOf(digits.length === 4 ? year(digits) : belowHundred(Number(digits)));
}

const namedFractions: Record<string, [string, string]> = {
  '2': ['half', 'halves'],
  '4': ['quarter', 'quarters'],
};

/** `3/4` -> "three quarters"; large or odd ones "over". */
export function fraction(numerator: string, denominator: string): string {
  const top = cardinal(numerator);
  if (/^0*[01]?$/.test(denominator) || denominator.length > 4 || isCode(denominator)) {
    return `${top} over ${cardinal(denominator)}`;
  }
  const one = Number(numerator) === 1;
  const named = namedFractions[denominator];
  if (named) return `${top} ${one ? named[0] : named[1]}`;
  const value = Number(denominator);
  const proper = Number(numerator) < value;
  if (value > 20 && !(proper && /^(?:[2-9]0|25|32|64|100|1000)$/.test(denominator))) {
    return `${top} over ${cardinal(denominator)}`;
  }
  return `${top} ${ordinal(denominator).replace(/^one /, '')}${one ? '' : 's'}`;
}

const romanValues: Record<string, number> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };

/** Value of a well-formed Roman numeral in capitals (up to 3999), else 0. */
export function roman(text: string): number {
  if (!/^M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$/.test(text)) return 0;
  let total = 0;
  for (let i = 0; i < text.length; i++) {
    const value = romanValues[text[i]!]!;
    total += value < (romanValues[text[i + 1] ?? ''] ?? 0) ? -value : value;
  }
  return total;
}
