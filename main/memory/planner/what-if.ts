import type { VramMode } from '../policy.ts';
import type { Reason } from './reasons.ts';
import { planRequest, type RequestPlan, type StageRequest } from './request.ts';
import type { PlannerState } from './types.ts';

/** "Limit X, mode Y, these models pinned": what is not named stays as it is. */
export interface WhatIf {
  limitBytes?: number | null;
  mode?: VramMode;
  reserveBytes?: number;
  residency?: 'rule' | 'cost';
  pinned?: readonly string[];
}

export interface WhatIfAnswer {
  /** Bytes of weights on the device in the stage that has most of them. */
  residentBytes: number;
  /** Bytes that stream in one pass through each stage. */
  streamedBytes: number;
  peakBytes: number;
  /** Bytes that other components would give up. */
  givenUpBytes: number;
  /** Predicted time of the request; null until its components have been measured. */
  totalMs: number | null;
  /** The request does not fit even at its smallest working sets. */
  overBudgetBytes: number;
  reasons: Reason[];
}

/** The planner's answer to a change of policy; nothing moves. */
export function whatIf(state: PlannerState, stages: readonly StageRequest[], change: WhatIf): WhatIfAnswer {
  return answer(planRequest(changed(state, change), stages));
}

/** The same at `steps` limits from `fromBytes` to `toBytes`: the curve under the slider. */
export function whatIfCurve(
  state: PlannerState,
  stages: readonly StageRequest[],
  range: { fromBytes: number; toBytes: number; steps: number },
  change: WhatIf = {},
): { limitBytes: number; answer: WhatIfAnswer }[] {
  const steps = Math.max(2, range.steps);
  return Array.from({ length: steps }, (_, step) => {
    const share = step / (steps - 1);
    const limitBytes = Math.round(range.fromBytes + share * (range.toBytes - range.fromBytes));
    return { limitBytes, answer: whatIf(state, stages, { ...change, limitBytes }) };
  });
}

function changed(state: PlannerState, change: WhatIf): PlannerState {
  const { limitBytes, mode, reserveBytes, residency, pinned } = change;
  return {
    ...state,
    policy: {
      ...state.policy,
      ...(limitBytes === undefined ? {} : { limitBytes }),
      ...(mode === undefined ? {} : { mode }),
      ...(reserveBytes === undefined ? {} : { reserveBytes }),
      ...(residency === undefined ? {} : { residency }),
    },
    components:
      pinned === undefined
        ? state.components
        : state.components.map((component) => ({ ...component, pinned: pinned.includes(component.model) })),
  };
}

function answer(plan: RequestPlan): WhatIfAnswer {
  let residentBytes = 0;
  let streamedBytes = 0;
  let givenUpBytes = 0;
  let overBudgetBytes = 0;
  let totalMs: number | null = 0;
  const reasons: Reason[] = plan.problems.map((problem) => problem.reason);
  for (const stage of plan.stages) {
    residentBytes = Math.max(
      residentBytes,
      stage.components.reduce((bytes, component) => bytes + component.residentBytes, 0),
    );
    streamedBytes += stage.components.reduce((bytes, component) => bytes + component.streamedBytes, 0);
    givenUpBytes += stage.budget.givenBytes;
    overBudgetBytes = Math.max(overBudgetBytes, stage.overBudgetBytes);
    totalMs = totalMs === null || stage.prediction === null ? null : totalMs + stage.prediction.totalMs;
    reasons.push(...stage.reasons);
  }
  return {
    residentBytes,
    streamedBytes,
    peakBytes: plan.peakBytes,
    givenUpBytes,
    totalMs,
    overBudgetBytes,
    reasons,
  };
}
