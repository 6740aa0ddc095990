import { classesByValue, timeOf, type UnitTimes, unitTimes } from './cost.ts';
import { bytesOf, markedFixed, streamable } from './parts.ts';
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
  resident: number[];
  bytes: number;
  hotBytes: number;
  passMs: number | null;
  uploadBytes: number;
  /** Placed now, and not resident in this candidate. */
  droppedBytes: number;
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
  let chosen = chooseOnce(component, room, options);
  // What is placed is filled around: asked again once this is carried out, the answer must be the same.
  for (let round = 0; chosen !== null && round < maxRounds; round++) {
    const next = chooseOnce(asPlaced(component, chosen.resident), room, options);
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

function chooseOnce(component: PlannerComponent, room: Room, options: ResidencyOptions): Residency | null {
  const times = options.residency === 'cost' ? unitTimes(component, options.copyRate) : null;
  const kinds: Candidate['kind'][] = ['rule'];
  if (times !== null && component.kind === 'oneshot') kinds.push('cost');
  if (component.placementOrder.length > 0) kinds.push('kept');
  const candidates: Candidate[] = [];
  for (const slotBytes of slotSizes(component)) {
    const bytes = room.bytesAt(slotBytes);
    for (const kind of kinds) {
      const space = { bytes, limit: room.residentLimit, slotBytes, fills: room.fills };
      const resident = fill(component, space, kind, times);
      if (resident !== null) candidates.push(weigh(component, kind, resident));
    }
  }
  if (candidates.length === 0) return null;
  // Above the limit, or against the mode, only where nothing else runs at all.
  const within = candidates.filter(
    ({ bytes, resident }) =>
      bytes <= room.residentLimit && resident.every((unit) => mayStay(component, unit, room)),
  );
  const allowed = within.length > 0 ? within : candidates;
  if (times !== null) {
    for (const candidate of allowed) candidate.passMs = timeOf(component, candidate.resident, times, room);
  }
  return settle(component, allowed, times, options.passes);
}

/** Whether the mode lets a unit of this mark be resident by choice. */
function mayStay(component: PlannerComponent, unit: number, room: Room): boolean {
  const { mark } = component.units[unit]!;
  return mark === 'fixed' || room.fills.includes(mark);
}

/** Distinct unit sizes from large to small, thinned where there are many; 0: nothing streams. */
function slotSizes(component: PlannerComponent): number[] {
  const units = streamable(component).map((unit) => component.units[unit]!.bytes);
  const sizes = [...new Set(units)].sort((a, b) => b - a);
  if (sizes.length <= maxSlotSizes) return [...sizes, 0];
  const step = (sizes.length - 1) / (maxSlotSizes - 1);
  const thinned = new Set(Array.from({ length: maxSlotSizes }, (_, i) => sizes[Math.round(i * step)]!));
  // Sizes at which the smallest working set may lie are never left out.
  units.sort((a, b) => b - a);
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
  times: UnitTimes | null,
): number[] | null {
  const { units } = component;
  const movable = streamable(component);
  // Units above the slot size have to be resident even under a cap or in mode `none`.
  const chosen = new Set(movable.filter((unit) => units[unit]!.bytes > room.slotBytes));
  const enforced = bytesOf(component, [...chosen]);
  if (enforced > room.bytes) return null;
  let left = Math.min(room.bytes, room.limit) - enforced;
  const take = (group: readonly number[]): void => {
    for (const unit of group) {
      const { bytes } = units[unit]!;
      if (bytes > left || chosen.has(unit)) continue;
      chosen.add(unit);
      left -= bytes;
    }
  };
  for (const mark of room.fills) {
    const group = movable.filter((unit) => units[unit]!.mark === mark && !chosen.has(unit));
    if (kind === 'kept') take(component.placementOrder.filter((unit) => units[unit]!.mark === mark));
    const open = group.filter((unit) => !chosen.has(unit));
    for (const members of classes(component, open, kind, times)) {
      const size = units[members[0]!]!.bytes;
      const alike = component.kind === 'oneshot' && members.every((unit) => units[unit]!.bytes === size);
      if (alike) take(spreadEvenly(members, Math.max(0, Math.floor(left / size))));
      else take(component.kind === 'sequence' ? members : spreadOrder(members));
    }
  }
  return [...chosen];
}

/**
 * Groups that are filled one after the other. Sequence: all units, in running order. Oneshot by rule: the largest
 * first, equal sizes together; by cost: those whose copy is hidden least per byte first.
 */
function classes(
  component: PlannerComponent,
  group: readonly number[],
  kind: Candidate['kind'],
  times: UnitTimes | null,
): (readonly number[])[] {
  if (group.length === 0) return [];
  if (component.kind === 'sequence') return [group];
  if (kind !== 'rule' && times !== null) return classesByValue(component, group, times);
  const bySize = new Map<number, number[]>();
  for (const unit of group) {
    const { bytes } = component.units[unit]!;
    const members = bySize.get(bytes);
    if (members) members.push(unit);
    else bySize.set(bytes, [unit]);
  }
  return [...bySize].sort(([a], [b]) => b - a).map(([, members]) => members);
}

function weigh(component: PlannerComponent, kind: Candidate['kind'], resident: number[]): Candidate {
  const movable = component.placementOrder.filter((unit) => component.units[unit]!.mark !== 'fixed');
  let droppedBytes = bytesOf(component, movable);
  let bytes = 0;
  let hotBytes = 0;
  let uploadBytes = 0;
  for (const index of resident) {
    const unit = component.units[index]!;
    bytes += unit.bytes;
    if (unit.mark === 'hot') hotBytes += unit.bytes;
    if (unit.placed) droppedBytes -= unit.bytes;
    else uploadBytes += unit.bytes;
  }
  return { kind, resident, bytes, hotBytes, uploadBytes, droppedBytes, passMs: null };
}

function settle(
  component: PlannerComponent,
  candidates: readonly Candidate[],
  times: UnitTimes | null,
  passes: number,
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
  const resident = placementSequence(component, winner.resident);
  const inside = new Set(resident);
  const streamed = streamable(component).filter((unit) => !inside.has(unit));
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
