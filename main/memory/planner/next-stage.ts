import { planLoad } from './plan.ts';
import type { LoadRequest, Plan, PlannerState } from './types.ts';
import { carriedOut } from './what-follows.ts';

export interface PlanBeforeNext {
  plan: Plan;
  /** What it was made from: slots of the next stage are in it. */
  request: LoadRequest;
  /** The next stage on what this one leaves; null where none is known. */
  next: Plan | null;
}

/** Plans a stage with a view to the one after it, whose slots are made now where memory is left over. */
export function planBeforeNext(
  state: PlannerState,
  request: LoadRequest,
  following: LoadRequest | null,
): PlanBeforeNext {
  const plan = planLoad(state, request);
  if (following === null) return { plan, request, next: null };
  const next = planLoad(carriedOut(state, plan), following);
  // A stage that copies nothing ahead gains nothing by slots before it begins.
  if (!next.slots?.prefetch) return { plan, request, next };
  const wider = { ...request, slotsToCome: next.slots };
  const widerPlan = planLoad(state, wider);
  return { plan: widerPlan, request: wider, next: planLoad(carriedOut(state, widerPlan), following) };
}

/** A unit of a component, by the component's id. */
export type UnitToCome = readonly [component: string, unit: number];

/**
 * What streams from now on, in the order in which components and units are named: this stage's units, then the first of
 * the next one's, where its slots are the same. Nothing where slots copy nothing ahead.
 */
export function unitsToCome({ plan, request, next }: PlanBeforeNext): UnitToCome[] {
  const { slotsKept: slots } = plan;
  if (slots === null || !slots.prefetch) return [];
  const own = streamedUnits(plan, request.components);
  if (next === null || next.slots === null || next.slotsKept?.bytes !== slots.bytes) return own;
  return [...own, ...streamedUnits(next).slice(0, slots.count)];
}

function streamedUnits(plan: Plan, order?: readonly string[]): UnitToCome[] {
  const components = [...plan.components];
  if (order !== undefined) {
    components.sort((a, b) => order.indexOf(a.component) - order.indexOf(b.component));
  }
  return components.flatMap(({ component, streamed }) =>
    streamed.map((unit): UnitToCome => [component, unit]),
  );
}
