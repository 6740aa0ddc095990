import type { CancelToken } from '../../native/addon.ts';
import type { DeviceBook } from './device-book.ts';
import { fixedPart, type ModelHandle } from './model-handle.ts';
import type { PinBudget } from './pin-budget.ts';
import { mib, reason } from './planner/reasons.ts';
import { slotBytesOf } from './planner/slots.ts';
import type { ComponentPlan, GiveUp, Plan } from './planner/types.ts';
import { gaveUpFor, partialOf } from './report.ts';
import type { Trace } from './trace.ts';

export interface ExecutorEnvironment {
  book: DeviceBook;
  handle: (id: string) => ModelHandle;
  trace: Trace;
  pins: PinBudget;
  /** Bytes of host memory that may be pinned now. */
  pinBudget: () => number;
  /** Weights that the device can read where they lie in host memory are not copied. */
  inPlace: boolean;
  /** Components that are whole on the device keep no copy in host memory. */
  dropHostCopies: boolean;
  signal?: CancelToken;
  /** Bytes uploaded so far and in all, while components are placed. */
  onProgress?: (done: number, total: number) => void;
}

/**
 * Carries a plan out, in this order: idle components give up, the stage's own components give up what streams now,
 * caches are emptied if need be, slots are made, weights are placed, sources are pinned. Fails with what the device
 * says; what was done until then stays true in every handle.
 */
export async function carryOut(plan: Plan, env: ExecutorEnvironment): Promise<void> {
  const { book, trace } = env;
  for (const step of plan.giveUps) await carryOutGiveUp(step, plan, env);
  for (const component of plan.components) {
    const handle = env.handle(component.component);
    for (const unit of component.leave) await move(handle, unit, -1, env);
  }
  if (plan.trimCaches) {
    const bytes = await book.trim(plan.slotsKept);
    trace.add({ kind: 'trim', device: book.id, subject: plan.name, bytes: -bytes });
  }
  if (plan.slotsKept !== null && (await book.ensureSlots(plan.slotsKept))) {
    const bytes = slotBytesOf(plan.slotsKept);
    trace.add({ kind: 'slots', device: book.id, subject: plan.name, bytes });
  }
  const total = plan.components.reduce((bytes, component) => bytes + component.uploadBytes, 0);
  let done = 0;
  for (const component of plan.components) {
    const handle = env.handle(component.component);
    const placed = new Set(handle.placementOrder);
    if (handle.fixedPlaced) placed.add(fixedPart);
    const before = done;
    const missing = [fixedPart, ...component.resident].filter((unit) => !placed.has(unit));
    // Asking how much host memory is free takes longer than all the rest of a stage that finds everything in place.
    const becomesWhole = missing.length > 0 && component.streamed.length === 0;
    const copies = becomesWhole && keepsHostCopies(env) ? env.pinBudget() : 0;
    for (const unit of missing) {
      // First, so that what is converted is written there at once, and copied from there.
      if (copies > 0) await env.pins.keep(handle, unit, copies, env.signal);
      done += await move(handle, unit, 1, env);
      // Unit by unit: where memory is shared, all of it twice might not fit.
      if (env.inPlace && env.dropHostCopies) await env.pins.dropCopy(handle, unit);
      if (total > 0) env.onProgress?.(Math.min(done, total), total);
    }
    if (!env.pins.settled(handle, component.streamed)) {
      await env.pins.settle(handle, component.streamed, env.pinBudget(), keepsHostCopies(env), env.signal);
    }
    if (env.inPlace && done > before) tellMapped(handle, env);
    const hasCopies = handle.hostBytes > 0 || env.pins.pinnedBytes(handle) > 0;
    if (env.dropHostCopies && handle.isWhole && hasCopies) await env.pins.dropCopies(handle);
    handle.partial = partialOf(handle, plan, component);
  }
}

/** Components that are whole on the device keep a copy beside it. */
function keepsHostCopies({ inPlace, dropHostCopies }: ExecutorEnvironment): boolean {
  return !inPlace && !dropHostCopies;
}

/** Bytes that were to be used in place and that the device did not take. */
function refusedOf({ store, unitCount }: ModelHandle): number {
  let bytes = store.unitStats(fixedPart).refusedBytes;
  for (let unit = 0; unit < unitCount; unit++) bytes += store.unitStats(unit).refusedBytes;
  return bytes;
}

function tellMapped(handle: ModelHandle, { trace, book }: ExecutorEnvironment): void {
  const { id: component, mappedBytes, loadedBytes } = handle;
  const refused = refusedOf(handle);
  const device = book.id;
  if (mappedBytes > 0) {
    const sizes = { mapped: mib(mappedBytes), copied: mib(loadedBytes - mappedBytes) };
    const why = reason('weights_in_place', { component, ...sizes });
    trace.add({ kind: 'plan', device, subject: component, bytes: mappedBytes, why });
  }
  if (refused > 0) {
    const why = reason('weights_refused', { component, device, bytes: mib(refused) });
    trace.add({ kind: 'warning', device, subject: component, bytes: refused, why });
  }
}

async function carryOutGiveUp(step: GiveUp, plan: Plan, env: ExecutorEnvironment): Promise<void> {
  const victim = env.handle(step.component);
  for (const unit of step.units) await move(victim, unit, -1, env);
  if (step.fixed) await move(victim, fixedPart, -1, env);
  if (victim.loadedBytes > 0) victim.partial = gaveUpFor(victim, plan);
  env.trace.add({
    kind: 'give_up',
    device: env.book.id,
    subject: step.component,
    bytes: -step.bytes,
    units: step.units,
    why: step.reason,
  });
}

/** Place (1) or give up (-1) one unit; only what really moved is traced. Resolves with the bytes moved. */
async function move(
  handle: ModelHandle,
  unit: number,
  direction: 1 | -1,
  env: ExecutorEnvironment,
): Promise<number> {
  const before = handle.loadedBytes;
  if (direction < 0) {
    await handle.giveUpUnit(unit);
    return before - handle.loadedBytes;
  }
  const stats = handle.store.unitStats(unit);
  await handle.placeUnit(unit, env.signal, env.inPlace);
  const bytes = handle.loadedBytes - before;
  if (bytes === 0) return 0;
  const now = handle.store.unitStats(unit);
  const seconds = now.copySeconds - stats.copySeconds;
  env.book.noteCopies(now.copiedBytes - stats.copiedBytes, seconds);
  const ms = Math.round(seconds * 1e6) / 1000;
  env.trace.add({ kind: 'place', device: env.book.id, subject: handle.id, bytes, units: [unit], ms });
  return bytes;
}

/** One line per stage for the log. */
export function planLine(plan: Plan): string {
  const parts = plan.components.map(
    (component: ComponentPlan) =>
      `${component.component} ${mib(component.residentBytes)} MiB resident${component.streamed.length > 0 ? `, ${mib(component.streamedBytes)} streamed` : ''}`,
  );
  return `${plan.name}: ${parts.join('; ')}; working ${mib(plan.budget.workingBytes)} MiB, free ${mib(plan.budget.freeBytes)} MiB.`;
}
