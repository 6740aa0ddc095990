import type { CancelToken } from '../../native/addon.ts';
import { fixedPart, type ModelHandle } from './model-handle.ts';

/** A unit's host side that is page-locked. */
interface Pin {
  bytes: number;
  /** Copied from in every pass; else a host copy, kept for the next time that the unit is placed. */
  streams: boolean;
}

/**
 * Page-locked host memory, within a budget. First comes what streams; what that leaves goes to the host copies of
 * components that are whole on their device, and is taken back, least recently used first, when more streams.
 */
export class PinBudget {
  readonly #pins = new Map<ModelHandle, Map<number, Pin>>();
  #bytes = 0;
  /** What a request was allowed when it began holds no longer than the settings do. */
  #limit = Number.POSITIVE_INFINITY;

  get bytes(): number {
    return this.#bytes;
  }

  pinnedBytes(handle: ModelHandle): number {
    let bytes = 0;
    for (const pin of this.#pinsOf(handle).values()) bytes += pin.bytes;
    return bytes;
  }

  /** Whether what the component streams now is all pinned (true) or not at all (false); null: some of it, or nothing streams. */
  sourceOf(handle: ModelHandle, streamed: readonly number[]): boolean | null {
    const pins = this.#pinsOf(handle);
    const count = streamed.filter((unit) => pins.has(unit)).length;
    if (streamed.length === 0 || (count > 0 && count < streamed.length)) return null;
    return count > 0;
  }

  /** Nothing of the component streams, and nothing is pinned because it did: there is nothing to decide. */
  settled(handle: ModelHandle, streamed: readonly number[]): boolean {
    return streamed.length === 0 && ![...this.#pinsOf(handle).values()].some(({ streams }) => streams);
  }

  /**
   * Pin what streams, as far as the budget goes, in running order. What no longer streams is let go first, unless it is
   * worth keeping (`keepsCopies`: host copies are kept at all). A budget of 0 is this component's: others keep what they
   * have.
   */
  async settle(
    handle: ModelHandle,
    streamed: readonly number[],
    budgetBytes: number,
    keepsCopies: boolean,
    signal?: CancelToken,
  ): Promise<void> {
    if (budgetBytes === 0) {
      this.release(handle);
      return;
    }
    const budget = (): number => Math.min(budgetBytes, this.#limit);
    const wanted = new Set(streamed);
    for (const [unit, pin] of this.#pinsOf(handle)) {
      if (wanted.has(unit)) pin.streams = true;
      else if (keepsCopies && worthKeeping(handle, unit)) pin.streams = false;
      else this.#unpin(handle, unit);
    }
    // A budget that shrank is kept to: host copies go first, then what streams, last units first.
    this.#letCopiesGo(this.#bytes - budget(), handle);
    for (const unit of streamed.toReversed()) {
      if (this.#bytes <= budget()) break;
      this.#unpin(handle, unit);
    }
    for (const unit of streamed) {
      if (this.#pinsOf(handle).has(unit)) continue;
      const missing = this.#bytes + handle.store.unitBytes(unit) - budget();
      // Copies that would go for nothing stay.
      if (missing > this.#copyBytes(handle)) break;
      this.#letCopiesGo(missing, handle);
      if (!(await this.#pin(handle, unit, true, signal))) break;
    }
  }

  /** Pin the host side of a unit (-1: the fixed part) that is about to be placed, where that is worth it and fits. */
  async keep(handle: ModelHandle, unit: number, budgetBytes: number, signal?: CancelToken): Promise<void> {
    if (this.#pinsOf(handle).has(unit) || !worthKeeping(handle, unit)) return;
    if (this.#bytes + handle.store.unitBytes(unit) > Math.min(budgetBytes, this.#limit)) return;
    await this.#pin(handle, unit, false, signal);
  }

  /** Keep to a budget that is new, from now on. */
  limit(budgetBytes: number): void {
    this.#limit = budgetBytes;
    this.#letCopiesGo(this.#bytes - budgetBytes, null);
    for (const [handle, pins] of leastRecentlyUsed(this.#pins)) {
      for (const unit of [...pins.keys()].toReversed()) {
        if (this.#bytes <= budgetBytes) return;
        this.#unpin(handle, unit);
      }
    }
  }

  /** Let everything of a component go. Resolves the bytes that are no longer pinned. */
  release(handle: ModelHandle): number {
    const bytes = this.pinnedBytes(handle);
    for (const unit of [...this.#pinsOf(handle).keys()]) this.#unpin(handle, unit);
    return bytes;
  }

  /**
   * Drop the host copies of a component that the checkpoint can give again, of what is on the device, and let their
   * pinned memory go. What streams keeps its own. Resolves with the bytes dropped.
   */
  async dropCopies(handle: ModelHandle): Promise<number> {
    const units = new Set(handle.placementOrder);
    if (handle.fixedPlaced) units.add(fixedPart);
    for (const [unit, { streams }] of this.#pinsOf(handle)) if (!streams) units.add(unit);
    let bytes = 0;
    for (const unit of units) {
      // Meanwhile a stage may have given it up, and stream it.
      const streams = this.#pinsOf(handle).get(unit)?.streams ?? true;
      if (handle.isPlaced(unit) || !streams) bytes += await this.dropCopy(handle, unit);
    }
    return bytes;
  }

  /** The same of one unit (-1: the fixed part), whether it streamed before or not. */
  async dropCopy(handle: ModelHandle, unit: number): Promise<number> {
    // Asked for at one moment: a stage that pins the unit again meanwhile does so after that, and counts it.
    const dropped = handle.dropHostOf(unit);
    this.#unpin(handle, unit);
    return dropped;
  }

  #pinsOf(handle: ModelHandle): ReadonlyMap<number, Pin> {
    return this.#pins.get(handle) ?? noPins;
  }

  /** False where the device has no such memory, or none left, or where it was cancelled. */
  async #pin(
    handle: ModelHandle,
    unit: number,
    streams: boolean,
    signal: CancelToken | undefined,
  ): Promise<boolean> {
    // Counted before it is there: another device's stage looks at the same budget meanwhile.
    const pin = { bytes: handle.store.unitBytes(unit), streams };
    const pins = this.#pins.get(handle) ?? new Map<number, Pin>();
    this.#pins.set(handle, pins.set(unit, pin));
    this.#bytes += pin.bytes;
    let bytes = 0;
    try {
      bytes = await handle.store.pin(unit, signal);
    } finally {
      // Released meanwhile, it has been uncounted already.
      if (bytes === 0 && this.#pinsOf(handle).get(unit) === pin) this.#forget(handle, unit);
    }
    return bytes > 0;
  }

  #unpin(handle: ModelHandle, unit: number): void {
    if (this.#forget(handle, unit)) handle.store.unpin(unit);
  }

  #forget(handle: ModelHandle, unit: number): boolean {
    const pins = this.#pins.get(handle);
    const pin = pins?.get(unit);
    if (pins === undefined || pin === undefined) return false;
    this.#bytes -= pin.bytes;
    pins.delete(unit);
    if (pins.size === 0) this.#pins.delete(handle);
    return true;
  }

  #copyBytes(streaming: ModelHandle): number {
    let bytes = 0;
    for (const [handle, pins] of this.#pins) {
      const left = handle !== streaming && hasLeft(handle);
      for (const pin of pins.values()) if (left || !pin.streams) bytes += pin.bytes;
    }
    return bytes;
  }

  /** Until so many bytes are free, or no host copy is pinned any more: what streamed and has left is one, too. */
  #letCopiesGo(bytes: number, streaming: ModelHandle | null): void {
    const goal = this.#bytes - Math.max(0, bytes);
    for (const [handle, pins] of leastRecentlyUsed(this.#pins)) {
      const left = handle !== streaming && hasLeft(handle);
      for (const [unit, { streams }] of [...pins].toReversed()) {
        if (this.#bytes <= goal) return;
        if (left || !streams) this.#unpin(handle, unit);
      }
    }
  }
}

function hasLeft({ loadedBytes, inUse }: ModelHandle): boolean {
  return loadedBytes === 0 && !inUse;
}

const noPins: ReadonlyMap<number, Pin> = new Map();

function leastRecentlyUsed(
  pins: ReadonlyMap<ModelHandle, Map<number, Pin>>,
): [ModelHandle, Map<number, Pin>][] {
  return [...pins].sort(([a], [b]) => a.lastUsed - b.lastUsed);
}

/** A weight that the device uses as it lies in its file has its host copy there: a second one would cost its size again. */
function worthKeeping({ store, device }: ModelHandle, unit: number): boolean {
  const bytes = store.unitBytes(unit);
  return bytes > 0 && (device.locksHostMemory || 2 * store.ownedBytes(unit) >= bytes);
}
