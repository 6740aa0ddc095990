/** What the device is told to stream next, and the slots that one stage leaves to another. */
import { describe, expect, it } from 'vitest';
import type { ModelHandle } from './model-handle.ts';
import { MiB, type VramPolicy } from './policy.ts';
import type { StageToPlan } from './stages.ts';
import { fakeComponent } from './testing/fake-device.ts';
import { testManager } from './testing/managers.ts';

interface Sketch {
  kind?: 'sequence' | 'oneshot';
  fixed?: number;
  units: number[];
}

/** Components `a` and `b` of one model, and their stages with 100 MiB of working memory. */
function rig(totalMiB: number, a: Sketch, b: Sketch, policy: Partial<VramPolicy> = { mode: 'none' }) {
  const { manager, device, book } = testManager({ totalMiB }, { reserveBytes: 0, ...policy });
  const handles = [a, b].map((sketch, index) => {
    const { handle } = fakeComponent(device, { component: 'ab'[index]!, ...sketch });
    manager.register(handle);
    return handle;
  }) as [ModelHandle, ModelHandle];
  const stages = handles.map(
    (handle): StageToPlan => ({ name: handle.component, handles: [handle], memory: 100 * MiB }),
  ) as [StageToPlan, StageToPlan];
  const begin = (stage: StageToPlan, next?: StageToPlan) =>
    manager.load(stage.handles, stage.memory, { name: stage.name, ...(next && { next }) });
  return { manager, device, book, stages, begin };
}

const slots = (count: number, mib: number, prefetch = true) => ({
  slots: count,
  slotBytes: mib * MiB,
  prefetch,
});
const made = (log: readonly string[]) => log.filter((line) => line.includes('slots'));

describe('a stage and the next one', () => {
  it('share slots that are made once; the device knows the units of both', async () => {
    const { device, stages, begin } = rig(2000, { units: [100, 100, 100] }, { units: [150, 120] });
    const [a, b] = stages;
    for (let request = 0; request < 3; request++) {
      const first = await begin(a, b);
      expect(device.streamer).toEqual(slots(2, 150));
      expect(device.expected).toEqual(['a[0]', 'a[1]', 'a[2]', 'b[0]', 'b[1]']);
      first.release();
      // What is told is left to it until the next stage begins.
      expect(device.expected).toHaveLength(5);
      const second = await begin(b);
      expect(device.expected).toEqual(['b[0]', 'b[1]']);
      second.release();
      expect(device.expected).toEqual([]);
    }
    expect(made(device.log)).toEqual(['slots 2 x 150']);
  });

  it('a whole one has the slots of the next made beside it, and its first units named', async () => {
    const { device, stages, begin } = rig(800, { units: [100] }, { units: [200, 200, 200, 200] }, {});
    const placement = await begin(...stages);
    expect(placement.plans[0]!.slots).toBeNull();
    expect(device.streamer).toEqual(slots(2, 200));
    expect(device.expected.every((unit) => unit.startsWith('b['))).toBe(true);
    expect(device.expected.length).toBeGreaterThan(0);
    placement.release();
    const next = await begin(stages[1]);
    expect(made(device.log)).toEqual(['slots 2 x 200']);
    next.release();
  });

  it('has no more than its own slots where memory is wanted for more', async () => {
    // Beside the fixed part and the working memory, two slots of 100 fit; two of 150 do not.
    const a = { fixed: 80, units: [100, 100, 100] };
    const { device, stages, begin } = rig(420, a, { units: [150, 150, 150] });
    for (let request = 0; request < 2; request++) {
      const first = await begin(...stages);
      expect(device.streamer).toEqual(slots(2, 100));
      expect(device.expected).toEqual(['a[0]', 'a[1]', 'a[2]']);
      expect(device.heldBytes).toBe(280 * MiB);
      first.release();
      const second = await begin(stages[1]);
      expect(device.streamer).toEqual(slots(2, 150));
      second.release();
    }
  });

  it("a sequence copies nothing ahead, and keeps the slots of others where they are in nobody's way", async () => {
    const sequence = { kind: 'sequence', units: [80, 80] } as const;
    const { device, stages, begin } = rig(
      2000,
      { ...sequence, units: [...sequence.units] },
      { units: [150, 150] },
    );
    for (let request = 0; request < 2; request++) {
      const first = await begin(...stages);
      expect(device.streamer).toEqual(slots(2, 150, false));
      expect(device.expected).toEqual([]);
      first.release();
      const second = await begin(stages[1]);
      expect(device.streamer).toEqual(slots(2, 150));
      expect(device.expected).toEqual(['b[0]', 'b[1]']);
      second.release();
    }
  });

  it('alone, a stage keeps larger slots that an earlier one left, until their memory is wanted', async () => {
    const { device, book, stages, begin } = rig(2000, { units: [100, 100] }, { units: [150, 150] });
    (await begin(stages[1])).release();
    (await begin(stages[0])).release();
    expect(made(device.log)).toEqual(['slots 2 x 150']);
    device.foreignBytes = 1650 * MiB;
    (await begin(stages[0])).release();
    expect(device.streamer).toEqual(slots(2, 100));
    expect(await book.trim()).toBe(200 * MiB);
  });

  it('giving back does not run out of memory: slots that cannot be made smaller are no error', async () => {
    const { device, book, stages, begin } = rig(2000, { units: [100, 100] }, { units: [150, 150] });
    const placement = await begin(...stages);
    expect(device.streamer).toEqual(slots(2, 150));
    device.setFaults({ failAllocation: 1 });
    expect(await book.trim()).toBeGreaterThanOrEqual(0);
    placement.release();
    (await begin(stages[0])).release();
    expect(device.streamer).toEqual(slots(2, 100));
  });

  it('is placed without the slots of the next when the device refuses them', async () => {
    const { device, stages, begin } = rig(2000, { units: [100, 100] }, { units: [150, 150] });
    device.setFaults({ failAllocation: 1 });
    const placement = await begin(...stages);
    expect(device.streamer).toEqual(slots(2, 100));
    expect(device.expected).toEqual(['a[0]', 'a[1]']);
    placement.release();
  });
});

describe('what was told', () => {
  it('is taken back when the stage fails, since nobody will want it', async () => {
    const { device, stages, begin } = rig(2000, { units: [100, 100] }, { units: [100, 100] });
    const placement = await begin(...stages);
    expect(device.expected).not.toEqual([]);
    placement.release({ error: new Error('cancelled') });
    expect(device.expected).toEqual([]);
  });

  it('names nothing of a component that is gone', async () => {
    const { manager, device, stages, begin } = rig(2000, { units: [100, 100] }, { units: [100, 100] });
    await manager.unregister(stages[1].handles[0]!);
    const placement = await begin(...stages);
    expect(device.expected).toEqual(['a[0]', 'a[1]']);
    placement.release();
  });

  it('is in the plan of the whole request: its peak counts the slots that are shared', async () => {
    const { manager, book, stages } = rig(2000, { units: [100, 100, 100] }, { units: [150, 150] });
    const { peakBytes, stages: plans } = manager.planStages(book, stages);
    expect(plans.map(({ slotsKept }) => slotsKept?.bytes)).toEqual([150 * MiB, 150 * MiB]);
    expect(peakBytes).toBe((2 * 150 + 100) * MiB);
  });

  it('a nested stage finds the memory that slots have beyond what the outer one needs', async () => {
    const { manager, device, stages, begin } = rig(500, { units: [50, 50] }, { units: [150, 150] });
    const outer = await begin(...stages);
    expect(device.streamer).toEqual(slots(2, 150));
    const { handle } = fakeComponent(device, { model: 'other', component: 'main', fixed: 250 });
    manager.register(handle);
    const inner = await manager.load([handle], 0, { name: 'inner', owner: 'a' });
    expect(device.streamer).toEqual(slots(2, 50));
    expect(inner.plans[0]!.overBudgetBytes).toBe(0);
    inner.release();
    outer.release();
  });
});
