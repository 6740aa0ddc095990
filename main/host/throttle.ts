/**
 * Lets `send` run at most once per interval: the first value at once, later ones when the interval is over, and of
 * those only the last. Nothing new is ever lost: a value waits at most one interval.
 */
export class Throttle<T> {
  #timer: NodeJS.Timeout | null = null;
  #waiting: { value: T } | null = null;

  constructor(
    private readonly send: (value: T) => void,
    private readonly intervalMs: number,
  ) {}

  push(value: T): void {
    if (this.#timer) {
      this.#waiting = { value };
      return;
    }
    this.#start();
    this.send(value);
  }

  /** Send without waiting: for changes that a person must see at once. */
  now(value: T): void {
    this.cancel();
    this.#start();
    this.send(value);
  }

  /** Forget what waits. */
  cancel(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#waiting = null;
  }

  #start(): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting) this.push(waiting.value);
    }, this.intervalMs);
    this.#timer.unref();
  }
}
