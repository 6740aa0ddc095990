import type { Slots } from './types.ts';

/** Slots that serve both. */
export function joinSlots(a: Slots | null, b: Slots | null): Slots | null {
  if (a === null || b === null) return a ?? b;
  return {
    count: Math.max(a.count, b.count),
    bytes: Math.max(a.bytes, b.bytes),
    prefetch: a.prefetch || b.prefetch,
  };
}
