import { timeOf, unitTimes } from './cost.ts';
import type { ComponentShare } from './distribute.ts';
import { slotCount } from './limits.ts';
import type { PlannerState, Prediction } from './types.ts';

/** Time of a stage by the pipeline model; null until everything in it has been measured. */
export function predict(
  shares: readonly ComponentShare[],
  state: PlannerState,
  passes: number,
  uploadBytes: number,
): Prediction | null {
  const { copyRate } = state.device;
  if (copyRate === null || copyRate <= 0) return null;
  let passMs = 0;
  let computeMs = 0;
  for (const share of shares) {
    const times = unitTimes(share.component, copyRate);
    if (times === null || share.computeMs === null) return null;
    const count = slotCount(share.component, state.policy.asyncOffload);
    passMs += timeOf(share.component, share.resident, times, { slotCount: count, prefetch: count > 1 });
    computeMs += share.computeMs;
  }
  const uploadMs = uploadBytes / copyRate;
  return { uploadMs, passMs, totalMs: uploadMs + passes * passMs, computeMs };
}
