import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';
import type { PlannerComponent, PlannerState } from './planner/types.ts';
import { resolveMode, type VramPolicy } from './policy.ts';

export interface StateSources {
  handles: Iterable<ModelHandle>;
  isPinned: (model: string) => boolean;
  /** Compute time of a component's units, milliseconds; null until measured. */
  unitTimes: (handle: ModelHandle) => readonly number[] | null;
}

/** What the planner sees: a picture of one device and of every component on it, taken now. */
export function plannerState(book: DeviceBook, policy: VramPolicy, sources: StateSources): PlannerState {
  const components: PlannerComponent[] = [];
  for (const handle of sources.handles) {
    if (handle.device === book.device) components.push(plannerComponent(handle, book.id, sources));
  }
  return {
    device: book.plannerDevice(),
    components,
    policy: {
      mode: resolveMode(policy.mode, book.unified),
      reserveBytes: book.reserveBytes(policy),
      limitBytes: policy.limitBytes,
      asyncOffload: policy.asyncOffload,
      residency: policy.residency,
    },
    slotsInUse: book.slotsInUse(),
  };
}

function plannerComponent(handle: ModelHandle, device: string, sources: StateSources): PlannerComponent {
  const placed = new Set(handle.placementOrder);
  const times = sources.unitTimes(handle);
  return {
    id: handle.id,
    model: handle.model,
    device,
    kind: handle.kind,
    fixedBytes: handle.fixedBytes,
    fixedPlaced: handle.fixedPlaced,
    units: handle.unitBytes.map((bytes, unit) => ({
      bytes,
      mark: handle.unitMarks[unit] ?? null,
      placed: placed.has(unit),
      computeMs: times?.[unit] ?? null,
    })),
    sizeBytes: handle.sizeBytes,
    loadedBytes: handle.loadedBytes,
    placementOrder: [...handle.placementOrder],
    lastUsed: handle.lastUsed,
    pinned: sources.isPinned(handle.model),
    inUse: handle.inUse,
    capBytes: handle.capBytes,
  };
}
