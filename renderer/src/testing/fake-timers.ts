interface Timer {
  at: number;
  every: number | null;
  callback: () => void;
}

/** Timers and a clock that only move when told. */
export class FakeTimers {
  time = 1_000_000;
  #next = 1;
  readonly #timers = new Map<number, Timer>();

  now = (): number => this.time;
  setTimeout = (callback: () => void, milliseconds: number): number =>
    this.#add({ at: this.time + milliseconds, every: null, callback });
  setInterval = (callback: () => void, milliseconds: number): number =>
    this.#add({ at: this.time + milliseconds, every: milliseconds, callback });
  clearTimeout = (id: number): void => {
    this.#timers.delete(id);
  };
  clearInterval = (id: number): void => {
    this.#timers.delete(id);
  };

  get pending(): number {
    return this.#timers.size;
  }

  /** Fires what is due, in order, and lets promises settle in between. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, timer]) => timer.at <= end)
        .sort((a, b) => a[1].at - b[1].at)[0];
      if (due === undefined) break;
      const [id, timer] = due;
      this.time = timer.at;
      if (timer.every === null) this.#timers.delete(id);
      else timer.at += timer.every;
      timer.callback();
      await settle();
    }
    this.time = end;
    await settle();
  }

  #add(timer: Timer): number {
    const id = this.#next++;
    this.#timers.set(id, timer);
    return id;
  }
}

/** Lets everything that is already promised happen. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
