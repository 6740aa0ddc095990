import type { Slots } from './types.ts';

export function slotBytesOf(slots: Slots | null): number {
  return slots === null ? 0 : slots.count * slots.bytes;
}

/**
 * Slots to have on the device during a stage that needs `needed`: wide enough for the stage to come as well, and those
 * that are there already where they serve, since they keep the units in them; as far as `spareBytes` allow.
 */
export function keptSlots(
  needed: Slots | null,
  others: { idle: Slots | null; coming: Slots | null; spareBytes: number },
): Slots | null {
  const { idle, coming, spareBytes } = others;
  const wider = joinSlots(needed, coming);
  if (wider === null) return null;
  const fits = (slots: Slots): boolean => slotBytesOf(slots) - slotBytesOf(needed) <= spareBytes;
  const asThere = (slots: Slots): Slots =>
    idle === null || idle.bytes < slots.bytes ? slots : joinSlots(slots, idle)!;
  const candidates = [asThere(wider), wider, ...(needed === null ? [] : [asThere(needed)])];
  const chosen = candidates.find(fits) ?? needed;
  return chosen === null ? null : { ...chosen, prefetch: (needed ?? chosen).prefetch };
}

/** Slots that serve both. */
export function joinSlots(a: Slots | null, b: Slots | null): Slots | null {
  if (a === null || b === null) return a ?? b;
  return {
    count: Math.max(a.count, b.count),
    bytes: Math.max(a.bytes, b.bytes),
    prefetch: a.prefetch || b.prefetch,
  };
}
