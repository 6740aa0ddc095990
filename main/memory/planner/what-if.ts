import type { VramMode } from '../policy.ts';
import type { Reason } from './reasons.ts';
import { planRequest, type RequestPlan, type StageRequest } from './request.ts';
import type { PartialReason, Plan, PlannerState } from './types.ts';

/** "Limit X, mode Y, these models pinned": what is not named stays as it is. */
export interface WhatIf {
  limitBytes?: number | null;
  mode?: VramMode;
  reserveBytes?: number;
  residency?: 'rule' | 'cost';
  pinned?: readonly string[];
}

/** A component in the stage in which most of it streams. */
export interface WhatIfComponent {
  component: string;
  residentBytes: number;
  streamedBytes: number;
  residentUnits: number;
  streamedUnits: number;
  partial: PartialReason | null;
}

export interface WhatIfAnswer {
  /** Bytes of weights on the device in the stage that has most of them. */
  residentBytes: number;
  /** Bytes that stream in one pass through each stage. */
  streamedBytes: number;
  peakBytes: number;
  /** Bytes that other components would give up. */
  givenUpBytes: number;
  givesUp: { component: string; bytes: number }[];
  /** Predicted time of the request; null until its components have been measured. */
  totalMs: number | null;
  /** The same with everything resident. */
  computeMs: number | null;
  components: WhatIfComponent[];
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
  return answer(first, planRequest(first.after, stages), stages);
}

/** What else changes with the limit: a smaller one keeps a smaller reserve, say. */
export type ChangeAt = (limitBytes: number) => WhatIf;
/** Awaited between two answers, each of which may take some milliseconds. */
export type Pause = () => Promise<unknown>;

/** The same at `steps` limits from `fromBytes` to `toBytes`: the curve under the slider. */
export async function whatIfCurve(
  state: PlannerState,
  stages: readonly StageRequest[],
  range: { fromBytes: number; toBytes: number; steps: number },
  changeAt: ChangeAt,
  pause: Pause,
): Promise<{ limitBytes: number; answer: WhatIfAnswer }[]> {
  const points: { limitBytes: number; answer: WhatIfAnswer }[] = [];
  for (let step = 0; step < range.steps; step++) {
    const share = step / Math.max(1, range.steps - 1);
    const limitBytes = Math.round(range.fromBytes + share * (range.toBytes - range.fromBytes));
    points.push({ limitBytes, answer: whatIf(state, stages, { ...changeAt(limitBytes), limitBytes }) });
    await pause();
  }
  return points;
}

/**
 * The least limits, within 1/4096 of the device, at which the request fits and at which nothing of it streams; null where
 * even the whole device is too small.
 */
export async function turningPoints(
  state: PlannerState,
  stages: readonly StageRequest[],
  changeAt: ChangeAt,
  pause: Pause,
): Promise<{ smallestBytes: number | null; wholeBytes: number | null }> {
  const plansAt = (limitBytes: number): Plan[] =>
    planRequest(changed(state, { ...changeAt(limitBytes), limitBytes }), stages).stages;
  const least = async (holds: (plans: readonly Plan[]) => boolean): Promise<number | null> => {
    let enough = state.device.totalBytes;
    if (!holds(plansAt(enough))) return null;
    let tooLittle = 0;
    while (enough - tooLittle > state.device.totalBytes / 4096) {
      const middle = Math.round((tooLittle + enough) / 2);
      if (holds(plansAt(middle))) enough = middle;
      else tooLittle = middle;
      await pause();
    }
    return enough;
  };
  const fits = (plans: readonly Plan[]): boolean =>
    plans.every(({ overBudgetBytes }) => overBudgetBytes === 0);
  const resident = (plans: readonly Plan[]): boolean =>
    plans.every(({ components }) => components.every(({ streamed }) => streamed.length === 0));
  return {
    smallestBytes: await least(fits),
    wholeBytes: await least((plans) => fits(plans) && resident(plans)),
  };
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

function answer(first: RequestPlan, steady: RequestPlan, stages: readonly StageRequest[]): WhatIfAnswer {
  let residentBytes = 0;
  let streamedBytes = 0;
  let totalMs: number | null = 0;
  let computeMs: number | null = 0;
  for (const [index, { components, prediction }] of steady.stages.entries()) {
    const resident = components.reduce((bytes, component) => bytes + component.residentBytes, 0);
    residentBytes = Math.max(residentBytes, resident);
    streamedBytes += components.reduce((bytes, component) => bytes + component.streamedBytes, 0);
    totalMs = totalMs === null || prediction === null ? null : totalMs + prediction.totalMs;
    const passes = stages[index]?.passes ?? 1;
    computeMs = computeMs === null || prediction === null ? null : computeMs + passes * prediction.computeMs;
  }
  return {
    residentBytes,
    streamedBytes,
    peakBytes: steady.peakBytes,
    givenUpBytes: first.stages.reduce((bytes, stage) => bytes + stage.budget.givenBytes, 0),
    givesUp: givesUpOf(first),
    totalMs,
    computeMs,
    components: componentsOf(steady),
    overBudgetBytes: Math.max(0, ...first.stages.map((stage) => stage.overBudgetBytes)),
    reasons: [
      ...first.problems.map((problem) => problem.reason),
      ...first.stages.flatMap((stage) => stage.reasons),
    ],
  };
}

function givesUpOf(first: RequestPlan): WhatIfAnswer['givesUp'] {
  const bytes = new Map<string, number>();
  for (const step of first.stages.flatMap(({ giveUps }) => giveUps))
    bytes.set(step.component, (bytes.get(step.component) ?? 0) + step.bytes);
  return [...bytes].map(([component, sum]) => ({ component, bytes: sum }));
}

function componentsOf(steady: RequestPlan): WhatIfComponent[] {
  const worst = new Map<string, WhatIfComponent>();
  for (const plan of steady.stages.flatMap(({ components }) => components)) {
    const { component, residentBytes, streamedBytes, partial } = plan;
    if ((worst.get(component)?.streamedBytes ?? -1) >= streamedBytes) continue;
    const units = { residentUnits: plan.resident.length, streamedUnits: plan.streamed.length };
    worst.set(component, { component, residentBytes, streamedBytes, ...units, partial });
  }
  return [...worst.values()];
}
