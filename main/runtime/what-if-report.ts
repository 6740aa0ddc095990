import { setImmediate } from 'node:timers/promises';
import type { WhatIfCurve, WhatIfModel } from '../contract/what-if.ts';
import { saidOf } from '../memory/planner/reasons.ts';
import type { StageRequest } from '../memory/planner/request.ts';
import type { PlannerState } from '../memory/planner/types.ts';
import { turningPoints, type WhatIf, type WhatIfAnswer, whatIfCurve } from '../memory/planner/what-if.ts';

/** What a model was asked for last, and where it stands: all that the planner needs. */
export interface Asked {
  model: string;
  state: PlannerState;
  stages: readonly StageRequest[];
  /** Reserve under a limit, which takes at most its share. */
  reserveAt: (limitBytes: number | null) => number;
}

/** The planner's answer in the words of the contract. */
export function reportOf(
  { model, state }: Asked,
  answer: WhatIfAnswer,
  last: { predictedMs: number; measuredMs: number } | null,
): WhatIfModel {
  return {
    model,
    resident_bytes: answer.residentBytes,
    streamed_bytes: answer.streamedBytes,
    peak_bytes: answer.peakBytes,
    over_budget_bytes: Math.ceil(answer.overBudgetBytes),
    seconds: seconds(answer.totalMs),
    resident_seconds: seconds(answer.computeMs),
    components: answer.components.map((component) => ({
      id: component.component,
      size_bytes: state.components.find(({ id }) => id === component.component)!.sizeBytes,
      resident_bytes: component.residentBytes,
      streamed_bytes: component.streamedBytes,
      units: component.residentUnits + component.streamedUnits,
      units_resident: component.residentUnits,
      partial: component.partial,
    })),
    gives_up: answer.givesUp.map(({ component, bytes }) => ({ id: component, bytes })),
    reasons: answer.reasons.map(saidOf),
    last_prediction:
      last === null
        ? null
        : { predicted_seconds: last.predictedMs / 1000, measured_seconds: last.measuredMs / 1000 },
  };
}

/** Other messages are read between two points. */
export async function curveOf(
  asked: Asked,
  change: WhatIf,
  steps: number,
): Promise<WhatIfCurve['curves'][number]> {
  const { model, state, stages, reserveAt } = asked;
  const { totalBytes } = state.device;
  const changeAt = (limitBytes: number): WhatIf => ({ ...change, reserveBytes: reserveAt(limitBytes) });
  const range = { fromBytes: totalBytes / steps, toBytes: totalBytes, steps };
  const { smallestBytes, wholeBytes } = await turningPoints(state, stages, changeAt, setImmediate);
  const points = await whatIfCurve(state, stages, range, changeAt, setImmediate);
  return {
    model,
    smallest_bytes: smallestBytes,
    whole_bytes: wholeBytes,
    points: points.map(({ limitBytes, answer }) => ({
      limit_bytes: limitBytes,
      resident_bytes: answer.residentBytes,
      streamed_bytes: answer.streamedBytes,
      seconds: seconds(answer.totalMs),
      fits: answer.overBudgetBytes === 0,
    })),
  };
}

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
