import { keepsWhole } from '../policy.ts';
import { freeBytes, requested, uncachedFree } from './budget.ts';
import { type ComponentShare, distribute } from './distribute.ts';
import { giveUp, givingUpOrder } from './giving-up.ts';
import { bytesOf } from './parts.ts';
import { predict } from './predict.ts';
import { mib, type Reason, reason } from './reasons.ts';
import { keptSlots, slotBytesOf } from './slots.ts';
import { slotsCost } from './smallest.ts';
import type {
  Budget,
  ComponentPlan,
  LoadRequest,
  PartialReason,
  Plan,
  PlannerComponent,
  PlannerState,
  Slots,
} from './types.ts';

/**
 * Decides, before anything moves, what gives up memory, which units are resident, which stream, and why. Pure: the
 * same state and request give the same plan. An estimate never refuses: below the smallest working set the plan is
 * the smallest working set, and `overBudgetBytes` says by how much it is over.
 */
export function planLoad(state: PlannerState, request: LoadRequest): Plan {
  const { device, policy } = state;
  const components = requested(state.components, request, device.id);
  const loaded = components.reduce((bytes, component) => bytes + component.loadedBytes, 0);
  const wanted = wantedBytes(components, state);

  const free = freeBytes(device, policy);
  const needed = wanted - loaded + request.workingBytes + policy.reserveBytes;
  const short = Math.max(0, needed - free);
  const victims = givingUpOrder(state.components, device.id, new Set(request.components));
  const giveUps = giveUp(victims, { name: request.name, device: device.id, bytes: short, mode: policy.mode });
  const given = giveUps.reduce((bytes, step) => bytes + step.bytes, 0);
  const budget: Budget = {
    freeBytes: free,
    neededBytes: needed,
    workingBytes: request.workingBytes,
    reserveBytes: policy.reserveBytes,
    shortBytes: short,
    givenBytes: given,
  };

  const permitted = free + given - request.workingBytes - policy.reserveBytes + loaded;
  const distribution = distribute(state, components, permitted, request.passes ?? 1);
  const { shares, slots, overBudgetBytes, spareBytes } = distribution;
  const plans = shares.map((share) => describeShare(share, state, budget, slots));
  const reasons: Reason[] = [...giveUps.map((step) => step.reason), ...plans.map((plan) => plan.reason)];
  if (overBudgetBytes > 0) reasons.unshift(overBudget(request, state, permitted, overBudgetBytes));

  const weights = plans.reduce((bytes, plan) => bytes + plan.residentBytes, 0);
  const { idleSlots = null } = device;
  const others = { idle: idleSlots, coming: request.slotsToCome ?? null, spareBytes };
  // Beside other stages that stream, theirs and these are joined when they are made.
  const shared = (state.slotsInUse ?? null) !== null;
  const slotsKept = shared ? slots : keptSlots(slots, others);
  const slotBytes = slotBytesOf(slotsKept);
  return {
    name: request.name,
    device: device.id,
    mode: policy.mode,
    budget,
    giveUps,
    components: plans,
    slots,
    slotsKept,
    trimCaches: mustTrim(state, request, given, weights - loaded, slotBytes),
    peakBytes: weights + slotBytes + request.workingBytes,
    overBudgetBytes,
    prediction: predict(shares, state, request.passes ?? 1, uploads(plans)),
    reasons,
  };
}

/** Weights and slots that the mode asks for when memory is no question. */
function wantedBytes(components: readonly PlannerComponent[], state: PlannerState): number {
  const whole = state.policy.mode !== 'low' && state.policy.mode !== 'none';
  if (whole && components.every(({ capBytes }) => capBytes === null)) {
    return components.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
  }
  const unlimited = distribute(state, components, Number.MAX_SAFE_INTEGER, 1);
  let bytes =
    unlimited.slots === null
      ? 0
      : slotsCost(0, 0, { planned: unlimited.slots, inUse: state.slotsInUse ?? null });
  for (const { component, resident } of unlimited.shares)
    bytes += component.fixedBytes + bytesOf(component, resident);
  return bytes;
}

/** Our caches count as free; they have to be emptied only if the memory is really wanted for something else. */
function mustTrim(
  state: PlannerState,
  request: LoadRequest,
  given: number,
  newWeights: number,
  slotBytes: number,
): boolean {
  const { device, policy } = state;
  const unused = device.scratchBytes + device.idleSlotBytes;
  if (unused === 0) return false;
  const limit = policy.limitBytes === null ? Number.POSITIVE_INFINITY : policy.limitBytes - device.heldBytes;
  const free = Math.min(uncachedFree(device), limit) + given - device.promisedBytes - policy.reserveBytes;
  // What another stage's graphs left is of no use to this one: its own values and caches have to fit beside it.
  const reused = Math.min(device.scratchBytes, request.reusableBytes ?? device.scratchBytes);
  const working = Math.max(0, request.workingBytes - reused);
  // Idle slots stay where the plan needs none: only emptying gives their memory back.
  const slots = Math.max(0, slotBytes - device.idleSlotBytes);
  return newWeights + working + slots > free;
}

function uploads(plans: readonly ComponentPlan[]): number {
  return plans.reduce((bytes, plan) => bytes + plan.uploadBytes, 0);
}

function describeShare(
  share: ComponentShare,
  state: PlannerState,
  budget: Budget,
  slots: Slots | null,
): ComponentPlan {
  const { component, resident, streamed } = share;
  const inside = new Set(resident);
  const bytes = (units: readonly number[]): number =>
    units.reduce((total, unit) => total + component.units[unit]!.bytes, 0);
  const leave = component.placementOrder.filter((unit) => !inside.has(unit)).reverse();
  const residentBytes = component.fixedBytes + bytes(resident);
  const streamedBytes = bytes(streamed);
  const uploadBytes =
    (component.fixedPlaced ? 0 : component.fixedBytes) +
    bytes(resident.filter((unit) => !component.units[unit]!.placed));
  const partial = streamed.length === 0 ? null : partialReason(share, state);
  return {
    component: component.id,
    resident,
    streamed,
    leave,
    uploadBytes,
    residentBytes,
    streamedBytes,
    partial,
    reason: explain(share, state, budget, slots, partial, residentBytes, streamedBytes),
  };
}

function partialReason(share: ComponentShare, state: PlannerState): PartialReason {
  const { component } = share;
  const { mode } = state.policy;
  if (component.capBytes !== null && component.capBytes < component.sizeBytes)
    return 'capped after out of memory';
  if (mode === 'none') return 'vram_mode none';
  if (
    mode === 'low' &&
    component.units.some((unit, index) => unit.mark !== 'hot' && share.streamed.includes(index))
  ) {
    return 'vram_mode low';
  }
  return 'budget';
}

function explain(
  share: ComponentShare,
  state: PlannerState,
  budget: Budget,
  slots: Slots | null,
  partial: PartialReason | null,
  residentBytes: number,
  streamedBytes: number,
): Reason {
  const { component } = share;
  // Below zero where we hold more than a limit that came later.
  const free = mib(Math.max(0, budget.freeBytes + budget.givenBytes));
  const names = { component: component.id, device: state.device.id, mode: state.policy.mode };
  const sizes = { size: mib(component.sizeBytes), loaded: mib(residentBytes), streamed: mib(streamedBytes) };
  const working = mib(budget.workingBytes);
  switch (partial) {
    case null:
      return keepsWhole(state.policy.mode)
        ? reason('whole_high', names)
        : reason('whole_fits', { ...names, ...sizes, working, free });
    case 'capped after out of memory':
      return reason('partial_capped', { ...names, ...sizes, cap: mib(component.capBytes ?? 0) });
    case 'vram_mode none':
      return reason('partial_none', { ...names, ...sizes });
    case 'vram_mode low':
      return reason('partial_low', { ...names, ...sizes });
    default:
      break;
  }
  if (
    share.chosenBy === 'cost' &&
    share.passMs !== null &&
    share.rulePassMs !== null &&
    share.computeMs !== null
  ) {
    return reason('residency_cost', {
      ...names,
      ...sizes,
      resident: share.resident.length,
      total: component.units.length,
      time: Math.round(share.passMs),
      rule: Math.round(share.rulePassMs),
      compute: Math.round(share.computeMs),
    });
  }
  return reason('partial_budget', {
    ...names,
    ...sizes,
    free,
    working,
    slots: slots === null ? 0 : mib(slots.count * slots.bytes),
    reserve: mib(budget.reserveBytes),
  });
}

function overBudget(request: LoadRequest, state: PlannerState, permitted: number, over: number): Reason {
  const working = request.workingBytes;
  return reason('over_budget', {
    name: request.name,
    device: state.device.id,
    needed: mib(permitted + over + working),
    free: mib(Math.max(0, permitted + working)),
  });
}
