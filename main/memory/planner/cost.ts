import { type PipelineSlots, passTime } from './pipeline.ts';
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

/** One steady pass with these units resident, by the pipeline model. */
export function timeOf(
  component: PlannerComponent,
  resident: readonly number[],
  times: UnitTimes,
  slots: { slotCount: number; prefetch: boolean },
): number {
  const inside = new Set(resident);
  const pipelineSlots: PipelineSlots = { count: slots.slotCount, prefetch: slots.prefetch };
  const units = component.units.map((unit, index) => ({
    computeMs: times.computeMs[index]!,
    copyMs: times.copyMs[index]!,
    streamed: unit.mark !== 'fixed' && !inside.has(index),
  }));
  return passTime(units, pipelineSlots);
}

/** Values within this share of a whole copy count as equal, so that noise in the measuring tears no class apart. */
const sameValue = 0.1;

/**
 * Groups units by what a resident byte saves: copy time that the unit's own compute cannot hide, per byte; most
 * valuable first. Units of one group are alike to the planner and are spread evenly.
 */
export function classesByValue(
  component: PlannerComponent,
  group: readonly number[],
  times: UnitTimes,
): number[][] {
  const value = (unit: number): number =>
    (times.copyMs[unit]! - times.computeMs[unit]!) / component.units[unit]!.bytes;
  const ordered = [...group].sort((a, b) => value(b) - value(a) || a - b);
  const width = sameValue / times.copyRate;
  const classes: number[][] = [];
  let top = Number.POSITIVE_INFINITY;
  for (const unit of ordered) {
    if (classes.length === 0 || top - value(unit) > width) {
      classes.push([unit]);
      top = value(unit);
    } else {
      classes.at(-1)!.push(unit);
    }
  }
  return classes.map((members) => members.sort((a, b) => a - b));
}
