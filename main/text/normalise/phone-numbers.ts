import { digitByDigit } from './numbers.ts';
import { type Context, type Rule, rule, tokenEnd } from './rule.ts';

/** Digits of each group, with a breath between the groups. */
function groups(text: string): string {
  return text
    .split(/\D+/)
    .filter((group) => group !== '')
    .map((group) => (group === '800' ? 'eight hundred' : digitByDigit(group)))
    .join(' , ');
}

const cues =
  /^(?:call|dial|phone|tel|telephone|fax|mobile|cell|at|number|text|ring|sms|whatsapp|contact)\.?:?$/i;

function isCalled(context: Context): boolean {
  return cues.test(context.before);
}

export const phoneRules: readonly Rule[] = [
  // +44 20 7946 0958
  rule(`\\+(\\d{1,3}(?:[ .-]?\\(?\\d{1,4}\\)?){2,6})${tokenEnd}`, 'u', (m) => {
    const digits = m[1]!.replace(/\D/g, '').length;
    return digits >= 7 && digits <= 15 ? `plus ${groups(m[1]!)}` : undefined;
  }),
  // (555) 123-4567, 1-800-555-1234, 555.123.4567
  rule(
    `(?:\\+?1[ .-])?(?:\\(\\d{3}\\) ?|\\d{3}[ .-])\\d{3}[.-]\\d{4}(?: ?(?:x|ext\\.?) ?(\\d{1,5}))?${tokenEnd}`,
    'u',
    (m) => {
      const main = m[0].split(/ ?(?:x|ext)/)[0]!;
      return groups(main) + (m[1] === undefined ? '' : ` , extension ${digitByDigit(m[1])}`);
    },
  ),
  // 020 7946 0958, 0171-123456
  rule(`0\\d{1,4}[ -]\\d{3,4}[ -]?\\d{3,4}${tokenEnd}`, 'u', (m) => groups(m[0])),
  // 4111 1111 1111 1111 and 078-05-1120
  rule(`\\d{4}[ -]\\d{4}[ -]\\d{4}[ -]\\d{4}${tokenEnd}`, 'u', (m) =>
    // Four years in a row are no card.
    m[0].split(/[ -]/).every((group) => /^(?:1\d|2[01])/.test(group)) ? undefined : groups(m[0]),
  ),
  rule(`\\d{3}-\\d{2}-\\d{4}${tokenEnd}`, 'u', (m) => groups(m[0])),
  // 555-1234
  rule(`(\\d{3})-(\\d{4})(?![\\p{L}\\p{N}]|-\\d)`, 'u', (m, context) =>
    m[1] === '555' || isCalled(context) || !m[2]!.endsWith('00') ? groups(m[0]) : undefined,
  ),
  // "dial 112", "call 5551234"
  rule(`\\d{3,11}${tokenEnd}`, 'u', (m, context) =>
    /^(?:call|dial|dialed|dialled|phone|ring|tel|fax)\.?:?$/i.test(context.before) && !/^\d*000$/.test(m[0])
      ? digitByDigit(m[0])
      : undefined,
  ),
];
