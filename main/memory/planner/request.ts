import { freeBytes, requested } from './budget.ts';
import { planBeforeNext } from './next-stage.ts';
import { mib, type Reason, reason } from './reasons.ts';
import { smallestTogether } from './smallest.ts';
import type { LoadRequest, Plan, PlannerState } from './types.ts';
import { carriedOut } from './what-follows.ts';

/** A stage of a request that is known in advance. */
export interface StageRequest extends LoadRequest {
  /** Length behind `workingBytes` (frames, tokens), where the stage could be split. */
  length?: number;
  /** Working memory for another length; grows with it. */
  workingAt?: (length: number) => number;
}

/** A stage whose working memory cannot fit, whatever gives up. Said before anything moves. */
export interface StageProblem {
  stage: string;
  neededBytes: number;
  /** What is left for working memory beside the smallest working set, when every idle component has gone. */
  possibleBytes: number;
  /** Longest length that fits; null where the stage cannot be split, 0 where no length fits. */
  largestLength: number | null;
  /** Equal parts that fit, and the length of each. */
  parts: number | null;
  partLength: number | null;
  reason: Reason;
}

export interface RequestPlan {
  stages: Plan[];
  /** Highest of the stages, not their sum. */
  peakBytes: number;
  problems: StageProblem[];
  /** Bytes uploaded over the whole request. */
  uploadBytes: number;
  /** What the request leaves behind. */
  after: PlannerState;
}

/** Plans every stage of a request, each on the state that the one before leaves, before the first byte moves. */
export function planRequest(state: PlannerState, stages: readonly StageRequest[]): RequestPlan {
  const plans: Plan[] = [];
  const problems: StageProblem[] = [];
  let now = state;
  for (const [index, stage] of stages.entries()) {
    const problem = problemOf(now, stage);
    if (problem !== null) problems.push(problem);
    const { plan } = planBeforeNext(now, stage, stages[index + 1] ?? null);
    plans.push(plan);
    now = carriedOut(now, plan);
  }
  return {
    stages: plans,
    after: now,
    peakBytes: Math.max(0, ...plans.map((plan) => plan.peakBytes)),
    problems,
    uploadBytes: plans.reduce(
      (bytes, plan) => bytes + plan.components.reduce((sum, { uploadBytes }) => sum + uploadBytes, 0),
      0,
    ),
  };
}

/** Working memory that is possible beside the stage's smallest working set once everything idle has left. */
export function possibleWorking(state: PlannerState, request: LoadRequest): number {
  const { device, policy } = state;
  const own = requested(state.components, request, device.id);
  const wanted = new Set(request.components);
  let possible = freeBytes(device, policy) - policy.reserveBytes;
  for (const component of state.components) {
    if (component.device !== device.id) continue;
    if (wanted.has(component.id) || !component.inUse) possible += component.loadedBytes;
  }
  const others = { planned: null, inUse: state.slotsInUse ?? null };
  return Math.max(0, possible - smallestTogether(own, policy.asyncOffload, others).bytes);
}

function problemOf(state: PlannerState, stage: StageRequest): StageProblem | null {
  const possible = possibleWorking(state, stage);
  if (stage.workingBytes <= possible) return null;
  const device = state.device.id;
  const needed = mib(stage.workingBytes);
  const base = { stage: stage.name, neededBytes: stage.workingBytes, possibleBytes: possible };
  const { length, workingAt } = stage;
  const largest =
    length === undefined || workingAt === undefined ? null : largestFitting(length, workingAt, possible);
  if (largest === null || length === undefined || largest < 1) {
    const why = reason('working_impossible', { name: stage.name, device, needed, possible: mib(possible) });
    return { ...base, largestLength: largest, parts: null, partLength: null, reason: why };
  }
  const parts = Math.ceil(length / largest);
  const partLength = Math.ceil(length / parts);
  const why = reason('working_too_large', {
    name: stage.name,
    device,
    needed,
    possible: mib(possible),
    largest,
    parts,
    part: partLength,
  });
  return { ...base, largestLength: largest, parts, partLength, reason: why };
}

/** Largest whole length whose working memory fits; 0 where none does. */
export function largestFitting(
  length: number,
  workingAt: (length: number) => number,
  possible: number,
): number {
  let fits = 0;
  let fails = Math.max(1, Math.floor(length)) + 1;
  while (fails - fits > 1) {
    const middle = Math.floor((fits + fails) / 2);
    if (workingAt(middle) <= possible) fits = middle;
    else fails = middle;
  }
  return fits;
}
