import { passTime } from './pipeline.ts';
import type { PlannerComponent } from './types.ts';

/** Measured times of a component's units, milliseconds, and the rate (bytes per millisecond) behind the copies. */
export interface UnitTimes {
  computeMs: Float64Array;
  copyMs: Float64Array;
  copyRate: number;
}

/** Null until every unit and the copy rate have been measured. */
export function unitTimes(component: PlannerComponent, copyRate: number | null): UnitTimes | null {
  if (copyRate === null || copyRate <= 0) return null;
  const count = component.units.length;
  const computeMs = new Float64Array(count);
  const copyMs = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    const unit = component.units[index]!;
    if (unit.computeMs === null) return null;
    computeMs[index] = unit.computeMs;
    copyMs[index] = unit.bytes / copyRate;
  }
  return { computeMs, copyMs, copyRate };
}

/** One steady pass with these units (and those marked fixed) resident, by the pipeline model. */
export function timeOf(
  component: PlannerComponent,
  resident: Iterable<number>,
  times: UnitTimes,
  slots: { slotCount: number; prefetch: boolean },
): number {
  const streamed = new Uint8Array(component.units.length);
  for (const [index, { mark }] of component.units.entries()) if (mark !== 'fixed') streamed[index] = 1;
  for (const unit of resident) streamed[unit] = 0;
  return passTime(
    { computeMs: times.computeMs, copyMs: times.copyMs, streamed },
    { count: slots.slotCount, prefetch: slots.prefetch },
  );
}

/** Values within this share of a whole copy count as equal, so that noise in the measuring tears no class apart. */
const sameValue = 0.1;

/** Copy time that the unit's own compute cannot hide, per byte: what a resident byte of it saves. */
function savedPerByte(component: PlannerComponent, times: UnitTimes, unit: number): number {
  return (times.copyMs[unit]! - times.computeMs[unit]!) / component.units[unit]!.bytes;
}

/** Most valuable first. */
export function byValue(component: PlannerComponent, group: readonly number[], times: UnitTimes): number[] {
  const values = component.units.map((_, unit) => savedPerByte(component, times, unit));
  return [...group].sort((a, b) => values[b]! - values[a]! || a - b);
}

/** Groups units in the order of `byValue`: units of one group are alike to the planner and are spread evenly. */
export function classesByValue(
  component: PlannerComponent,
  ordered: readonly number[],
  times: UnitTimes,
): number[][] {
  const width = sameValue / times.copyRate;
  const classes: number[][] = [];
  let top = Number.POSITIVE_INFINITY;
  for (const unit of ordered) {
    const value = savedPerByte(component, times, unit);
    if (classes.length === 0 || top - value > width) {
      classes.push([unit]);
      top = value;
    } else {
      classes.at(-1)!.push(unit);
    }
  }
  for (const members of classes) members.sort((a, b) => a - b);
  return classes;
}
