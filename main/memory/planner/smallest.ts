import { slotCount } from './limits.ts';
import { fixedBytesOf, streamable } from './parts.ts';
import type { PlannerComponent, Slots } from './types.ts';

export interface SmallestSet {
  /** Weights that have to be resident, and slots. */
  bytes: number;
  slotBytes: number;
  /** Components that would need more slots than these are resident whole. */
  slotCount: number;
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
 * than as slots, and so is a small component that alone would need a second slot.
 *
 * @param atLeast slots of this size and number are needed anyway, by a component planned together with these.
 */
export function smallestTogether(
  components: readonly PlannerComponent[],
  asyncOffload: number,
  others: OtherSlots,
  atLeast: { bytes: number; count: number } = { bytes: 0, count: 0 },
): SmallestSet {
  const counts = new Set([atLeast.count]);
  for (const component of components) counts.add(Math.max(atLeast.count, slotCount(component, asyncOffload)));
  let best: SmallestSet = { bytes: Number.POSITIVE_INFINITY, slotBytes: 0, slotCount: 0 };
  for (const count of counts) {
    const set = smallestWith(components, asyncOffload, others, { bytes: atLeast.bytes, count });
    if (set.bytes < best.bytes) best = set;
  }
  return best;
}

/** The same with this many slots. */
function smallestWith(
  components: readonly PlannerComponent[],
  asyncOffload: number,
  others: OtherSlots,
  slots: { bytes: number; count: number },
): SmallestSet {
  let resident = 0;
  const sizes: number[] = [];
  for (const component of components) {
    if (slotCount(component, asyncOffload) > slots.count) {
      resident += component.sizeBytes;
      continue;
    }
    resident += fixedBytesOf(component);
    for (const unit of streamable(component)) sizes.push(component.units[unit]!.bytes);
  }
  sizes.sort((a, b) => b - a);
  let best: SmallestSet = { bytes: Number.POSITIVE_INFINITY, slotBytes: 0, slotCount: 0 };
  for (let index = 0; index <= sizes.length; index++) {
    const slotBytes = Math.max(slots.bytes, sizes[index] ?? 0);
    const needed = index < sizes.length || slots.bytes > 0 ? slots.count : 0;
    const bytes = resident + slotsCost(slotBytes, needed, others);
    if (bytes < best.bytes) best = { bytes, slotBytes, slotCount: needed };
    resident += sizes[index] ?? 0;
  }
  return best;
}
