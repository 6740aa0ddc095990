import type { CancelToken } from '../../native/addon.ts';
import type { DeviceBook } from './device-book.ts';
import { mib, type Reason, reason } from './planner/reasons.ts';

/** Longest time a request waits for another one's memory; then it tries anyway. */
export const maxWaitMs = 10 * 60_000;
const cancelPollMs = 100;

export interface WaitOptions {
  book: DeviceBook;
  /** What waits, in words, and the request it belongs to. */
  name: string;
  owner: string;
  priority: number;
  signal?: CancelToken;
  maxMs?: number;
  onWait?: (why: Reason) => void;
}

/**
 * A request whose smallest working set does not fit beside another request waits until that one releases memory. It
 * ends on that event, at the limit, or when it is cancelled; never after a fixed pause.
 */
export class RoomWait {
  readonly #options: WaitOptions;
  readonly #start = performance.now();
  #told = false;
  #over = false;
  #released: ReturnType<DeviceBook['nextRelease']> | null = null;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** Another request holds components here, and there is time left to wait for it: its end is listened for from now on. */
  shouldWait(shortBytes: () => number): boolean {
    const waits = !this.#over && this.#holder() !== null && shortBytes() > 0;
    if (waits) this.#released ??= this.#options.book.nextRelease(this.#options.priority);
    return waits;
  }

  get seconds(): number {
    return (performance.now() - this.#start) / 1000;
  }

  /** Resolves when another stage has ended; then the plan has to be made anew. Resolves the reason at the limit. */
  async next(): Promise<Reason | null> {
    const { book, signal, maxMs = maxWaitMs, priority } = this.#options;
    const released = this.#released ?? book.nextRelease(priority);
    this.#released = null;
    const holder = this.#holder();
    if (!this.#told && holder !== null) {
      this.#told = true;
      this.#options.onWait?.(
        reason('waiting', {
          name: this.#options.name,
          device: book.id,
          holder: holder.name,
          held: mib(
            holder.handles.reduce((bytes, handle) => bytes + handle.loadedBytes, holder.workingBytes),
          ),
        }),
      );
    }
    const left = maxMs - (performance.now() - this.#start);
    if (left <= 0) {
      released.cancel();
      return this.#giveUpWaiting(holder?.name ?? '');
    }
    let poll: NodeJS.Timeout | undefined;
    let limit: NodeJS.Timeout | undefined;
    try {
      const stopped = new Promise<void>((resolve) => {
        limit = setTimeout(resolve, left);
        if (signal === undefined) return;
        poll = setInterval(() => {
          if (signal.cancelled) resolve();
        }, cancelPollMs);
      });
      await Promise.race([released.promise, stopped]);
    } finally {
      clearTimeout(limit);
      clearInterval(poll);
      released.cancel();
    }
    return null;
  }

  #giveUpWaiting(holder: string): Reason {
    this.#over = true;
    return reason('wait_over', { name: this.#options.name, seconds: Math.round(this.seconds), holder });
  }

  #holder() {
    for (const stage of this.#options.book.active) if (stage.owner !== this.#options.owner) return stage;
    return null;
  }
}
