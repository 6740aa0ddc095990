import { normaliseTokens } from '../../main/text/normalise/normalise.ts';

/** Words of a sentence for scoring, both sides alike: lower case, numbers as words, no marks. */
export function scoredWords(text: string): string[] {
  return normaliseTokens(text)
    .filter(({ kind }) => kind !== 'mark')
    .flatMap(({ text: word }) => word.toLowerCase().split('-'))
    .filter((word) => word !== '');
}

export interface Alignment {
  substitutions: number;
  deletions: number;
  insertions: number;
  /** Pairs in order; null where one side has nothing. */
  pairs: [reference: string | null, heard: string | null][];
}

/** The alignment with the fewest edits; among equals, exchanges before deletions before insertions. */
export function align(reference: readonly string[], heard: readonly string[]): Alignment {
  const width = heard.length + 1;
  const cost = new Uint32Array((reference.length + 1) * width);
  for (let i = 0; i <= reference.length; i++) {
    for (let j = 0; j <= heard.length; j++) {
      if (i === 0 || j === 0) {
        cost[i * width + j] = i + j;
        continue;
      }
      const same = reference[i - 1] === heard[j - 1] ? 0 : 1;
      cost[i * width + j] = Math.min(
        cost[(i - 1) * width + j - 1]! + same,
        cost[(i - 1) * width + j]! + 1,
        cost[i * width + j - 1]! + 1,
      );
    }
  }
  const result: Alignment = { substitutions: 0, deletions: 0, insertions: 0, pairs: [] };
  for (let i = reference.length, j = heard.length; i > 0 || j > 0; ) {
    const here = cost[i * width + j]!;
    const same = i > 0 && j > 0 && reference[i - 1] === heard[j - 1] ? 0 : 1;
    if (i > 0 && j > 0 && cost[(i - 1) * width + j - 1]! + same === here) {
      result.substitutions += same;
      result.pairs.push([reference[--i]!, heard[--j]!]);
    } else if (i > 0 && cost[(i - 1) * width + j]! + 1 === here) {
      result.deletions++;
      result.pairs.push([reference[--i]!, null]);
    } else {
      result.insertions++;
      result.pairs.push([null, heard[--j]!]);
    }
  }
  result.pairs.reverse();
  return result;
}

/** One line that shows what was misheard: `the small [boat|but] [was|it was]`. */
export function showErrors({ pairs }: Alignment): string {
  return pairs
    .map(([wanted, heard]) => (wanted === heard ? wanted : `[${wanted ?? ''}|${heard ?? ''}]`))
    .join(' ');
}

export interface Score {
  words: number;
  substitutions: number;
  deletions: number;
  insertions: number;
  /** Edits / words. */
  rate: number;
}

export function total(items: readonly { words: number; alignment: Alignment }[]): Score {
  const sum = (read: (item: (typeof items)[number]) => number) =>
    items.reduce((all, item) => all + read(item), 0);
  const words = sum((item) => item.words);
  const substitutions = sum(({ alignment }) => alignment.substitutions);
  const deletions = sum(({ alignment }) => alignment.deletions);
  const insertions = sum(({ alignment }) => alignment.insertions);
  return {
    words,
    substitutions,
    deletions,
    insertions,
    rate: words === 0 ? 0 : (substitutions + deletions + insertions) / words,
  };
}
