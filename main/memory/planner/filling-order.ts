import { byValue, classesByValue, type UnitTimes } from './cost.ts';
import { streamable } from './parts.ts';
import type { PlannerComponent } from './types.ts';

type Mark = 'hot' | 'cold' | null;

/** A component's units in every order in which a room may be filled; the same wherever they lie now. */
export interface FillingOrder {
  /** Units that may stream, in running order. */
  movable: readonly number[];
  /** Their sizes, from large to small. */
  sizes: readonly number[];
  /** In running order. */
  byMark: ReadonlyMap<Mark, readonly number[]>;
  /** The largest first, equal sizes together. Empty for a sequence, which is filled in running order. */
  bySize: ReadonlyMap<Mark, readonly (readonly number[])[]>;
  /** Those whose copy is hidden least per byte first; empty until measured. */
  byValue: ReadonlyMap<Mark, readonly number[]>;
}

export function fillingOrder(component: PlannerComponent, times: UnitTimes | null): FillingOrder {
  const movable = streamable(component);
  const byMark = new Map<Mark, number[]>();
  for (const unit of movable) {
    const mark = component.units[unit]!.mark as Mark;
    const members = byMark.get(mark);
    if (members) members.push(unit);
    else byMark.set(mark, [unit]);
  }
  const bySize = new Map<Mark, number[][]>();
  const values = new Map<Mark, number[]>();
  if (component.kind === 'oneshot') {
    for (const [mark, members] of byMark) {
      bySize.set(mark, classesBySize(component, members));
      if (times !== null) values.set(mark, byValue(component, members, times));
    }
  }
  const sizes = movable.map((unit) => component.units[unit]!.bytes).sort((a, b) => b - a);
  return { movable, sizes, byMark, bySize, byValue: values };
}

function classesBySize(component: PlannerComponent, group: readonly number[]): number[][] {
  const classes = new Map<number, number[]>();
  for (const unit of group) {
    const { bytes } = component.units[unit]!;
    const members = classes.get(bytes);
    if (members) members.push(unit);
    else classes.set(bytes, [unit]);
  }
  return [...classes].sort(([a], [b]) => b - a).map(([, members]) => members);
}

/**
 * Groups of units of this mark that are not `chosen` yet, to be filled one after the other: by size without `times`, by
 * time saved per byte with them.
 */
export function* classesOf(
  component: PlannerComponent,
  ask: { order: FillingOrder; mark: Mark; chosen: Uint8Array; times: UnitTimes | null },
): Generator<readonly number[]> {
  const { order, mark, chosen, times } = ask;
  const open = (units: readonly number[]): number[] => units.filter((unit) => !chosen[unit]);
  if (times !== null) {
    yield* classesByValue(component, open(order.byValue.get(mark) ?? []), times);
    return;
  }
  for (const members of order.bySize.get(mark) ?? []) {
    const left = open(members);
    if (left.length > 0) yield left;
  }
}
