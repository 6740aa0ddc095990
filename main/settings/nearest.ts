/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours count one each. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, before[j - 2]! + 1);
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}

/** The candidate that a mistyped name most likely meant, or null when none is near: a third of the letters may differ. */
export function nearest(name: string, candidates: readonly string[]): string | null {
  // Names are short; a page of text in their place is not worth comparing.
  if (name.length > 100) return null;
  const wanted = name.toLowerCase();
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    const tail = known.split('.').at(-1) ?? known;
    const distance = Math.min(
      editDistance(wanted, known),
      tail === known ? 99 : editDistance(wanted, tail) + 0.5,
    );
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best === null) return null;
  return bestDistance <= Math.max(1, Math.ceil(Math.min(wanted.length, best.length) / 3)) ? best : null;
}
