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
