import { keepsWhole } from '../policy.ts';
import { unitTimes } from './cost.ts';
import { fillable, residentLimit, slotCount } from './limits.ts';
import { bytesOf, fixedBytesOf, markedFixed, streamable } from './parts.ts';
import { chooseResidents, type Residency } from './residency.ts';
import { joinSlots } from './slots.ts';
import { type OtherSlots, slotsCost, smallestOf, smallestTogether } from './smallest.ts';
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
  /** Permitted, and nothing of the stage's. */
  spareBytes: number;
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
  const wholeOnly = keepsWhole(policy.mode);
  const ordered = [...components].sort((a, b) => a.sizeBytes - b.sizeBytes || (a.id < b.id ? -1 : 1));
  const shares: ComponentShare[] = [];
  const others: OtherSlots = { planned: null, inUse: state.slotsInUse ?? null };
  let left = permittedBytes;

  for (const [index, component] of ordered.entries()) {
    const rest = ordered.slice(index + 1);
    if (component.inUse) {
      // Another stage runs on it: it stays as that stage has it.
      const share = keptShare(component, state);
      shares.push(share);
      left -= component.loadedBytes;
      const slotBytes = largest(component, share.streamed);
      if (slotBytes > 0) {
        const count = slotCount(component, policy.asyncOffload);
        others.planned = joinSlots(others.planned, { count, bytes: slotBytes, prefetch: count > 1 });
      }
      continue;
    }
    const limit = residentLimit(component, state);
    const fixed = fixedBytesOf(component);
    const smallestOfRest = smallestOf(rest, policy.asyncOffload);
    const restNeeds = smallestOfRest(others).bytes;
    const mayBeWhole = limit >= component.sizeBytes - fixed || capSavesNothing(component, state, others);
    if (mayBeWhole && (wholeOnly || component.sizeBytes + restNeeds <= left)) {
      shares.push(wholeShare(component, state));
      left -= component.sizeBytes;
      continue;
    }
    const count = slotCount(component, policy.asyncOffload);
    const available = left - fixed;
    const room = {
      bytesAt: (slotBytes: number): number => {
        if (slotBytes === 0) return available - restNeeds;
        const atLeast = { bytes: slotBytes, count };
        return available - smallestOfRest(others, atLeast).bytes;
      },
      residentLimit: limit,
      fills: fillable(policy.mode),
      slotCount: count,
      prefetch: count > 1,
    };
    const options = { residency: policy.residency, copyRate: state.device.copyRate, passes };
    const chosen = chooseResidents(component, room, options) ?? atSmallest(component, rest, state, others);
    const share = partialShare(component, chosen, state);
    shares.push(share);
    left -= component.fixedBytes + bytesOf(component, share.resident);
    if (share.streamed.length > 0) {
      others.planned = joinSlots(others.planned, { count, bytes: chosen.slotBytes, prefetch: count > 1 });
    }
  }
  const over = slotsCost(0, 0, others) - left;
  const [overBudgetBytes, spareBytes] = [Math.max(0, over), Math.max(0, -over)];
  return { shares, slots: others.planned, overBudgetBytes, spareBytes };
}

/** A cap after out of memory is there to take less: where slots would take more than the whole, it is moot. */
function capSavesNothing(component: PlannerComponent, state: PlannerState, others: OtherSlots): boolean {
  if (component.capBytes === null || others.planned !== null) return false;
  const uncapped = residentLimit({ ...component, capBytes: null }, state);
  if (uncapped < component.sizeBytes - fixedBytesOf(component)) return false;
  return smallestTogether([component], state.policy.asyncOffload, others).slotBytes === 0;
}

/** Everything on the device: hot units first, cold ones last. */
export function wholeShare(component: PlannerComponent, state: PlannerState): ComponentShare {
  const unlimited = Number.POSITIVE_INFINITY;
  const room = {
    bytesAt: () => unlimited,
    residentLimit: unlimited,
    fills: fillable('normal'),
    slotCount: 0,
    prefetch: false,
  };
  const chosen = chooseResidents(component, room, { residency: 'rule', copyRate: null, passes: 1 });
  const share = partialShare(component, chosen ?? nothing, state);
  return { ...share, passMs: share.computeMs };
}

function keptShare(component: PlannerComponent, state: PlannerState): ComponentShare {
  const placed = new Set(component.placementOrder);
  const resident = component.placementOrder.filter((unit) => component.units[unit]!.mark !== 'fixed');
  const streamed = streamable(component).filter((unit) => !placed.has(unit));
  return partialShare(component, { ...nothing, resident, streamed, chosenBy: 'kept' }, state);
}

function largest(component: PlannerComponent, units: readonly number[]): number {
  return units.reduce((bytes, unit) => Math.max(bytes, component.units[unit]!.bytes), 0);
}

const nothing: Residency = {
  resident: [],
  streamed: [],
  slotBytes: 0,
  passMs: null,
  rulePassMs: null,
  chosenBy: 'rule',
};

/** Nothing fits: only what is larger than the cheapest slot is resident. */
function atSmallest(
  component: PlannerComponent,
  rest: readonly PlannerComponent[],
  state: PlannerState,
  others: OtherSlots,
): Residency {
  const { asyncOffload } = state.policy;
  const smallest = smallestTogether([component, ...rest], asyncOffload, others);
  const limit = slotCount(component, asyncOffload) > smallest.slotCount ? 0 : smallest.slotBytes;
  const size = (unit: number): number => component.units[unit]!.bytes;
  const units = streamable(component);
  const streamed = units.filter((unit) => size(unit) <= limit);
  return {
    ...nothing,
    resident: units.filter((unit) => size(unit) > limit),
    streamed,
    slotBytes: largest(component, streamed),
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
