import { classesByValue, timeOf, type UnitTimes, unitTimes } from './cost.ts';
import { spreadEvenly, spreadOrder } from './spread.ts';
import type { PlannerComponent } from './types.ts';

/** What one component may use, and how it streams what does not fit. */
export interface Room {
  /** Units (without the fixed part) and slots together. */
  bytes: number;
  /** Most bytes of resident units whatever the room: mode `low` and `none`, or a cap. */
  residentLimit: number;
  slotCount: number;
  prefetch: boolean;
  /** Slots are at least this large, because another component of the stage streams too. */
  minSlotBytes: number;
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

/** Units that may stream, in running order. */
export function streamable(component: PlannerComponent): number[] {
  return component.units.flatMap((unit, index) => (unit.mark === 'fixed' ? [] : [index]));
}

/** Fixed part and the units marked so. */
export function fixedBytesOf(component: PlannerComponent): number {
  let bytes = component.fixedBytes;
  for (const unit of component.units) if (unit.mark === 'fixed') bytes += unit.bytes;
  return bytes;
}

/**
 * The smallest room in which the streamable units run: slots for the largest streamed unit, beside the units that
 * are larger still. Usually everything streams; one unit far above the others is cheaper resident than as slots.
 */
export function smallestRoom(
  component: PlannerComponent,
  slotCount: number,
): { bytes: number; slotBytes: number; resident: number[] } {
  const units = streamable(component).sort((a, b) => component.units[b]!.bytes - component.units[a]!.bytes);
  let best = { bytes: Number.POSITIVE_INFINITY, slotBytes: 0, resident: 0 };
  let residentBytes = 0;
  for (let count = 0; count <= units.length; count++) {
    const slotBytes = count < units.length ? component.units[units[count]!]!.bytes : 0;
    const bytes = residentBytes + slotCount * slotBytes;
    if (bytes < best.bytes) best = { bytes, slotBytes, resident: count };
    residentBytes += slotBytes;
  }
  if (units.length === 0) best = { bytes: 0, slotBytes: 0, resident: 0 };
  return { bytes: best.bytes, slotBytes: best.slotBytes, resident: units.slice(0, best.resident) };
}

/** Most slot sizes tried for one component. */
const maxSlotSizes = 16;

/**
 * Which units are resident in `room`, or null if not even the smallest working set fits. Each slot size is tried:
 * larger units are resident, the rest of the room is filled in order. By rule the plan with the most resident bytes
 * wins, by cost the one with the shortest pass.
 */
export function chooseResidents(
  component: PlannerComponent,
  room: Room,
  options: { residency: 'rule' | 'cost'; copyRate: number | null; passes: number },
): Residency | null {
  const times = options.residency === 'cost' ? unitTimes(component, options.copyRate) : null;
  const candidates: Candidate[] = [];
  for (const slotBytes of slotSizes(component, room)) {
    for (const kind of ['rule', 'cost', 'kept'] as const) {
      if (kind === 'cost' && (times === null || component.kind === 'sequence')) continue;
      if (kind === 'kept' && component.placementOrder.length === 0) continue;
      const candidate = fill(component, room, slotBytes, kind, times);
      if (candidate !== null) candidates.push(candidate);
    }
  }
  if (candidates.length === 0) return null;
  for (const candidate of candidates) {
    if (times !== null) candidate.passMs = timeOf(component, candidate.resident, times, room);
  }
  return settle(component, candidates, times, options.passes);
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

/** Distinct unit sizes from large to small, thinned; the cheapest one is always among them. */
function slotSizes(component: PlannerComponent, room: Room): number[] {
  const sizes = [...new Set(streamable(component).map((unit) => component.units[unit]!.bytes))].sort(
    (a, b) => b - a,
  );
  if (sizes.length === 0) return [];
  const cheapest = smallestRoom(component, room.slotCount).slotBytes;
  if (sizes.length <= maxSlotSizes) return sizes;
  const step = (sizes.length - 1) / (maxSlotSizes - 1);
  const thinned = new Set(Array.from({ length: maxSlotSizes }, (_, i) => sizes[Math.round(i * step)]!));
  if (cheapest > 0) thinned.add(cheapest);
  return [...thinned].sort((a, b) => b - a);
}

function fill(
  component: PlannerComponent,
  room: Room,
  slotBytes: number,
  kind: Candidate['kind'],
  times: UnitTimes | null,
): Candidate | null {
  const units = component.units;
  const chosen = new Set<number>();
  let left = Math.min(
    room.bytes - room.slotCount * Math.max(slotBytes, room.minSlotBytes),
    room.residentLimit,
  );
  let enforced = 0;
  for (const unit of streamable(component)) {
    if (units[unit]!.bytes <= slotBytes) continue;
    chosen.add(unit);
    enforced += units[unit]!.bytes;
  }
  // Units above the slot size have to be resident even under a cap or in mode `none`.
  if (room.bytes - room.slotCount * Math.max(slotBytes, room.minSlotBytes) < enforced) return null;
  left -= enforced;
  const take = (group: readonly number[]): void => {
    for (const unit of group) {
      const bytes = units[unit]!.bytes;
      if (bytes > left) continue;
      chosen.add(unit);
      left -= bytes;
    }
  };
  if (kind === 'kept') {
    const kept = component.placementOrder.filter(
      (unit) => !chosen.has(unit) && units[unit]!.mark !== 'fixed',
    );
    take(byMark(component, kept));
  }
  for (const mark of ['hot', null, 'cold'] as const) {
    const group = streamable(component).filter((unit) => units[unit]!.mark === mark && !chosen.has(unit));
    for (const members of classes(component, group, kind, times)) takeClass(members);
  }
  function takeClass(members: number[]): void {
    const size = units[members[0]!]!.bytes;
    const equal = members.every((unit) => units[unit]!.bytes === size);
    if (!equal || component.kind === 'sequence') {
      take(component.kind === 'sequence' || kind === 'rule' ? members : spreadOrder(members));
      return;
    }
    take(spreadEvenly(members, Math.min(members.length, Math.max(0, Math.floor(left / size)))));
  }
  return summarise(component, kind, [...chosen]);
}

/**
 * Groups that are filled one after the other. Sequence: all units, in running order. Oneshot by rule: the largest
 * first, equal sizes together; by cost: those whose copy is hidden least per byte first.
 */
function classes(
  component: PlannerComponent,
  group: number[],
  kind: Candidate['kind'],
  times: UnitTimes | null,
): number[][] {
  if (group.length === 0) return [];
  if (component.kind === 'sequence') return [group];
  if (kind !== 'rule' && times !== null) return classesByValue(component, group, times);
  const bySize = new Map<number, number[]>();
  for (const unit of group) {
    const bytes = component.units[unit]!.bytes;
    const members = bySize.get(bytes);
    if (members) members.push(unit);
    else bySize.set(bytes, [unit]);
  }
  return [...bySize].sort(([a], [b]) => b - a).map(([, members]) => members);
}

function summarise(component: PlannerComponent, kind: Candidate['kind'], chosen: number[]): Candidate {
  let bytes = 0;
  let hotBytes = 0;
  let uploadBytes = 0;
  let droppedBytes = 0;
  for (const index of component.placementOrder) {
    const unit = component.units[index]!;
    if (unit.mark !== 'fixed') droppedBytes += unit.bytes;
  }
  for (const index of chosen) {
    const unit = component.units[index]!;
    bytes += unit.bytes;
    if (unit.mark === 'hot') hotBytes += unit.bytes;
    if (unit.placed) droppedBytes -= unit.bytes;
    else uploadBytes += unit.bytes;
  }
  return { kind, resident: chosen, bytes, hotBytes, uploadBytes, droppedBytes, passMs: null };
}

/** Hot before unmarked before cold; otherwise as given. */
function byMark(component: PlannerComponent, units: readonly number[]): number[] {
  const rank = (unit: number): number => {
    const mark = component.units[unit]!.mark;
    return mark === 'hot' ? 0 : mark === 'cold' ? 2 : 1;
  };
  return [...units].sort((a, b) => rank(a) - rank(b));
}

function settle(
  component: PlannerComponent,
  candidates: Candidate[],
  times: UnitTimes | null,
  passes: number,
): Residency {
  const byRule = (a: Candidate, b: Candidate): number =>
    b.hotBytes - a.hotBytes || b.bytes - a.bytes || a.uploadBytes - b.uploadBytes;
  const best = (list: Candidate[], order: (a: Candidate, b: Candidate) => number): Candidate | undefined =>
    list.length === 0 ? undefined : list.reduce((kept, next) => (order(next, kept) < 0 ? next : kept));
  const rule = best(
    candidates.filter(({ kind }) => kind === 'rule'),
    byRule,
  )!;
  let winner: Candidate;
  if (times === null) {
    winner = best(candidates, byRule)!;
  } else {
    // What is placed now and would be dropped counts for the upload that it cost.
    const cost = (c: Candidate): number => passes * c.passMs! + c.droppedBytes / times.copyRate;
    const order = (a: Candidate, b: Candidate): number => {
      const [x, y] = [cost(a), cost(b)];
      return Math.abs(x - y) > 1e-6 * Math.max(x, y) ? x - y : byRule(a, b);
    };
    winner = best(candidates, order)!;
  }
  const resident = placementSequence(component, winner);
  const inside = new Set(resident);
  const streamed = streamable(component).filter((unit) => !inside.has(unit));
  return {
    resident,
    streamed,
    slotBytes: streamed.reduce((bytes, unit) => Math.max(bytes, component.units[unit]!.bytes), 0),
    passMs: winner.passMs,
    rulePassMs: winner === rule ? null : rule.passMs,
    chosenBy: winner.kind,
  };
}

/** What is placed stays first, in its order; new units follow, hot ones first, spread where they are alike. */
function placementSequence(component: PlannerComponent, winner: Candidate): number[] {
  const chosen = new Set(winner.resident);
  const placed = component.placementOrder.filter((unit) => chosen.has(unit));
  const known = new Set(placed);
  const added = winner.resident.filter((unit) => !known.has(unit)).sort((a, b) => a - b);
  const ordered = component.kind === 'sequence' ? added : spreadOrder(added);
  return [...placed, ...byMark(component, ordered)];
}
