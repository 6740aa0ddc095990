import { unitTimes } from './cost.ts';
import { residentLimit, slotCount } from './limits.ts';
import { chooseResidents, fixedBytesOf, type Residency, smallestRoom, streamable } from './residency.ts';
import type { PlannerComponent, PlannerState, Slots } from './types.ts';

/** What one component of a stage gets. */
export interface ComponentShare {
  component: PlannerComponent;
  /** Placement order; units marked fixed first. */
  resident: number[];
  /** Running order. */
  streamed: number[];
  passMs: number | null;
  rulePassMs: number | null;
  /** A pass with everything resident; null when unmeasured. */
  computeMs: number | null;
  chosenBy: Residency['chosenBy'];
}

export interface Distribution {
  shares: ComponentShare[];
  slots: Slots | null;
  overBudgetBytes: number;
}

/**
 * Divides the permitted bytes (weights and slots) among a stage's components: smaller ones first and whole, each
 * leaving at least the smallest working sets of the rest; the largest gets what remains and streams its other units.
 */
export function distribute(
  state: PlannerState,
  components: readonly PlannerComponent[],
  permittedBytes: number,
  passes: number,
): Distribution {
  const { policy } = state;
  const wholeOnly = policy.mode === 'high' || policy.mode === 'shared';
  const ordered = [...components].sort((a, b) => a.sizeBytes - b.sizeBytes || (a.id < b.id ? -1 : 1));
  const minimum = ordered.map((component) => smallestSet(component, policy.asyncOffload));
  const shares: ComponentShare[] = [];
  let left = permittedBytes;
  let slotCountUsed = 0;
  let slotBytes = state.slotsInUse?.bytes ?? 0;
  let prefetch = false;

  for (const [index, component] of ordered.entries()) {
    const rest = restOf(minimum, index + 1);
    const mayBeWhole = residentLimit(component, state) >= component.sizeBytes - fixedBytesOf(component);
    const restSlots = Math.max(rest.slots, slotCountUsed * slotBytes);
    if (mayBeWhole && (wholeOnly || component.sizeBytes + rest.weights + restSlots <= left)) {
      shares.push(wholeShare(component, state));
      left -= component.sizeBytes;
      continue;
    }
    const own = slotCount(component, policy.asyncOffload);
    const count = Math.max(own, slotCountUsed, rest.count);
    const fixed = fixedBytesOf(component);
    const chosen =
      chooseResidents(
        component,
        {
          bytes: left - fixed - rest.weights,
          residentLimit: residentLimit(component, state),
          slotCount: count,
          prefetch: own > 1,
          minSlotBytes: Math.max(slotBytes, rest.slotBytes),
        },
        { residency: policy.residency, copyRate: state.device.copyRate, passes },
      ) ?? atSmallest(component, count);
    const share = partialShare(component, chosen, state);
    shares.push(share);
    left -= share.resident.reduce(
      (bytes, unit) => bytes + component.units[unit]!.bytes,
      component.fixedBytes,
    );
    if (share.streamed.length > 0) {
      slotCountUsed = Math.max(slotCountUsed, own);
      slotBytes = Math.max(slotBytes, chosen.slotBytes);
      prefetch ||= own > 1;
    }
  }
  const slots = slotCountUsed === 0 ? null : { count: slotCountUsed, bytes: slotBytes, prefetch };
  const used = permittedBytes - left + (slots === null ? 0 : slots.count * slots.bytes);
  return { shares, slots, overBudgetBytes: Math.max(0, used - permittedBytes) };
}

interface SmallestSet {
  /** Fixed part and units that are larger than the slots. */
  weights: number;
  slotBytes: number;
  count: number;
}

function smallestSet(component: PlannerComponent, asyncOffload: number): SmallestSet {
  const count = slotCount(component, asyncOffload);
  const room = smallestRoom(component, count);
  return {
    weights: fixedBytesOf(component) + room.bytes - count * room.slotBytes,
    slotBytes: room.slotBytes,
    count: room.slotBytes > 0 ? count : 0,
  };
}

function restOf(
  minimum: readonly SmallestSet[],
  from: number,
): { weights: number; slots: number; slotBytes: number; count: number } {
  let weights = 0;
  let slotBytes = 0;
  let count = 0;
  for (let index = from; index < minimum.length; index++) {
    weights += minimum[index]!.weights;
    slotBytes = Math.max(slotBytes, minimum[index]!.slotBytes);
    count = Math.max(count, minimum[index]!.count);
  }
  return { weights, slots: slotBytes * count, slotBytes, count };
}

function markedFixed(component: PlannerComponent): number[] {
  return component.units.flatMap((unit, index) => (unit.mark === 'fixed' ? [index] : []));
}

/** Everything on the device: hot units first, cold ones last. */
export function wholeShare(component: PlannerComponent, state: PlannerState): ComponentShare {
  const everything = streamable(component);
  const room = {
    bytes: Number.POSITIVE_INFINITY,
    residentLimit: Number.POSITIVE_INFINITY,
    slotCount: 0,
    prefetch: false,
    minSlotBytes: 0,
  };
  const chosen = chooseResidents(component, room, { residency: 'rule', copyRate: null, passes: 1 });
  const share = partialShare(component, chosen ?? { ...nothing, resident: everything }, state);
  return { ...share, passMs: share.computeMs };
}

const nothing: Residency = {
  resident: [],
  streamed: [],
  slotBytes: 0,
  passMs: null,
  rulePassMs: null,
  chosenBy: 'rule',
};

function atSmallest(component: PlannerComponent, count: number): Residency {
  const { resident, slotBytes } = smallestRoom(component, count);
  const inside = new Set(resident);
  return {
    ...nothing,
    resident,
    streamed: streamable(component).filter((unit) => !inside.has(unit)),
    slotBytes,
  };
}

function partialShare(component: PlannerComponent, chosen: Residency, state: PlannerState): ComponentShare {
  const times = unitTimes(component, state.device.copyRate);
  return {
    component,
    resident: [...markedFixed(component), ...chosen.resident],
    streamed: chosen.streamed,
    passMs: chosen.passMs,
    rulePassMs: chosen.rulePassMs,
    computeMs: times === null ? null : times.computeMs.reduce((sum, time) => sum + time, 0),
    chosenBy: chosen.chosenBy,
  };
}
