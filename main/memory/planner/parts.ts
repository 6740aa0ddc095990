import type { PlannerComponent } from './types.ts';

/** Units that may stream, in running order. */
export function streamable(component: PlannerComponent): number[] {
  const units: number[] = [];
  for (let index = 0; index < component.units.length; index++) {
    if (component.units[index]!.mark !== 'fixed') units.push(index);
  }
  return units;
}

export function markedFixed(component: PlannerComponent): number[] {
  const units: number[] = [];
  for (let index = 0; index < component.units.length; index++) {
    if (component.units[index]!.mark === 'fixed') units.push(index);
  }
  return units;
}

/** Fixed part and the units marked so. */
export function fixedBytesOf(component: PlannerComponent): number {
  let bytes = component.fixedBytes;
  for (const unit of component.units) if (unit.mark === 'fixed') bytes += unit.bytes;
  return bytes;
}

export function bytesOf(component: PlannerComponent, units: readonly number[]): number {
  let bytes = 0;
  for (const unit of units) bytes += component.units[unit]!.bytes;
  return bytes;
}
