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

/** What the rest of a stage needs at least, asked again and again with other slots. */
export type SmallestSetOf = (others: OtherSlots, atLeast?: { bytes: number; count: number }) => SmallestSet;

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
  atLeast?: { bytes: number; count: number },
): SmallestSet {
  return smallestOf(components, asyncOffload)(others, atLeast);
}

/** The same for many questions about the same components: their units are put in order once. */
export function smallestOf(components: readonly PlannerComponent[], asyncOffload: number): SmallestSetOf {
  const own = new Set(components.map((component) => slotCount(component, asyncOffload)));
  const steps = new Map<number, readonly Step[]>();
  const stepsWith = (count: number): readonly Step[] => {
    const known = steps.get(count) ?? stepsOf(components, asyncOffload, count);
    steps.set(count, known);
    return known;
  };
  return (others, atLeast = { bytes: 0, count: 0 }) => {
    let best: SmallestSet = { bytes: Number.POSITIVE_INFINITY, slotBytes: 0, slotCount: 0 };
    for (const count of new Set([
      atLeast.count,
      ...[...own].map((other) => Math.max(atLeast.count, other)),
    ])) {
      for (const { unitBytes, residentBytes } of stepsWith(count)) {
        const slotBytes = Math.max(atLeast.bytes, unitBytes);
        const needed = slotBytes > 0 ? count : 0;
        const bytes = residentBytes + slotsCost(slotBytes, needed, others);
        if (bytes < best.bytes) best = { bytes, slotBytes, slotCount: needed };
      }
    }
    return best;
  };
}

/** Units up to `unitBytes` stream; the fixed parts and all larger units are resident. */
interface Step {
  unitBytes: number;
  residentBytes: number;
}

/** With this many slots, from the largest unit down; the last streams nothing. */
function stepsOf(components: readonly PlannerComponent[], asyncOffload: number, count: number): Step[] {
  let resident = 0;
  const sizes: number[] = [];
  for (const component of components) {
    if (slotCount(component, asyncOffload) > count) {
      resident += component.sizeBytes;
      continue;
    }
    resident += fixedBytesOf(component);
    for (const unit of streamable(component)) sizes.push(component.units[unit]!.bytes);
  }
  sizes.sort((a, b) => b - a);
  const steps: Step[] = [];
  for (const size of sizes) {
    if (steps.at(-1)?.unitBytes !== size) steps.push({ unitBytes: size, residentBytes: resident });
    resident += size;
  }
  steps.push({ unitBytes: 0, residentBytes: resident });
  return steps;
}
