import type { ModelHandle } from './model-handle.ts';

/**
 * Page-locked host memory: which units' host sides are pinned, within a budget. Only what streams is pinned; what is
 * resident needs no fast source.
 */
export class PinBudget {
  readonly #pinned = new Map<ModelHandle, Map<number, number>>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  pinnedBytes(handle: ModelHandle): number {
    let bytes = 0;
    for (const size of this.#pinned.get(handle)?.values() ?? []) bytes += size;
    return bytes;
  }

  /** Whether what the component streams now is all pinned (true) or not at all (false); null: some of it, or nothing streams. */
  sourceOf(handle: ModelHandle, streamed: readonly number[]): boolean | null {
    const pinned = this.#pinned.get(handle);
    const count = streamed.filter((unit) => pinned?.has(unit)).length;
    if (streamed.length === 0 || (count > 0 && count < streamed.length)) return null;
    return count > 0;
  }

  /** Nothing of the component streams and nothing of it is pinned: there is nothing to decide. */
  settled(handle: ModelHandle, streamed: readonly number[]): boolean {
    return streamed.length === 0 && !this.#pinned.has(handle);
  }

  /** Pin exactly these units, as far as the budget goes, in running order; what no longer streams is let go first. */
  settle(handle: ModelHandle, streamed: readonly number[], budgetBytes: number): void {
    const wanted = new Set(streamed);
    const units = this.#pinned.get(handle) ?? new Map<number, number>();
    for (const [unit, bytes] of units) {
      if (wanted.has(unit)) continue;
      handle.store.unpin(unit);
      units.delete(unit);
      this.#bytes -= bytes;
    }
    // A budget that shrank is kept to, last units first.
    for (const unit of streamed.toReversed()) {
      if (this.#bytes <= budgetBytes) break;
      const bytes = units.get(unit);
      if (bytes === undefined) continue;
      handle.store.unpin(unit);
      units.delete(unit);
      this.#bytes -= bytes;
    }
    for (const unit of streamed) {
      if (units.has(unit)) continue;
      if (this.#bytes + handle.unitBytes[unit]! > budgetBytes) break;
      const bytes = handle.store.pin(unit);
      if (bytes === 0) break;
      units.set(unit, bytes);
      this.#bytes += bytes;
    }
    if (units.size > 0) this.#pinned.set(handle, units);
    else this.#pinned.delete(handle);
  }

  /** Let everything of a component go. Resolves the bytes that are no longer pinned. */
  release(handle: ModelHandle): number {
    const bytes = this.pinnedBytes(handle);
    for (const unit of this.#pinned.get(handle)?.keys() ?? []) handle.store.unpin(unit);
    this.#pinned.delete(handle);
    this.#bytes -= bytes;
    return bytes;
  }
}
