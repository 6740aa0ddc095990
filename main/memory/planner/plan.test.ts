import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MiB } from '../policy.ts';
import { type Situation, situation } from '../testing/arbitraries.ts';
import { freeBytes } from './budget.ts';
import { slotCount } from './limits.ts';
import { planLoad } from './plan.ts';
import { slotBytesOf } from './slots.ts';
import type { LoadRequest, Plan, PlannerComponent, PlannerState } from './types.ts';
import { carriedOut } from './what-follows.ts';

const runs = { numRuns: 1000 };

function requestOf({ components, workingMiB, passes, slotsToCome }: Situation): LoadRequest {
  const request = { name: 'stage', components, workingBytes: workingMiB * MiB, passes };
  return slotsToCome === null ? request : { ...request, slotsToCome };
}

function own(drawn: Situation): PlannerComponent[] {
  return drawn.components.map((id) => drawn.before.components.find((one) => one.id === id)!);
}

function given(plan: Plan): number {
  return plan.giveUps.reduce((bytes, step) => bytes + step.bytes, 0);
}

function residentBytes(plan: Plan): number {
  return plan.components.reduce((bytes, one) => bytes + one.residentBytes, 0);
}

/** Bytes for weights and slots once every idle component has left. */
function mostPossible(drawn: Situation): number {
  const { before, workingMiB } = drawn;
  const idle = before.components.filter((one) => drawn.components.includes(one.id) || !one.inUse);
  const weights = idle.reduce((bytes, one) => bytes + one.loadedBytes, 0);
  return freeBytes(before.device, before.policy) + weights - workingMiB * MiB - before.policy.reserveBytes;
}

/**
 * Least weights and slots with which all the components run, found by trying every slot size and number of slots: a
 * unit streams if it fits a slot and its component needs no more slots than there are.
 */
function leastNeeded(components: readonly PlannerComponent[], asyncOffload: number): number {
  const sizes = new Set([0]);
  for (const one of components) for (const unit of one.units) sizes.add(unit.bytes);
  let least = Number.POSITIVE_INFINITY;
  for (const slot of sizes) {
    for (const count of [0, 1, asyncOffload + 1]) {
      let bytes = count * slot;
      for (const one of components) {
        const streams = slotCount(one, asyncOffload) <= count;
        bytes += one.fixedBytes;
        for (const unit of one.units) {
          if (!streams || unit.mark === 'fixed' || unit.bytes > slot) bytes += unit.bytes;
        }
      }
      least = Math.min(least, bytes);
    }
  }
  return least;
}

describe('planLoad, in any situation', () => {
  it('is never over budget when a plan within budget exists, and says by how much when none does', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        const possible = mostPossible(drawn);
        const used = residentBytes(plan) + slotBytesOf(plan.slotsKept);
        if (leastNeeded(own(drawn), drawn.before.policy.asyncOffload) <= possible) {
          expect(plan.overBudgetBytes).toBe(0);
          expect(used).toBeLessThanOrEqual(permitted(drawn, plan));
        } else {
          expect(plan.overBudgetBytes).toBe(used - possible);
          expect(plan.reasons[0]!.code).toBe('over_budget');
        }
      }),
      runs,
    );
  });

  /** What was free, given and the request's own, less working memory and reserve. */
  function permitted(drawn: Situation, plan: Plan): number {
    const loaded = own(drawn).reduce((bytes, one) => bytes + one.loadedBytes, 0);
    const { device, policy } = drawn.before;
    return freeBytes(device, policy) + given(plan) + loaded - drawn.workingMiB * MiB - policy.reserveBytes;
  }

  it('within budget, carried out with the caches that it keeps, it fits the device', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        fc.pre(plan.overBudgetBytes === 0);
        const { device } = carriedOut(drawn.before, plan);
        expect(device.heldBytes).toBeLessThanOrEqual(device.totalBytes);
        expect(device.driverFreeBytes).toBeGreaterThanOrEqual(0);
      }),
      runs,
    );
  });

  it('has slots for the stage to come, or keeps those that are there, in memory that nothing else is planned for', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        const alone = planLoad(
          { ...drawn.before, device: { ...drawn.before.device, idleSlots: null } },
          requestOf({ ...drawn, slotsToCome: null }),
        );
        expect(plan.components).toEqual(alone.components);
        expect(plan.giveUps).toEqual(alone.giveUps);
        expect(plan.slots).toEqual(alone.slots);
        expect(alone.slotsKept).toEqual(alone.slots);
        const { slots, slotsKept } = plan;
        if (slots !== null) {
          expect(slotsKept!.prefetch).toBe(slots.prefetch);
          expect(slotsKept!.count).toBeGreaterThanOrEqual(slots.count);
          expect(slotsKept!.bytes).toBeGreaterThanOrEqual(slots.bytes);
        }
        if (plan.overBudgetBytes > 0) expect(slotsKept).toEqual(slots);
        expect(plan.peakBytes - alone.peakBytes).toBe(slotBytesOf(slotsKept) - slotBytesOf(slots));
      }),
      runs,
    );
  });

  it('never touches what is in use', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        const used = new Set(drawn.before.components.filter((one) => one.inUse).map((one) => one.id));
        for (const step of plan.giveUps) {
          expect(used.has(step.component)).toBe(false);
          expect(drawn.components).not.toContain(step.component);
        }
      }),
      runs,
    );
  });

  it('asks pinned models last, recently used ones late, and nobody for more than is missing', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        const of = (id: string): PlannerComponent => drawn.before.components.find((one) => one.id === id)!;
        const asked = new Set(plan.giveUps.map((step) => step.component));
        const partial = (one: PlannerComponent): boolean => one.loadedBytes < one.sizeBytes;
        const last = plan.giveUps.at(-1);
        if (last === undefined) return;
        expect(given(plan) - last.bytes).toBeLessThan(plan.budget.shortBytes);
        const spared = drawn.before.components.filter(
          (one) =>
            one.loadedBytes > 0 && !one.inUse && !drawn.components.includes(one.id) && !asked.has(one.id),
        );
        for (const kept of spared) {
          for (const gone of [...asked].map(of)) {
            if (partial(kept) && !partial(gone)) throw new Error('a partly loaded component gives up first');
            if (partial(kept) !== partial(gone)) continue;
            if (gone.pinned && !kept.pinned) throw new Error('a pinned component gives up last');
            if (gone.pinned === kept.pinned && gone.lastUsed > kept.lastUsed) {
              throw new Error('the least recently used gives up first');
            }
          }
        }
        // Everybody but the last has left entirely: nobody else is asked before.
        for (const step of plan.giveUps.slice(0, -1)) expect(step.bytes).toBe(of(step.component).loadedBytes);
      }),
      runs,
    );
  });

  it('gives up unit by unit, in reverse of placement, cold units first', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        for (const step of planLoad(drawn.before, requestOf(drawn)).giveUps) {
          const victim = drawn.before.components.find((one) => one.id === step.component)!;
          const movable = step.units.filter((unit) => victim.units[unit]!.mark !== 'fixed');
          const rank = (unit: number): number =>
            ['cold', null, 'hot'].indexOf(victim.units[unit]!.mark as never);
          for (const [index, unit] of movable.entries()) {
            const next = movable[index + 1];
            if (next === undefined) continue;
            expect(rank(unit)).toBeLessThanOrEqual(rank(next));
            if (rank(unit) !== rank(next)) continue;
            expect(victim.placementOrder.indexOf(unit)).toBeGreaterThan(victim.placementOrder.indexOf(next));
          }
          if (!step.fixed) continue;
          // The fixed part is the last to go.
          expect(step.bytes).toBe(victim.loadedBytes);
        }
      }),
      runs,
    );
  });

  it('places every component: fixed part whole, each unit either resident or streamed, slots for all that stream', () => {
    fc.assert(
      fc.property(situation({ modes: ['normal', 'low', 'none', 'high', 'shared'] }), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        expect(plan.components.map((one) => one.component).sort()).toEqual([...drawn.components].sort());
        for (const placed of plan.components) {
          const { units } = drawn.before.components.find((one) => one.id === placed.component)!;
          expect([...placed.resident, ...placed.streamed].sort((a, b) => a - b)).toEqual(
            units.map((_, unit) => unit),
          );
          for (const unit of placed.streamed) {
            expect(units[unit]!.mark).not.toBe('fixed');
            expect(units[unit]!.bytes).toBeLessThanOrEqual(plan.slots!.bytes);
          }
          expect(placed.partial === null).toBe(placed.streamed.length === 0);
          for (const unit of placed.leave) expect(units[unit]!.placed).toBe(true);
        }
        const streams = plan.components.some((one) => one.streamed.length > 0);
        expect(plan.slots !== null).toBe(streams);
      }),
      runs,
    );
  });

  it('is deterministic, whatever the order in which components are listed', () => {
    fc.assert(
      fc.property(situation(), fc.infiniteStream(fc.nat()), (drawn, keys) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        const shuffled = drawn.before.components
          .map((one) => ({ one, key: keys.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        expect(planLoad({ ...drawn.before, components: shuffled }, requestOf(drawn))).toEqual(plan);
      }),
      { numRuns: 200 },
    );
  });

  it('is monotone in free memory: more of it means less given up, never over budget again, never less resident', () => {
    fc.assert(
      fc.property(
        situation({ residency: ['rule'], marks: false }),
        fc.integer({ min: 1, max: 4000 }),
        (drawn, extra) => {
          const { device } = drawn.before;
          const richer: PlannerState = {
            ...drawn.before,
            policy: { ...drawn.before.policy, limitBytes: null },
            device: {
              ...device,
              totalBytes: device.totalBytes + extra * MiB,
              driverFreeBytes: device.driverFreeBytes + extra * MiB,
            },
          };
          const poor = planLoad({ ...drawn.before, policy: richer.policy }, requestOf(drawn));
          const rich = planLoad(richer, requestOf(drawn));
          expect(given(rich)).toBeLessThanOrEqual(given(poor));
          expect(rich.overBudgetBytes).toBeLessThanOrEqual(poor.overBudgetBytes);
          const { mode } = drawn.before.policy;
          if (
            mode === 'normal' &&
            poor.overBudgetBytes === 0 &&
            poor.components.every((one) => one.partial === null)
          ) {
            expect(rich.components.every((one) => one.partial === null)).toBe(true);
          }
          // With several components a unit more of one can cost a larger unit of another; under a mode's limit or a cap
          // more may be resident than it says only because less memory left no other way.
          if (mode !== 'normal' || own(drawn).some((one) => one.capBytes !== null)) return;
          if (drawn.components.length > 1 || given(poor) > 0 || poor.overBudgetBytes > 0) return;
          expect(residentBytes(rich)).toBeGreaterThanOrEqual(residentBytes(poor));
        },
      ),
      runs,
    );
  });

  it('by cost, more memory never makes the predicted pass slower', () => {
    fc.assert(
      fc.property(
        situation({ residency: ['cost'], modes: ['normal'], marks: false, caps: false, maxComponents: 1 }),
        fc.integer({ min: 1, max: 4000 }),
        (drawn, extra) => {
          const empty = { ...drawn.before, components: drawn.before.components.map(off) };
          const device = { ...empty.device, heldBytes: 0, scratchBytes: 0, idleSlotBytes: 0 };
          const policy = { ...empty.policy, limitBytes: null };
          device.driverFreeBytes = device.totalBytes;
          const poor = planLoad({ ...empty, device, policy }, requestOf(drawn));
          const more = { ...device, totalBytes: device.totalBytes + extra * MiB };
          more.driverFreeBytes = more.totalBytes;
          const rich = planLoad({ ...empty, device: more, policy }, requestOf(drawn));
          if (poor.prediction === null || rich.prediction === null || poor.overBudgetBytes > 0) return;
          expect(rich.prediction.passMs).toBeLessThanOrEqual(poor.prediction.passMs * 1.02 + 1e-9);
        },
      ),
      runs,
    );
  });

  function off(one: PlannerComponent): PlannerComponent {
    const units = one.units.map((unit) => ({ ...unit, placed: false }));
    return { ...one, units, placementOrder: [], fixedPlaced: false, loadedBytes: 0 };
  }

  it('asked again after it was carried out, moves nothing', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        if (plan.overBudgetBytes > 0) return;
        const next = carriedOut(drawn.before, plan);
        const again = planLoad(next, requestOf(drawn));
        expect(again.giveUps).toEqual([]);
        for (const placed of again.components) {
          expect(placed.uploadBytes).toBe(0);
          expect(placed.leave).toEqual([]);
        }
      }),
      runs,
    );
  });

  it('leaves a component as it is while a stage of another request runs on it', () => {
    fc.assert(
      fc.property(situation(), (drawn) => {
        const components = drawn.before.components.map((one) =>
          drawn.components.includes(one.id) && one.fixedPlaced ? { ...one, inUse: true } : one,
        );
        const plan = planLoad({ ...drawn.before, components }, requestOf(drawn));
        for (const placed of plan.components) {
          const component = components.find((one) => one.id === placed.component)!;
          if (!component.inUse) continue;
          expect(placed.leave).toEqual([]);
          const added = placed.resident.filter((unit) => !component.units[unit]!.placed);
          for (const unit of added) expect(component.units[unit]!.mark).toBe('fixed');
        }
      }),
      runs,
    );
  });

  it('keeps to mode and cap: nothing above them is resident unless nothing else runs', () => {
    fc.assert(
      fc.property(situation({ modes: ['none', 'low'], maxComponents: 1 }), (drawn) => {
        const plan = planLoad(drawn.before, requestOf(drawn));
        const [component] = own(drawn);
        const units = component!.units;
        const streams = units.filter((unit) => unit.mark !== 'fixed');
        const largest = Math.max(0, ...streams.map((unit) => unit.bytes));
        const slots = slotCount(component!, drawn.before.policy.asyncOffload) * largest;
        const fixed = units
          .filter((unit) => unit.mark === 'fixed')
          .reduce((sum, { bytes }) => sum + bytes, component!.fixedBytes);
        if (fixed + slots > mostPossible(drawn)) return;
        const extra = plan.components[0]!.resident.filter((unit) => units[unit]!.mark !== 'fixed');
        if (drawn.before.policy.mode === 'none') expect(extra).toEqual([]);
        else for (const unit of extra) expect(units[unit]!.mark).toBe('hot');
      }),
      runs,
    );
  });
});
