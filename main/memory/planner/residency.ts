import { timeOf, type UnitTimes, unitTimes } from './cost.ts';
import { classesOf, type FillingOrder, fillingOrder } from './filling-order.ts';
import { markedFixed } from './parts.ts';
import { spreadEvenly, spreadOrder } from './spread.ts';
import type { PlannerComponent } from './types.ts';

/** What one component may use, and how it streams what does not fit. */
export interface Room {
  /**
   * Bytes for resident units (beside the fixed part) if units up to this size stream, the slots for them are there and
   * the rest of the stage has at least its smallest working set.
   */
  bytesAt: (slotBytes: number) => number;
  /** Most bytes of resident units whatever the room: mode `low` and `none`, or a cap. */
  residentLimit: number;
  /** What fills the room, in this order. */
  fills: readonly ('hot' | null | 'cold')[];
  slotCount: number;
  prefetch: boolean;
}

export interface Residency {
  /** In placement order: hot units first, cold ones last. */
  resident: number[];
  /** In running order. */
  streamed: number[];
  /** Largest streamed unit; 0 when all is resident. */
  slotBytes: number;
  /** One steady pass; null when unmeasured. */
  passMs: number | null;
  /** The same by rule, where cost chose otherwise. */
  rulePassMs: number | null;
  chosenBy: 'rule' | 'cost' | 'kept';
}

export interface ResidencyOptions {
  residency: 'rule' | 'cost';
  /** Bytes per millisecond; null until measured. */
  copyRate: number | null;
  passes: number;
}

interface Candidate {
  kind: 'rule' | 'cost' | 'kept';
  /** 1 for each resident unit. */
  chosen: Uint8Array;
  bytes: number;
  hotBytes: number;
  passMs: number | null;
  uploadBytes: number;
  /** Placed now, and not resident in this candidate. */
  droppedBytes: number;
  /** Holds units only that the mode lets be resident by choice. */
  permitted: boolean;
}

/** Most slot sizes tried for one component. */
const maxSlotSizes = 16;

/**
 * Which units are resident in `room`, or null if not even the smallest working set fits. Each slot size is tried:
 * larger units are resident, the rest of the room is filled in order. By rule the plan with the most resident bytes
 * wins, by cost the one with the shortest pass; what is placed already is kept where nothing is gained by moving it.
 */
export function chooseResidents(
  component: PlannerComponent,
  room: Room,
  options: ResidencyOptions,
): Residency | null {
  const times = options.residency === 'cost' ? unitTimes(component, options.copyRate) : null;
  const order = fillingOrder(component, times);
  const choose = (placed: PlannerComponent): Residency | null =>
    chooseOnce(placed, room, { order, times, passes: options.passes });
  let chosen = choose(component);
  // What is placed is filled around: asked again once this is carried out, the answer must be the same.
  for (let round = 0; chosen !== null && round < maxRounds; round++) {
    const next = choose(asPlaced(component, chosen.resident));
    if (next === null || sameUnits(next.resident, chosen.resident)) break;
    const { chosenBy, rulePassMs } = chosen;
    chosen = { ...next, resident: placementSequence(component, next.resident), chosenBy, rulePassMs };
  }
  return chosen;
}

/** Rounds until a choice answers itself; each has more resident, so two are the rule. */
const maxRounds = 8;

/** The component as it is once these units, and those marked fixed, are placed. */
function asPlaced(component: PlannerComponent, resident: readonly number[]): PlannerComponent {
  const placementOrder = [...markedFixed(component), ...resident];
  const placed = new Set(placementOrder);
  const units = component.units.map((unit, index) => ({ ...unit, placed: placed.has(index) }));
  return { ...component, units, placementOrder };
}

function sameUnits(a: readonly number[], b: readonly number[]): boolean {
  const inside = new Set(a);
  return a.length === b.length && b.every((unit) => inside.has(unit));
}

interface Choice {
  /** Does not depend on what is placed. */
  order: FillingOrder;
  times: UnitTimes | null;
  passes: number;
}

function chooseOnce(component: PlannerComponent, room: Room, choice: Choice): Residency | null {
  const { order, times } = choice;
  const kinds: Candidate['kind'][] = ['rule'];
  if (times !== null && component.kind === 'oneshot') kinds.push('cost');
  if (component.placementOrder.length > 0) kinds.push('kept');
  const candidates: Candidate[] = [];
  for (const slotBytes of slotSizes(order)) {
    const bytes = room.bytesAt(slotBytes);
    for (const kind of kinds) {
      const space = { bytes, limit: room.residentLimit, slotBytes, fills: room.fills };
      const chosen = fill(component, space, kind, choice);
      if (chosen !== null) candidates.push(weigh(component, kind, chosen, room));
    }
  }
  if (candidates.length === 0) return null;
  // Above the limit, or against the mode, only where nothing else runs at all.
  const within = candidates.filter(({ bytes, permitted }) => permitted && bytes <= room.residentLimit);
  const allowed = within.length > 0 ? within : candidates;
  if (times !== null) {
    for (const candidate of allowed) {
      candidate.passMs = timeOf(component, listed(candidate.chosen), times, room);
    }
  }
  return settle(component, allowed, choice);
}

/** In running order. */
function listed(chosen: Uint8Array): number[] {
  const units: number[] = [];
  for (let unit = 0; unit < chosen.length; unit++) if (chosen[unit]) units.push(unit);
  return units;
}

/** Distinct unit sizes from large to small, thinned where there are many; 0: nothing streams. */
function slotSizes({ sizes: units }: FillingOrder): number[] {
  const sizes = [...new Set(units)];
  if (sizes.length <= maxSlotSizes) return [...sizes, 0];
  const step = (sizes.length - 1) / (maxSlotSizes - 1);
  const thinned = new Set(Array.from({ length: maxSlotSizes }, (_, i) => sizes[Math.round(i * step)]!));
  // Sizes at which the smallest working set may lie are never left out.
  for (let count = 1; count <= 4; count++) {
    let best = Number.POSITIVE_INFINITY;
    let bestSize = 0;
    let resident = 0;
    for (const size of units) {
      if (resident + count * size < best) {
        best = resident + count * size;
        bestSize = size;
      }
      resident += size;
    }
    thinned.add(bestSize);
  }
  thinned.add(0);
  return [...thinned].sort((a, b) => b - a);
}

/** Fills the room in order; null if what cannot stream does not fit. */
function fill(
  component: PlannerComponent,
  room: { bytes: number; limit: number; slotBytes: number; fills: Room['fills'] },
  kind: Candidate['kind'],
  { order, times }: Choice,
): Uint8Array | null {
  const { units } = component;
  const chosen = new Uint8Array(units.length);
  // Units above the slot size have to be resident even under a cap or in mode `none`.
  let enforced = 0;
  for (const unit of order.movable) {
    const { bytes } = units[unit]!;
    if (bytes <= room.slotBytes) continue;
    chosen[unit] = 1;
    enforced += bytes;
  }
  if (enforced > room.bytes) return null;
  let left = Math.min(room.bytes, room.limit) - enforced;
  const take = (unit: number): void => {
    const { bytes } = units[unit]!;
    if (bytes > left || chosen[unit]) return;
    chosen[unit] = 1;
    left -= bytes;
  };
  for (const mark of room.fills) {
    if (kind === 'kept') {
      for (const unit of component.placementOrder) if (units[unit]!.mark === mark) take(unit);
    }
    if (component.kind === 'sequence') {
      for (const unit of order.byMark.get(mark) ?? []) take(unit);
      continue;
    }
    for (const members of classesOf(component, {
      order,
      mark,
      chosen,
      times: kind === 'rule' ? null : times,
    })) {
      const size = units[members[0]!]!.bytes;
      const alike = members.every((unit) => units[unit]!.bytes === size);
      const inTurn = alike
        ? spreadEvenly(members, Math.max(0, Math.floor(left / size)))
        : spreadOrder(members);
      for (const unit of inTurn) take(unit);
    }
  }
  return chosen;
}

function weigh(
  component: PlannerComponent,
  kind: Candidate['kind'],
  chosen: Uint8Array,
  { fills }: Room,
): Candidate {
  let bytes = 0;
  let hotBytes = 0;
  let uploadBytes = 0;
  let droppedBytes = 0;
  let permitted = true;
  for (let index = 0; index < chosen.length; index++) {
    const unit = component.units[index]!;
    if (!chosen[index]) {
      if (unit.placed && unit.mark !== 'fixed') droppedBytes += unit.bytes;
      continue;
    }
    bytes += unit.bytes;
    if (unit.mark === 'hot') hotBytes += unit.bytes;
    if (!unit.placed) uploadBytes += unit.bytes;
    if (unit.mark !== 'fixed' && !fills.includes(unit.mark)) permitted = false;
  }
  return { kind, chosen, bytes, hotBytes, uploadBytes, droppedBytes, permitted, passMs: null };
}

function settle(
  component: PlannerComponent,
  candidates: readonly Candidate[],
  { order, times, passes }: Choice,
): Residency {
  const byRule = (a: Candidate, b: Candidate): number =>
    b.hotBytes - a.hotBytes || b.bytes - a.bytes || a.uploadBytes - b.uploadBytes;
  // What is placed now and would be dropped counts for the upload that it cost.
  const cost = (c: Candidate): number => passes * c.passMs! + c.droppedBytes / times!.copyRate;
  const byCost = (a: Candidate, b: Candidate): number => {
    const [x, y] = [cost(a), cost(b)];
    return Math.abs(x - y) > 1e-6 * Math.max(x, y) ? x - y : byRule(a, b);
  };
  const winner = best(candidates, times === null ? byRule : byCost)!;
  const rule = best(
    candidates.filter(({ kind }) => kind === 'rule'),
    byRule,
  );
  const resident = placementSequence(component, listed(winner.chosen));
  const streamed = order.movable.filter((unit) => !winner.chosen[unit]);
  return {
    resident,
    streamed,
    slotBytes: Math.max(0, ...streamed.map((unit) => component.units[unit]!.bytes)),
    passMs: winner.passMs,
    rulePassMs: winner === rule ? null : (rule?.passMs ?? null),
    chosenBy: winner.kind,
  };
}

/** The first of the best. */
function best(
  candidates: readonly Candidate[],
  order: (a: Candidate, b: Candidate) => number,
): Candidate | undefined {
  let kept = candidates[0];
  for (const candidate of candidates) if (order(candidate, kept!) < 0) kept = candidate;
  return kept;
}

/** What is placed stays first, in its order; new units follow, hot ones first, spread where they are alike. */
function placementSequence(component: PlannerComponent, chosen: readonly number[]): number[] {
  const inside = new Set(chosen);
  const placed = component.placementOrder.filter((unit) => inside.has(unit));
  const known = new Set(placed);
  const added = chosen.filter((unit) => !known.has(unit)).sort((a, b) => a - b);
  const rank = (unit: number): number => {
    const { mark } = component.units[unit]!;
    return mark === 'hot' ? 0 : mark === 'cold' ? 2 : 1;
  };
  const ordered = component.kind === 'sequence' ? added : spreadOrder(added);
  return [...placed, ...ordered.sort((a, b) => rank(a) - rank(b))];
}
