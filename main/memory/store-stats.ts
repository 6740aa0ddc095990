import type { UnitStats, WeightStore } from '../../native/addon.ts';

const nothing: UnitStats = { copies: 0, copiedBytes: 0, copySeconds: 0, runs: 0, computeSeconds: 0 };

/** Statistics are for learning only: a native core that does not count them yet still runs everything. */
export function unitStats(store: WeightStore, unit: number): UnitStats {
  return typeof store.unitStats === 'function' ? store.unitStats(unit) : nothing;
}

/** Null where the core counts streamed bytes by device only. */
export function streamedBytes(store: WeightStore): number | null {
  return store.streamedBytes ?? null;
}
