import type { Partial } from '../contract/speech.ts';
import type { ModelHandle } from './model-handle.ts';
import type { ComponentPlan, PartialReason, Plan } from './planner/types.ts';
import { MiB } from './policy.ts';

/** MiB with three decimals: a few hundred KB still count on a device of a few MB. */
export function mebibytes(bytes: number): number {
  return Math.round((bytes / MiB) * 1000) / 1000;
}

/** Why a component of a stage is only partly on the device, and what was weighed. */
export function partialOf(handle: ModelHandle, plan: Plan, component: ComponentPlan): Partial | null {
  if (component.partial === null) return null;
  return partial(handle, component.partial, plan, null);
}

/** The same for a component that gave up memory for another one. */
export function gaveUpFor(victim: ModelHandle, plan: Plan): Partial {
  return partial(victim, 'gave up for another component', plan, plan.components[0]?.component ?? plan.name);
}

function partial(handle: ModelHandle, reason: PartialReason, plan: Plan, forWhom: string | null): Partial {
  return {
    reason,
    mode: plan.mode,
    free_mb: mebibytes(Math.max(0, plan.budget.freeBytes)),
    working_mb: mebibytes(plan.budget.workingBytes),
    reserve_mb: mebibytes(plan.budget.reserveBytes),
    loaded_mb: mebibytes(handle.loadedBytes),
    size_mb: mebibytes(handle.sizeBytes),
    gave_up_for: forWhom,
  };
}
