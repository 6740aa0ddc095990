import { setImmediate as nextTurn } from 'node:timers/promises';

/** Gives the event loop its turn, now and then, while something long is computed on its thread. */
export class Turns {
  readonly #patienceMs: number;
  #last = performance.now();

  /** @param patienceMs longest time between two turns, ms */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  async take(): Promise<void> {
    if (performance.now() - this.#last < this.#patienceMs) return;
    await nextTurn();
    this.#last = performance.now();
  }
}
