import { describe, expect, it } from 'vitest';
import { MiB } from '../policy.ts';
import { afterPlan, component, repeat, state } from '../testing/states.ts';
import { timeOf, unitTimes } from './cost.ts';
import { planLoad } from './plan.ts';
import { planRequest } from './request.ts';

const mib = (bytes: number): number => bytes / MiB;

describe('1. empty card, full RAM', () => {
  const main = component({ id: 'voice:main', units: repeat(48, [400, 30] as const) });
  const before = state({ total: 16_384, foreign: 900, rate: 12_000, components: [main] });
  const request = { name: 'main', components: ['voice:main'], workingBytes: 3000 * MiB, passes: 8 };
  const plan = planLoad(before, request);
  const [placed] = plan.components;

  it('27 units are resident, 21 stream through two slots of 400 MiB', () => {
    expect(placed!.resident).toHaveLength(27);
    expect(placed!.streamed).toHaveLength(21);
    expect(plan.slots).toEqual({ count: 2, bytes: 400 * MiB, prefetch: true });
    expect(mib(plan.peakBytes)).toBe(27 * 400 + 800 + 3000);
    expect(mib(placed!.streamedBytes)).toBe(8400);
  });

  it('the streamed ones are spread evenly: a pass takes 1,440 ms, not 1,503 or 1,600', () => {
    expect(plan.prediction!.passMs).toBeCloseTo(1440, 6);
    const times = unitTimes(main, before.device.copyRate)!;
    const prefix = Array.from({ length: 27 }, (_, unit) => unit);
    expect(timeOf(main, prefix, times, { slotCount: 2, prefetch: true })).toBeCloseTo(1503.33, 1);
    expect(timeOf(main, [], times, { slotCount: 2, prefetch: true })).toBeCloseTo(1600, 6);
  });

  it('five requests: the second to fifth move nothing', () => {
    let now = afterPlan(before, plan);
    const held = now.device.heldBytes;
    for (let round = 2; round <= 5; round++) {
      const next = planLoad(now, request);
      expect(next.components[0]!.uploadBytes).toBe(0);
      expect(next.components[0]!.leave).toEqual([]);
      now = afterPlan(now, next);
      expect(now.device.heldBytes).toBe(held);
      expect(now.device.driverFreeBytes).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('2. the small helper', () => {
  const voice = component({ id: 'voice:main', units: repeat(54, 100), placed: 'all' });
  const helper = component({ id: 'helper:main', units: [], fixed: 620 });
  const before = state({ total: 8192, foreign: 600, components: [voice, helper] });
  const plan = planLoad(before, { name: 'helper', components: ['helper:main'], workingBytes: 1080 * MiB });

  it('exactly one unit gives way, because 20 MiB are missing', () => {
    expect(mib(plan.budget.shortBytes)).toBe(20);
    expect(plan.giveUps).toHaveLength(1);
    expect(plan.giveUps[0]!.units).toEqual([53]);
    expect(plan.giveUps[0]!.fixed).toBe(false);
    expect(plan.giveUps[0]!.reason.text).toContain('short by 20 MiB');
    expect(plan.components[0]!.partial).toBeNull();
  });

  it('none, once 300 MiB of working memory have been measured', () => {
    const calibrated = planLoad(before, {
      name: 'helper',
      components: ['helper:main'],
      workingBytes: 330 * MiB,
    });
    expect(calibrated.giveUps).toEqual([]);
  });

  it('the next voice request uploads at most that unit', () => {
    const next = planLoad(afterPlan(before, plan), {
      name: 'voice',
      components: ['voice:main'],
      workingBytes: 100 * MiB,
    });
    expect(mib(next.components[0]!.uploadBytes)).toBeLessThanOrEqual(100);
  });
});

describe('slots that another stage left', () => {
  // 600 held by scratch memory and slots; 900 - 600 = 300 free: whole with 200 of working memory is 600.
  const small = component({ id: 'a:small', fixed: 400 });
  const before = state({ total: 900, foreign: 0, components: [small] });
  const left = { scratchBytes: 100 * MiB, idleSlotBytes: 500 * MiB };
  const device = { ...before.device, ...left, heldBytes: 600 * MiB, driverFreeBytes: 300 * MiB };
  const request = { name: 'small', components: ['a:small'], workingBytes: 200 * MiB };
  const policy = { ...before.policy, reserveBytes: 0 };

  it('go when a stage that streams nothing needs their memory', () => {
    const plan = planLoad({ ...before, policy, device }, request);
    expect(plan.slots).toBeNull();
    expect(plan.overBudgetBytes).toBe(0);
    expect(plan.trimCaches).toBe(true);
  });

  it('a limit below what is held leaves nothing free, not less than nothing', () => {
    const units = component({ id: 'a:units', units: repeat(4, 100) });
    const limited = { ...policy, limitBytes: 50 * MiB };
    const held = { ...device, scratchBytes: 0, idleSlotBytes: 0 };
    const plan = planLoad(
      { ...before, components: [units], policy: limited, device: held },
      {
        ...request,
        components: ['a:units'],
      },
    );
    expect(plan.components[0]!.reason.params.free).toBe(0);
  });
});

describe('3. the component that comes late', () => {
  const main = component({ id: 'a:main', units: repeat(62, [250, 20] as const) });
  const late = component({ id: 'a:late', fixed: 850 });
  const empty = state({ total: 12_288, foreign: 300, rate: 12_000, components: [main, late] });
  const mainStage = { name: 'main', components: ['a:main'], workingBytes: 1200 * MiB };
  const lateStage = { name: 'late', components: ['a:late'], workingBytes: 1000 * MiB };
  const first = planLoad(empty, mainStage);
  const placed = afterPlan(empty, first);

  it('39 units of the main model are resident', () => {
    expect(first.components[0]!.resident).toHaveLength(39);
  });

  /** The working buffer and the slots of the main model are still there, idle. */
  const holding = (lent: boolean): typeof placed => {
    const device = { ...placed.device };
    device.heldBytes += 1700 * MiB;
    device.driverFreeBytes -= 1700 * MiB;
    if (lent) Object.assign(device, { scratchBytes: 1200 * MiB, idleSlotBytes: 500 * MiB });
    return { ...placed, device };
  };

  it('the main model gives up 8 units; one, if its idle buffer and slots are lent', () => {
    const strict = planLoad(holding(false), lateStage);
    expect(strict.giveUps[0]!.units).toHaveLength(8);
    const lent = planLoad(holding(true), lateStage);
    expect(lent.giveUps[0]!.units).toHaveLength(1);
    expect(lent.trimCaches).toBe(true);
  });

  it('the units return in the next stage of the main model, and only they are uploaded', () => {
    const lent = holding(true);
    const back = planLoad(afterPlan(lent, planLoad(lent, lateStage)), mainStage);
    expect(back.components[0]!.resident).toHaveLength(39);
    expect(mib(back.components[0]!.uploadBytes)).toBe(250);
  });

  it('announced: giving up is in the plan, before the first byte', () => {
    const whole = planRequest(empty, [mainStage, lateStage, mainStage]);
    expect(whole.stages.map(({ giveUps }) => giveUps.flatMap(({ units }) => units).length)).toEqual([
      0, 1, 0,
    ]);
    expect(mib(whole.peakBytes)).toBeLessThanOrEqual(12_288 - 300 - 512);
    expect(whole.peakBytes).toBe(Math.max(...whole.stages.map(({ peakBytes }) => peakBytes)));
  });
});

describe('4. three lines of text, 36 GB', () => {
  const voice = component({ id: 'long:main', fixed: 1300 });
  const other = component({ id: 'other:main', units: repeat(4000, 1), placed: 'all' });
  const now = state({ total: 12_288, foreign: 300, components: [voice, other] });
  const working = (length: number): number => (200 + 0.004 * length * length) * MiB;

  it('is said in planning: needed 36,200, possible 10,176, largest length 1,579', () => {
    const plan = planRequest(now, [
      {
        name: 'flow',
        components: ['long:main'],
        workingBytes: working(3000),
        length: 3000,
        workingAt: working,
      },
    ]);
    const [refusal] = plan.problems;
    expect(refusal).toMatchObject({ stage: 'flow', largestLength: 1579, parts: 2, partLength: 1500 });
    expect(mib(refusal!.neededBytes)).toBe(36_200);
    expect(mib(refusal!.possibleBytes)).toBe(10_176);
    expect(refusal!.reason.text).toMatch(/36,200 MiB .*10,176 MiB .*1,579.*2 parts of 1,500/);
    // Insisting is allowed: there is a plan all the same.
    expect(plan.stages[0]!.components[0]!.component).toBe('long:main');
  });

  it('split into two parts, the idle voice gives up 3,024 MiB, not 4,000', () => {
    const plan = planLoad(now, { name: 'flow', components: ['long:main'], workingBytes: working(1500) });
    expect(mib(working(1500))).toBe(9200);
    expect(mib(plan.giveUps[0]!.bytes)).toBe(3024);
    expect(plan.overBudgetBytes).toBe(0);
  });
});

describe('6. mixed weights', () => {
  const pairs = Array.from({ length: 24 }, () => [[100, 0.4] as const, [300, 40] as const]).flat();
  const mixed = component({ id: 'mix:main', units: pairs });
  const request = { name: 'pass', components: ['mix:main'], workingBytes: 0, passes: 8 };
  // Room for 2,400 MiB of residents beside two slots of 300.
  const room = { total: 2400 + 600, reserve: 0, rate: 12_000, components: [mixed] };

  it('by cost: the 24 small ones are resident, and a pass is as fast as with everything resident', () => {
    const plan = planLoad(state(room), request);
    expect(plan.components[0]!.resident.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 24 }, (_, pair) => pair * 2),
    );
    expect(plan.prediction!.passMs).toBeCloseTo(969.6, 6);
    expect(plan.prediction!.passMs).toBeCloseTo(plan.prediction!.computeMs, 6);
    expect(plan.components[0]!.reason.text).toMatch(/24 of 48 units are resident.*970 ms.*by rule.*970 ms/);
  });

  it('largest first takes 1,339 ms, a prefix 1,388', () => {
    const times = unitTimes(mixed, state(room).device.copyRate)!;
    const slots = { slotCount: 2, prefetch: true };
    const large = Array.from({ length: 8 }, (_, pair) => pair * 2 + 1);
    const prefix = Array.from({ length: 12 }, (_, unit) => unit);
    expect(timeOf(mixed, large, times, slots)).toBeCloseTo(1338.6, 1);
    expect(timeOf(mixed, prefix, times, slots)).toBeCloseTo(1387.8, 1);
  });
});
