/**
 * ARPAbet as the CMU pronouncing dictionary writes it: 24 consonants, 15 vowels that carry a stress digit
 * (0 none, 1 primary, 2 secondary). Phones are passed around as these strings; packed, each is one byte.
 */

const consonants = 'B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH'.split(' ') as readonly string[];
const vowels = 'AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW'.split(' ') as readonly string[];

/** All 69 symbols in the order of the packed byte codes. */
export const symbols: readonly string[] = [
  ...consonants,
  ...vowels.flatMap((v) => [`${v}0`, `${v}1`, `${v}2`]),
];

/** Byte of the first symbol: printable ASCII, so that a packed dictionary is a readable text. */
export const firstCode = 0x21;

const known = new Set(symbols);

export function isSymbol(phone: string): boolean {
  return known.has(phone);
}

export function isVowel(phone: string): boolean {
  const last = phone.charCodeAt(phone.length - 1);
  return last >= 48 && last <= 50;
}

/** Stress of a vowel, -1 for a consonant. */
export function stressOf(phone: string): number {
  return isVowel(phone) ? phone.charCodeAt(phone.length - 1) - 48 : -1;
}

/** The same vowel with another stress; a consonant stays as it is. */
export function withStress(phone: string, stress: 0 | 1 | 2): string {
  return isVowel(phone) ? phone.slice(0, -1) + stress : phone;
}

/** Symbols written with spaces, as in the dictionary: `parse('HH AH0 L OW1')`. Throws on an unknown symbol. */
export function parse(text: string): string[] {
  const phones = text.split(' ');
  for (const phone of phones)
    if (!known.has(phone)) throw new Error(`"${phone}" is no ARPAbet symbol in "${text}"`);
  return phones;
}

const unvoiced = new Set(['P', 'T', 'K', 'F', 'TH']);
const sibilant = new Set(['S', 'Z', 'SH', 'ZH', 'CH', 'JH']);

/** Plural, possessive and third person: cats S, dogs Z, horses IH0 Z. */
export function withS(stem: readonly string[]): string[] {
  const last = stem[stem.length - 1] ?? '';
  if (sibilant.has(last)) return [...stem, 'IH0', 'Z'];
  return [...stem, unvoiced.has(last) ? 'S' : 'Z'];
}

/** Past tense: walked T, called D, waited IH0 D. */
export function withD(stem: readonly string[]): string[] {
  const last = stem[stem.length - 1] ?? '';
  if (last === 'T' || last === 'D') return [...stem, 'IH0', 'D'];
  return [...stem, unvoiced.has(last) || last === 'S' || last === 'SH' || last === 'CH' ? 'T' : 'D'];
}
