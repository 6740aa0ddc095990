/**
 * Pronunciations of words from those of their parts. The endings were chosen on held-out words of the dictionary: each
 * is at least as good as the letter model there (1.5 to 3 % wrong phones against 2 to 7 %), the others were dropped.
 */
import { isVowel, stressOf, withD, withS, withStress } from '../arpabet.ts';

export interface Stems {
  /** Phones of a stem, or undefined where the dictionary lacks it. */
  lookup(word: string): string[] | undefined;
  has(word: string): boolean;
}

/** How many kinds of inflected forms the dictionary has: English words have several, names have none. */
function commonness(word: string, { has }: Stems): number {
  const stem = word.endsWith('e') ? word.slice(0, -1) : word;
  const plural =
    has(`${word}s`) || has(`${word}es`) || (word.endsWith('y') && has(`${word.slice(0, -1)}ies`));
  const verb = has(`${stem}ing`) || has(`${stem}ed`) || has(`${word}${word.at(-1)}ing`);
  const adjective = has(`${word}ly`) || (has(`${stem}er`) && has(`${stem}est`));
  return Number(plural) + Number(verb) + Number(adjective);
}

const p = (text: string) => text.split(' ');

/** Contractions and possessives; the stem may be any word. */
const clitics: readonly (readonly [string, (stem: string[]) => string[]])[] = [
  ["'s", withS],
  ["s'", withS],
  ["'ll", (stem) => [...stem, 'AH0', 'L']],
  ["'ve", (stem) => [...stem, 'AH0', 'V']],
  ["'re", (stem) => [...stem, 'ER0']],
  ["'d", withD],
  ["n't", (stem) => [...stem, 'AH0', 'N', 'T']],
  ["'m", (stem) => [...stem, 'AH0', 'M']],
];

/** "kubernetes's" from any pronunciation of "kubernetes". */
export function withClitic(
  word: string,
  pronounce: (stem: string) => string[] | undefined,
): string[] | undefined {
  for (const [ending, join] of clitics) {
    if (!word.endsWith(ending) || word.length <= ending.length) continue;
    const stem = pronounce(word.slice(0, -ending.length));
    if (stem) return join(stem);
  }
  return undefined;
}

type Join = (stem: string[]) => string[];
const append =
  (phones: string): Join =>
  (stem) => [...stem, ...p(phones)];

/** Regular endings with the spellings that the stem may have had before them. */
const endings: readonly { ending: string; stems: (base: string) => string[]; join: Join }[] = [
  { ending: 's', stems: (b) => (/(?:s|us|is)$/.test(b) ? [] : [b]), join: withS },
  { ending: 'es', stems: (b) => (/(?:[sxz]|ch|sh|o)$/.test(b) ? [b] : []), join: withS },
  { ending: 'ies', stems: (b) => [`${b}y`], join: withS },
  { ending: 'ed', stems: verbStems, join: withD },
  { ending: 'ied', stems: (b) => [`${b}y`], join: withD },
  { ending: 'ing', stems: verbStems, join: append('IH0 NG') },
  { ending: 'ings', stems: verbStems, join: append('IH0 NG Z') },
  { ending: 'ers', stems: verbStems, join: append('ER0 Z') },
  { ending: 'ier', stems: (b) => [`${b}y`], join: append('ER0') },
  { ending: 'iest', stems: (b) => [`${b}y`], join: append('AH0 S T') },
  { ending: 'ily', stems: (b) => [`${b}y`], join: (stem) => [...stem.slice(0, -1), 'AH0', 'L', 'IY0'] },
  { ending: 'ably', stems: (b) => [`${b}able`], join: (stem) => [...stem.slice(0, -2), 'L', 'IY0'] },
  {
    ending: 'ness',
    stems: (b) => (b.endsWith('i') ? [`${b.slice(0, -1)}y`] : [b]),
    join: append('N AH0 S'),
  },
  { ending: 'less', stems: (b) => [b], join: append('L AH0 S') },
  { ending: 'hood', stems: (b) => [b], join: append('HH UH2 D') },
  { ending: 'able', stems: verbStems, join: append('AH0 B AH0 L') },
  { ending: 'ism', stems: (b) => [b], join: append('IH2 Z AH0 M') },
  { ending: 'like', stems: (b) => [b], join: append('L AY2 K') },
  { ending: 'wise', stems: (b) => [b], join: append('W AY2 Z') },
  { ending: 'man', stems: (b) => [b], join: append('M AH0 N') },
  { ending: 'men', stems: (b) => [b], join: append('M AH0 N') },
];

/** bake|d, walk|ed, stop|ped */
function verbStems(base: string): string[] {
  const out = [`${base}e`, base];
  if (/([bdfgklmnprtvz])\1$/.test(base)) out.push(base.slice(0, -1));
  // "making" is make, "singing" is sing.
  return /[^aeiou][aeiou][^aeiouwxy]$/.test(base) || /(?:v|u|c|s|z|[^aeiou]l)$/.test(base)
    ? out
    : [base, ...out.slice(2), `${base}e`];
}

/** The word from a stem and at most two endings. */
export function fromParts(word: string, stems: Stems, depth = 2): string[] | undefined {
  if (depth === 0 || word.length < 4) return undefined;
  const find = (stem: string) => stems.lookup(stem) ?? fromParts(stem, stems, depth - 1);
  for (const { ending, stems: spellings, join } of endings) {
    if (!word.endsWith(ending)) continue;
    for (const stem of spellings(word.slice(0, -ending.length))) {
      if (stem.length < 3 || !/[aeiouy]/.test(stem)) continue;
      const phones = find(stem);
      if (phones) return join(phones);
    }
  }
  return undefined;
}

/** Words that as the end of another are its ending: "cott|age", "Birming|ham". */
const notSecond = new Set(
  'age ant ham ton ell don dan den wick rum lin let land lan ten ling pet ridge led pan bow rear'.split(' '),
);

/** Two common words written together: "doghouse"; the first keeps the stress. */
export function fromCompound(word: string, stems: Stems): string[] | undefined {
  let best: string[] | undefined;
  let bestScore = 0;
  for (let cut = 3; cut <= word.length - 3; cut++) {
    if (Math.max(cut, word.length - cut) < 4) continue;
    const left = word.slice(0, cut);
    const right = word.slice(cut);
    if (notSecond.has(right) || !/[aeiouy]/.test(left) || !/[aeiouy]/.test(right)) continue;
    const first = stems.lookup(left);
    const second = first && (stems.lookup(right) ?? fromParts(right, stems, 1));
    if (!first || !second?.some(isVowel)) continue;
    if (commonness(left, stems) < 2 || commonness(baseOf(right), stems) < (baseOf(right) === right ? 2 : 1))
      continue;
    const score = Math.min(cut, word.length - cut);
    if (score > bestScore) {
      best = [...first, ...second.map((phone) => (stressOf(phone) === 1 ? withStress(phone, 2) : phone))];
      bestScore = score;
    }
  }
  return best;
}

/** "books" counts as common as "book". */
function baseOf(word: string): string {
  return word.length > 4 ? word.replace(/(?:s|ed|er|ing|ers)$/, '') : word;
}
