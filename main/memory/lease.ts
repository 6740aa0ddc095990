import type { DeviceBook } from './device-book.ts';
import { fixedPart } from './model-handle.ts';
import type { ModelManager } from './model-manager.ts';
import { givingUpOrder, leavingOrder } from './planner/giving-up.ts';
import { mib, reason } from './planner/reasons.ts';
import { MiB } from './policy.ts';

/** How long memory that another program had taken stays free for it after it was given back. */
export const holdMs = 20_000;
/** What the driver cannot explain below this is rounding. */
const spillThreshold = 64 * MiB;

/**
 * A lease with the desktop: another program that grows is noticed from our ledger against the driver's number, idle
 * components leave for it at once and busy ones at the next border of a stage; what left comes back only after a hold
 * time, so that two programs do not take turns. Called a few times a second, never while units move.
 */
export class DesktopLease {
  readonly #manager: ModelManager;
  readonly #busy = new Set<DeviceBook>();
  readonly #spilled = new Set<DeviceBook>();

  constructor(manager: ModelManager) {
    this.#manager = manager;
  }

  /** Looks at every device; resolves when idle components have left for others. */
  async tick(now: number): Promise<void> {
    for (const book of this.#manager.books) {
      if (book.device.isHost || this.#busy.has(book)) continue;
      book.noteForeign(now, holdMs);
      this.#noteSpill(book);
      const short = this.#shortOf(book);
      if (short <= 0) continue;
      this.#busy.add(book);
      try {
        await book.lock.run(() => this.#yield(book));
      } finally {
        this.#busy.delete(book);
      }
    }
  }

  /** Bytes by which the reserve for others is used up, not counting what our caches could give. */
  #shortOf(book: DeviceBook): number {
    const { freeBytes } = book.device.memory();
    return book.reserveBytes(this.#manager.policy) - freeBytes;
  }

  async #yield(book: DeviceBook): Promise<void> {
    if (book.foreignGrowth <= 0) return;
    if (this.#shortOf(book) > 0) await book.trim();
    const state = this.#manager.state(book);
    for (const victim of givingUpOrder(state.components, book.id, new Set())) {
      const short = this.#shortOf(book);
      if (short <= 0) return;
      const handle = this.#manager.handle(victim.id);
      let bytes = 0;
      for (const unit of [...leavingOrder(victim), ...victim.placementOrder.toReversed(), fixedPart]) {
        if (this.#shortOf(book) <= 0) break;
        bytes += await handle.giveUpUnit(unit);
      }
      const why = reason('gives_up_desktop', {
        component: victim.id,
        device: book.id,
        bytes: mib(bytes),
        short: mib(short),
      });
      this.#manager.trace.add({
        kind: 'desktop',
        device: book.id,
        subject: victim.id,
        bytes: -bytes,
        why,
      });
    }
  }

  /** Where allocation never fails but spills into system memory, the driver's numbers no longer add up. */
  #noteSpill(book: DeviceBook): void {
    const { totalBytes, freeBytes, held } = book.device.memory();
    const own = held.weights + held.slots + held.compute + held.io + held.state;
    const spilled = own - (totalBytes - freeBytes);
    if (spilled < spillThreshold) {
      this.#spilled.delete(book);
      return;
    }
    if (this.#spilled.has(book)) return;
    this.#spilled.add(book);
    this.#manager.trace.add({
      kind: 'warning',
      device: book.id,
      subject: book.id,
      bytes: spilled,
      why: reason('spilled', { bytes: mib(spilled), device: book.id }),
    });
  }
}
