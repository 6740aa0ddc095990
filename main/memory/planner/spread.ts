/**
 * Chooses `count` of `items` so that the others lie evenly between them: with 27 of 48, no two gaps differ by more
 * than one.
 */
export function spreadEvenly<T>(items: readonly T[], count: number): T[] {
  const left = items.length - count;
  if (left <= 0) return [...items];
  return items.filter(
    (_, index) =>
      Math.floor(((index + 1) * left) / items.length) === Math.floor((index * left) / items.length),
  );
}

/**
 * An order in which every beginning is spread evenly over the whole (bit-reversed positions), so that a component
 * which grows or shrinks by units stays spread.
 */
export function spreadOrder<T>(items: readonly T[]): T[] {
  const bits = Math.max(1, Math.ceil(Math.log2(Math.max(2, items.length))));
  const ordered: T[] = [];
  for (let key = 0; key < 1 << bits; key++) {
    const index = reversed(key, bits);
    if (index < items.length) ordered.push(items[index]!);
  }
  return ordered;
}

function reversed(value: number, bits: number): number {
  let result = 0;
  for (let bit = 0; bit < bits; bit++) result = (result << 1) | ((value >> bit) & 1);
  return result;
}
