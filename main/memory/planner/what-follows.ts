import { slotBytesOf } from './slots.ts';
import type { Plan, PlannerComponent, PlannerState } from './types.ts';

/** The state that a plan leaves behind when its stage is over: scratch memory and slots are idle then. */
export function carriedOut(state: PlannerState, plan: Plan): PlannerState {
  const gives = new Map(plan.giveUps.map((step) => [step.component, step]));
  const gets = new Map(plan.components.map((step) => [step.component, step]));
  const { device } = state;
  let weights = 0;
  const components = state.components.map((component): PlannerComponent => {
    const get = gets.get(component.id);
    const give = gives.get(component.id);
    if (get === undefined && give === undefined) return component;
    const placementOrder =
      get === undefined
        ? component.placementOrder.filter((unit) => !give!.units.includes(unit))
        : get.resident;
    const fixedPlaced = get !== undefined || (component.fixedPlaced && !give!.fixed);
    const next = withPlaced(component, placementOrder, fixedPlaced);
    weights += next.loadedBytes - component.loadedBytes;
    return next;
  });
  const scratchBefore = plan.trimCaches ? 0 : device.scratchBytes;
  const slotsBefore = plan.trimCaches ? 0 : device.idleSlotBytes;
  const scratchBytes = Math.max(scratchBefore, plan.budget.workingBytes);
  const idleSlots = plan.slotsKept ?? (plan.trimCaches ? null : (device.idleSlots ?? null));
  const idleSlotBytes = plan.slotsKept === null ? slotsBefore : slotBytesOf(plan.slotsKept);
  const grown = weights + scratchBytes - device.scratchBytes + idleSlotBytes - device.idleSlotBytes;
  return {
    ...state,
    components,
    device: {
      ...device,
      heldBytes: device.heldBytes + grown,
      driverFreeBytes: device.driverFreeBytes - grown,
      scratchBytes,
      idleSlotBytes,
      idleSlots,
    },
  };
}

function withPlaced(
  component: PlannerComponent,
  placementOrder: readonly number[],
  fixedPlaced: boolean,
): PlannerComponent {
  const placed = new Set(placementOrder);
  const units = component.units.map((unit, index) => ({ ...unit, placed: placed.has(index) }));
  let loadedBytes = fixedPlaced ? component.fixedBytes : 0;
  for (const unit of placementOrder) loadedBytes += component.units[unit]!.bytes;
  return { ...component, units, placementOrder, fixedPlaced, loadedBytes };
}
