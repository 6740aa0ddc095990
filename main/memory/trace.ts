import type { Reason } from './planner/reasons.ts';

/** One entry of the event log: allocations, copies, decisions and their reasons. Compact: kept in memory, exported on demand. */
export interface TraceEvent {
  /** Grows by one with each event. */
  id: number;
  /** Milliseconds since the epoch. */
  at: number;
  kind: TraceKind;
  device: string;
  /** `model:component` or the stage's name. */
  subject: string;
  /** Signed where memory is meant: placed > 0, given up < 0. */
  bytes: number;
  /** Units moved, in order; absent where none is meant. */
  units?: number[];
  /** Decision in words; `code` and `params` say it in every language. */
  text?: string;
  code?: Reason['code'];
  params?: Reason['params'];
  ms?: number;
}

export type TraceKind =
  | 'plan'
  | 'place'
  | 'give_up'
  | 'slots'
  | 'trim'
  | 'pin'
  | 'stage_begin'
  | 'stage_end'
  | 'out_of_memory'
  | 'retry'
  | 'fallback'
  | 'wait'
  | 'desktop'
  | 'calibration'
  | 'load'
  | 'unload'
  | 'warning';

/** A ring of the latest events, and whoever listens. */
export class Trace {
  readonly #events: TraceEvent[] = [];
  readonly #listeners = new Set<(event: TraceEvent) => void>();
  readonly #capacity: number;
  readonly #now: () => number;
  #next = 1;
  #start = 0;

  constructor(options: { capacity?: number; now?: () => number } = {}) {
    this.#capacity = options.capacity ?? 4096;
    this.#now = options.now ?? Date.now;
  }

  /** `why`: the decision, in place of a `text` of its own. */
  add({ why, ...event }: Omit<TraceEvent, 'id' | 'at'> & { why?: Reason }): void {
    const entry: TraceEvent = { id: this.#next++, at: this.#now(), ...event, ...why };
    if (this.#events.length < this.#capacity) this.#events.push(entry);
    else {
      this.#events[this.#start] = entry;
      this.#start = (this.#start + 1) % this.#capacity;
    }
    for (const listener of this.#listeners) listener(entry);
  }

  /** Oldest first; `after`: only events with a larger id. */
  events(after = 0): TraceEvent[] {
    const ordered = [...this.#events.slice(this.#start), ...this.#events.slice(0, this.#start)];
    return after === 0 ? ordered : ordered.filter(({ id }) => id > after);
  }

  /** Returns the function that unsubscribes. */
  on(listener: (event: TraceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
