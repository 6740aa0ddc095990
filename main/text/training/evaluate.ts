/** Phone and word error rate of a letter-to-sound function on held-out words. */

export interface LetterScore {
  words: number;
  /** Share of wrong words; of inserted, deleted and exchanged phones; the same with stress ignored. */
  wordError: number;
  phoneError: number;
  phoneErrorNoStress: number;
}

export function scoreLetters(
  words: readonly { word: string; readings: readonly (readonly string[])[] }[],
  pronounce: (word: string) => readonly string[],
): LetterScore {
  let wrong = 0;
  let edits = 0;
  let plainEdits = 0;
  let phones = 0;
  for (const { word, readings } of words) {
    const got = pronounce(word);
    const closest = nearest(got, readings);
    edits += closest.edits;
    phones += closest.length;
    if (closest.edits > 0) wrong++;
    plainEdits += nearest(
      got.map(plain),
      readings.map((reading) => reading.map(plain)),
    ).edits;
  }
  return {
    words: words.length,
    wordError: wrong / words.length,
    phoneError: edits / phones,
    phoneErrorNoStress: plainEdits / phones,
  };
}

const plain = (phone: string) => phone.replace(/\d/, '');

function nearest(got: readonly string[], readings: readonly (readonly string[])[]) {
  return readings
    .map((reading) => ({ edits: editDistance(reading, got), length: reading.length }))
    .reduce((a, b) => (b.edits < a.edits ? b : a));
}

/** Fewest insertions, deletions and exchanges that turn one sequence into the other. */
export function editDistance<T>(a: readonly T[], b: readonly T[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
