import { keepsWhole, type VramMode } from '../policy.ts';
import { bytesOf } from './parts.ts';
import { mib, reason } from './reasons.ts';
import type { GiveUp, PlannerComponent } from './types.ts';

/**
 * Who gives up memory, first to last: partly loaded components (slow anyway), then those of models that are not
 * pinned, then the least recently used. What any request is using never gives up.
 */
export function givingUpOrder(
  components: readonly PlannerComponent[],
  device: string,
  requested: ReadonlySet<string>,
): PlannerComponent[] {
  return components
    .filter((c) => c.device === device && c.loadedBytes > 0 && !c.inUse && !requested.has(c.id))
    .sort(
      (a, b) =>
        Number(isPartial(b)) - Number(isPartial(a)) ||
        Number(a.pinned) - Number(b.pinned) ||
        a.lastUsed - b.lastUsed ||
        (a.id < b.id ? -1 : 1),
    );
}

function isPartial(component: PlannerComponent): boolean {
  return component.loadedBytes < component.sizeBytes;
}

export interface Shortage {
  /** What asks, in words. */
  name: string;
  device: string;
  bytes: number;
  mode: VramMode;
}

/** Unit by unit in reverse of placement order until the shortage is met; whole in `high` and `shared` mode. */
export function giveUp(victims: readonly PlannerComponent[], shortage: Shortage): GiveUp[] {
  const whole = keepsWhole(shortage.mode);
  const result: GiveUp[] = [];
  let missing = shortage.bytes;
  for (const victim of victims) {
    if (missing <= 0) break;
    const units: number[] = [];
    let bytes = 0;
    for (const unit of leavingOrder(victim)) {
      if (!whole && bytes >= missing) break;
      units.push(unit);
      bytes += victim.units[unit]!.bytes;
    }
    const fixed = victim.fixedPlaced && (whole || bytes < missing);
    if (fixed) bytes += heldTogether(victim);
    if (fixed) for (const unit of placedFixed(victim)) units.push(unit);
    missing -= bytes;
    const params = { component: victim.id, device: shortage.device, name: shortage.name, bytes: mib(bytes) };
    const short = mib(shortage.bytes);
    result.push({
      component: victim.id,
      units,
      fixed,
      bytes,
      reason: fixed
        ? reason('gives_up_whole', { ...params, short })
        : reason('gives_up', { ...params, units: units.length, short }),
    });
  }
  return result;
}

/** Cold units first, hot ones last, each group in reverse of placement order; units marked fixed leave with the fixed part. */
export function leavingOrder(component: PlannerComponent): number[] {
  const cold: number[] = [];
  const plain: number[] = [];
  const hot: number[] = [];
  for (let index = component.placementOrder.length - 1; index >= 0; index--) {
    const unit = component.placementOrder[index]!;
    const { mark } = component.units[unit]!;
    if (mark === 'cold') cold.push(unit);
    else if (mark === 'hot') hot.push(unit);
    else if (mark === null) plain.push(unit);
  }
  return cold.length === 0 && hot.length === 0 ? plain : [...cold, ...plain, ...hot];
}

function placedFixed(component: PlannerComponent): number[] {
  return component.placementOrder.filter((unit) => component.units[unit]!.mark === 'fixed').reverse();
}

/** Bytes that leave together as the last: the fixed part and the units marked fixed. */
function heldTogether(component: PlannerComponent): number {
  return component.fixedBytes + bytesOf(component, placedFixed(component));
}
