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

/**
 * The planner's answer to a change of policy; nothing moves. Sizes and times are those of the requests to come, when the
 * first one after the change has moved what has to move; what gives up, and why, is said of that first one.
 */
export function whatIf(state: PlannerState, stages: readonly StageRequest[], change: WhatIf): WhatIfAnswer {
  const first = planRequest(changed(state, change), stages);
  return answer(first, planRequest(first.after, stages));
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

function answer(first: RequestPlan, steady: RequestPlan): WhatIfAnswer {
  let residentBytes = 0;
  let streamedBytes = 0;
  let totalMs: number | null = 0;
  for (const { components, prediction } of steady.stages) {
    const resident = components.reduce((bytes, component) => bytes + component.residentBytes, 0);
    residentBytes = Math.max(residentBytes, resident);
    streamedBytes += components.reduce((bytes, component) => bytes + component.streamedBytes, 0);
    totalMs = totalMs === null || prediction === null ? null : totalMs + prediction.totalMs;
  }
  return {
    residentBytes,
    streamedBytes,
    peakBytes: steady.peakBytes,
    givenUpBytes: first.stages.reduce((bytes, stage) => bytes + stage.budget.givenBytes, 0),
    totalMs,
    overBudgetBytes: Math.max(0, ...first.stages.map((stage) => stage.overBudgetBytes)),
    reasons: [
      ...first.problems.map((problem) => problem.reason),
      ...first.stages.flatMap((stage) => stage.reasons),
    ],
  };
}
