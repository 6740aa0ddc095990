import { slotCount } from './limits.ts';
import { fixedBytesOf, streamable } from './parts.ts';
import type { PlannerComponent, Slots } from './types.ts';

export interface SmallestSet {
  /** Weights that have to be resident, and slots. */
  bytes: number;
  slotBytes: number;
}

/** Slots that exist or are certain: planned for components before, or in use by other requests' stages. */
export interface OtherSlots {
  planned: Slots | null;
  inUse: Slots | null;
}

/** Bytes that slots of this size and number take beside those that running stages hold already. */
export function slotsCost(slotBytes: number, count: number, others: OtherSlots): number {
  const { planned, inUse } = others;
  if (count === 0 && planned === null) return 0;
  const bytes = Math.max(slotBytes, planned?.bytes ?? 0, inUse?.bytes ?? 0);
  const number = Math.max(count, planned?.count ?? 0, inUse?.count ?? 0);
  return bytes * number - (inUse === null ? 0 : inUse.bytes * inUse.count);
}

/**
 * The smallest working set of components that share slots: their fixed parts, the units that are larger than a slot and
 * so have to be resident, and the slots. Usually everything streams; one unit far above the others is cheaper resident
 * than as slots.
 *
 * @param atLeast slots of this size and number are needed anyway, by a component planned together with these.
 */
export function smallestTogether(
  components: readonly PlannerComponent[],
  asyncOffload: number,
  others: OtherSlots,
  atLeast: { bytes: number; count: number } = { bytes: 0, count: 0 },
): SmallestSet {
  let resident = 0;
  const units: { bytes: number; slots: number }[] = [];
  for (const component of components) {
    resident += fixedBytesOf(component);
    const slots = slotCount(component, asyncOffload);
    for (const unit of streamable(component)) units.push({ bytes: component.units[unit]!.bytes, slots });
  }
  units.sort((a, b) => b.bytes - a.bytes);
  // Slots needed if the units from here on stream.
  const slotsFrom = new Array<number>(units.length + 1).fill(atLeast.count);
  for (let index = units.length - 1; index >= 0; index--) {
    slotsFrom[index] = Math.max(slotsFrom[index + 1]!, units[index]!.slots);
  }
  let best: SmallestSet = { bytes: Number.POSITIVE_INFINITY, slotBytes: 0 };
  for (let index = 0; index <= units.length; index++) {
    const slotBytes = Math.max(atLeast.bytes, units[index]?.bytes ?? 0);
    const bytes = resident + slotsCost(slotBytes, slotsFrom[index]!, others);
    if (bytes < best.bytes) best = { bytes, slotBytes };
    resident += units[index]?.bytes ?? 0;
  }
  return best;
}
