import type { VramMode } from '../policy.ts';
import { fixedBytesOf } from './parts.ts';
import type { PlannerComponent, PlannerState } from './types.ts';

/** Most bytes of units that may be resident: none, the hot ones, those under the cap, or all. */
export function residentLimit(component: PlannerComponent, state: PlannerState): number {
  const { mode } = state.policy;
  const fixed = fixedBytesOf(component);
  let limit = component.sizeBytes - fixed;
  if (mode === 'none') limit = 0;
  if (mode === 'low') {
    limit = component.units.reduce((bytes, unit) => bytes + (unit.mark === 'hot' ? unit.bytes : 0), 0);
  }
  if (component.capBytes !== null) limit = Math.min(limit, Math.max(0, component.capBytes - fixed));
  return limit;
}

/** Units with which a mode fills the room that is left, in this order. */
export function fillable(mode: VramMode): readonly ('hot' | null | 'cold')[] {
  if (mode === 'none') return [];
  return mode === 'low' ? ['hot'] : ['hot', null, 'cold'];
}

/** Copies that exist at once: one for a sequence, whose compute hides no copy; else one more than are copied ahead. */
export function slotCount(component: PlannerComponent, asyncOffload: number): number {
  return component.kind === 'sequence' ? 1 : asyncOffload + 1;
}
