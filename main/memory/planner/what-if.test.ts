import { describe, expect, it } from 'vitest';
import { replay } from '../plan-log.ts';
import { MiB } from '../policy.ts';
import { component, repeat, state } from '../testing/states.ts';
import { planLoad } from './plan.ts';
import { turningPoints, whatIf, whatIfCurve } from './what-if.ts';

const main = component({ id: 'voice:main', units: repeat(48, [400, 30] as const) });
const other = component({ id: 'other:main', units: repeat(10, 100), placed: 'all' });
const now = state({ total: 16_384, foreign: 900, rate: 12_000, components: [main, other] });
const stages = [{ name: 'main', components: ['voice:main'], workingBytes: 3000 * MiB, passes: 4 }];

describe('what if', () => {
  it('a limit costs time, and the answer says how much', () => {
    const free = whatIf(now, stages, {});
    const limited = whatIf(now, stages, { limitBytes: 8000 * MiB });
    expect(free.residentBytes).toBe(27 * 400 * MiB);
    expect(limited.residentBytes).toBeLessThan(free.residentBytes);
    expect(free.totalMs).toBeCloseTo(4 * 1440, 3);
    expect(limited.totalMs).toBeGreaterThan(free.totalMs!);
    expect(limited.reasons.length).toBeGreaterThan(0);
  });

  it('mode none streams everything; mode high keeps everything and says that it does not fit', () => {
    expect(whatIf(now, stages, { mode: 'none' })).toMatchObject({
      residentBytes: 0,
      streamedBytes: 48 * 400 * MiB,
    });
    const high = whatIf(now, stages, { mode: 'high' });
    expect(high.streamedBytes).toBe(0);
    expect(high.overBudgetBytes).toBeGreaterThan(0);
  });

  it('more memory is never slower along the slider', async () => {
    const range = { fromBytes: 1000 * MiB, toBytes: 16_384 * MiB, steps: 60 };
    let pauses = 0;
    const curve = await whatIfCurve(
      now,
      stages,
      range,
      () => ({}),
      async () => pauses++,
    );
    expect(pauses).toBe(60);
    expect(curve).toHaveLength(60);
    const passTimes = curve
      .filter(({ answer }) => answer.overBudgetBytes === 0)
      .map(({ answer }) => answer.totalMs!);
    expect(passTimes.length).toBeGreaterThan(40);
    for (const [index, time] of passTimes.entries()) {
      if (index > 0) expect(time).toBeLessThanOrEqual(passTimes[index - 1]! * 1.01);
    }
  });

  it('says it of each component, and who gives up for it', () => {
    const answer = whatIf(now, stages, {});
    expect(answer.components).toEqual([
      {
        component: 'voice:main',
        residentBytes: 27 * 400 * MiB,
        streamedBytes: 21 * 400 * MiB,
        residentUnits: 27,
        streamedUnits: 21,
        partial: 'budget',
      },
    ]);
    expect(answer.givesUp).toEqual([{ component: 'other:main', bytes: 1000 * MiB }]);
    expect(answer.givenUpBytes).toBe(1000 * MiB);
    // 48 units of 30 ms, four times over.
    expect(answer.computeMs).toBe(4 * 48 * 30);
    expect(answer.totalMs).toBeGreaterThanOrEqual(answer.computeMs!);
    const pinned = whatIf(now, stages, { pinned: ['other'] });
    expect(pinned.givesUp).toEqual(answer.givesUp);
  });

  it('finds the limit at which it begins to fit, and the one at which nothing streams', async () => {
    const points = (asked: typeof stages) =>
      turningPoints(
        now,
        asked,
        () => ({}),
        async () => {},
      );
    const { smallestBytes, wholeBytes } = await points(stages);
    const step = now.device.totalBytes / 4096;
    expect(whatIf(now, stages, { limitBytes: smallestBytes }).overBudgetBytes).toBe(0);
    expect(whatIf(now, stages, { limitBytes: smallestBytes! - 2 * step }).overBudgetBytes).toBeGreaterThan(0);
    // 48 units of 400 MiB never fit into 16 GiB.
    expect(wholeBytes).toBeNull();
    const small = [{ ...stages[0]!, components: ['other:main'] }];
    const whole = (await points(small)).wholeBytes!;
    expect(whatIf(now, small, { limitBytes: whole }).streamedBytes).toBe(0);
    expect(whatIf(now, small, { limitBytes: whole - 2 * step }).streamedBytes).toBeGreaterThan(0);
    const huge = [{ ...stages[0]!, workingBytes: 20_000 * MiB }];
    expect(await points(huge)).toEqual({ smallestBytes: null, wholeBytes: null });
  });

  it('asks nothing of the world: the state is as before, and an exported decision can be made again', () => {
    const copy = JSON.parse(JSON.stringify(now));
    whatIf(now, stages, { pinned: ['other'], limitBytes: 5000 * MiB });
    expect(JSON.parse(JSON.stringify(now))).toEqual(copy);
    const exported = JSON.parse(JSON.stringify([{ state: now, request: stages[0] }]));
    expect(replay(exported)[0]).toEqual(planLoad(now, stages[0]!));
  });
});
