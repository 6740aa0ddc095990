import { planLoad } from './planner/plan.ts';
import type { LoadRequest, Plan, PlannerState } from './planner/types.ts';

/** What one decision was made from; the planner makes the same plan of it again. */
export interface PlanRecord {
  state: PlannerState;
  request: LoadRequest;
}

/** The latest decisions with everything that they were made from: exported with the trace, replayed in tests. */
export class PlanLog {
  readonly #records: PlanRecord[] = [];
  readonly #capacity: number;

  constructor(capacity = 64) {
    this.#capacity = capacity;
  }

  add(record: PlanRecord): void {
    this.#records.push(record);
    if (this.#records.length > this.#capacity) this.#records.shift();
  }

  records(): PlanRecord[] {
    return [...this.#records];
  }
}

/** Plans of an exported log, made again by this version of the planner. */
export function replay(records: readonly PlanRecord[]): Plan[] {
  return records.map(({ state, request }) => planLoad(state, request));
}
