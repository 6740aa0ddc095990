import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type PlanRecord, replay } from '../memory/plan-log.ts';
import { planLoad } from '../memory/planner/plan.ts';
import { type Outcome, RuntimeRig, withRig } from './testing/rig.ts';

let plain: Outcome;
let sizes: { unit: number; fixed: number; units: number; working: number };

/** MiB that hold the decoder's fixed part, half of its units, two copies and the working memory. */
function halfway(): number {
  return (sizes.fixed + sizes.unit * (sizes.units / 2 + 2) + sizes.working) / 2 ** 20;
}

beforeAll(async () => {
  // Slots hold NaN before each upload: whatever reads one too early cannot go unnoticed.
  process.env.MIZUOTO_POISON_SLOTS = '1';
  await withRig({}, async (rig) => {
    plain = await rig.speak();
    const [, decoder] = rig.runtime.manager.handles;
    sizes = {
      unit: decoder!.unitBytes[0]!,
      fixed: decoder!.fixedBytes,
      units: decoder!.unitCount,
      working: await rig.workingBytes(),
    };
  });
});

afterAll(() => {
  delete process.env.MIZUOTO_POISON_SLOTS;
});

describe('a request of two stages gives the same samples', () => {
  it('twice on the processor, where nothing moves', async () => {
    await withRig({}, async (rig) => {
      const { sha256, samples, ctx } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      expect(samples).toBeGreaterThan(0);
      expect(ctx.report()).toMatchObject({ device: 'CPU', streamed_mb: 0, partial: {} });
      expect(rig.book.device.memory().held.weights).toBe(0);
    });
  });

  it('with everything resident on a simulated device', async () => {
    await withRig({ 'compute.simulate_vram_mb': 64 }, async (rig) => {
      const { sha256, ctx } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      const report = ctx.report();
      expect(report.partial).toEqual({});
      expect(report.loaded_mb).toBe(report.size_mb);
      expect(rig.book.id).toBe('Simulated0');
    });
  });

  it.each([0, 1, 2, 3])('with everything streamed, %i units copied ahead', async (ahead) => {
    const change = {
      'compute.simulate_vram_mb': 64,
      'compute.vram_mode': 'none',
      'compute.async_offload': ahead,
    } as const;
    await withRig(change, async (rig) => {
      const { sha256, ctx } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      const { partial } = ctx.report();
      expect(partial.talker?.reason).toBe('vram_mode none');
      expect(partial.decoder?.reason).toBe('vram_mode none');
      expect(rig.book.device.streamerStats().streamedBytes).toBeGreaterThan(0);
    });
  });

  it('with room halfway between smallest working set and whole', async () => {
    const mb = halfway();
    await withRig({ 'compute.simulate_vram_mb': mb, 'compute.vram_reserve_mb': 0 }, async (rig) => {
      const { sha256, ctx } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      const { partial, peak_mb } = ctx.report();
      expect(partial.decoder?.reason).toBe('budget');
      expect(partial.decoder!.loaded_mb).toBeGreaterThan(0);
      expect(partial.decoder!.loaded_mb).toBeLessThan(partial.decoder!.size_mb);
      expect(peak_mb).toBeLessThanOrEqual(mb);
      // The talker gave up units for the decoder; its next stage takes them back, and the samples stay.
      const gaveUp = rig.runtime.events().filter(({ kind }) => kind === 'give_up');
      expect(gaveUp.map(({ subject }) => subject)).toContain('two-stage:talker');
      const before = rig.runtime.events().at(-1)!.id;
      expect((await rig.speak()).sha256).toBe(plain.sha256);
      const returned = rig.runtime.events(before).filter(({ kind }) => kind === 'place');
      expect(returned.map(({ subject }) => subject)).toContain('two-stage:talker');
    });
  });

  it('on the smallest device that holds one working set, and says that it is tight', async () => {
    const mb = (sizes.fixed + 2 * sizes.unit) / 2 ** 20 + 0.3;
    await withRig({ 'compute.simulate_vram_mb': mb }, async (rig) => {
      const { sha256, ctx } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      expect(ctx.warnings.map(({ message }) => message).join(' ')).toContain('it is tried all the same');
    });
  });
});

describe('the plan holds', () => {
  it.each([64, null] as const)('on a device of %s MiB (null: half of it fits)', async (megabytes) => {
    const mb = megabytes ?? halfway();
    await withRig({ 'compute.simulate_vram_mb': mb, 'compute.vram_reserve_mb': 0 }, async (rig) => {
      const { manager } = rig.runtime;
      for (let request = 0; request < 3; request++) await rig.speak({ rows: 64 });
      // Nothing is uploaded again that could have stayed.
      const before = rig.runtime.events().at(-1)!.id;
      const { ctx } = await rig.speak({ rows: 64 });
      const moved = rig.runtime.events(before).filter(({ kind }) => kind === 'place');
      if (megabytes !== null) expect(moved).toEqual([]);
      // What the device held at most is what was planned.
      const planned = Math.max(
        ...manager.planLog.records().map(({ state, request }) => {
          const plan = planLoad(state, request);
          const others = state.components.filter(({ id }) => !request.components.includes(id));
          return others.reduce(
            (bytes, one) => bytes + one.loadedBytes,
            plan.peakBytes - plan.budget.givenBytes,
          );
        }),
      );
      expect(ctx.report().peak_mb).toBeLessThanOrEqual(planned / 2 ** 20 + 0.1);
      // Working memory was measured, and the estimate from the graphs was right.
      const decoder = manager.calibration.stage(rig.book.key, 'two-stage:decoder');
      expect(decoder.state).toBe('calibrated');
      expect(decoder.ratio).toBeGreaterThan(0.2);
      expect(decoder.ratio).toBeLessThanOrEqual(1);
    });
  });
});

describe('what was measured', () => {
  it('decides by time saved per byte, answers what a limit would cost, and predicts the next stage', async () => {
    const change = { 'compute.simulate_vram_mb': halfway(), 'compute.vram_reserve_mb': 0 };
    await withRig(change, async (rig) => {
      const { manager } = rig.runtime;
      for (let request = 0; request < 3; request++) {
        expect((await rig.speak()).sha256).toBe(plain.sha256);
      }
      for (const handle of manager.handles) {
        const times = manager.calibration.unitTimes(rig.book.key, handle.calibrationKey, handle.unitBytes);
        expect(times).toHaveLength(handle.unitCount);
        expect(Math.min(...times!)).toBeGreaterThan(0);
      }
      expect(rig.book.copyRate).toBeGreaterThan(0);
      expect(rig.runtime.whatIf.lastPrediction('two-stage')!.predictedMs).toBeGreaterThan(0);
      const free = rig.runtime.whatIf.model('two-stage', {})!;
      const none = rig.runtime.whatIf.model('two-stage', { mode: 'none' })!;
      expect(none.residentBytes).toBeLessThan(free.residentBytes);
      expect(none.totalMs).toBeGreaterThan(free.totalMs!);
      const device = rig.book.id;
      const { curves, total_bytes } = await rig.runtime.whatIf.curves({ device, steps: 10 });
      expect(curves[0]!.points).toHaveLength(10);
      expect(curves[0]!.points.at(-1)!.limit_bytes).toBe(total_bytes);
      expect(curves[0]!.smallest_bytes).toBeLessThan(total_bytes);
      // At its smallest working set it runs; below it is over budget, and says so.
      const limit = (bytes: number) =>
        rig.runtime.whatIf.report({ device, limit_mb: bytes / 2 ** 20, models: ['two-stage'] }).models[0]!;
      expect(limit(curves[0]!.smallest_bytes!)).toMatchObject({ over_budget_bytes: 0 });
      expect(limit(curves[0]!.smallest_bytes! * 0.9).reasons.map(({ code }) => code)).toContain(
        'over_budget',
      );
      expect(limit(total_bytes).last_prediction!.measured_seconds).toBeGreaterThan(0);
      const talker = limit(total_bytes).components.find(({ id }) => id === 'two-stage:talker')!;
      expect(talker.resident_bytes + talker.streamed_bytes).toBe(talker.size_bytes);
      expect(() => rig.runtime.whatIf.report({ device: 'Vulkan7' })).toThrow(
        /no device "Vulkan7".*Simulated0/,
      );
      expect(() => rig.runtime.whatIf.report({ device, models: ['x'] })).toThrow(/No model "x"/);
      // The timeline: what was placed, in one event a component, and what was held meanwhile.
      const { events, devices, at } = rig.runtime.timeline({ after: 0, since: 0 });
      expect(devices).toEqual([{ id: device, total_bytes }]);
      const placed = events.filter(({ kind }) => kind === 'place');
      expect(placed.length).toBeLessThan(rig.runtime.events().filter(({ kind }) => kind === 'place').length);
      expect(placed.some(({ units }) => units > 1)).toBe(true);
      // Right after a look none is taken: the next one comes within a quarter of a second.
      const last = await vi.waitFor(() => {
        const sample = rig.runtime.timeline({ after: 0, since: 0 }).samples.at(-1)!;
        expect(sample.weights).toBe(rig.book.device.memory().held.weights);
        return sample;
      });
      expect(last.components.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThanOrEqual(last.weights);
      expect(rig.runtime.timeline({ after: events.at(-1)!.id, since: at }).events).toEqual([]);
      // The decisions can be made again elsewhere, from what was exported.
      const { plans } = JSON.parse(JSON.stringify(rig.runtime.exportTrace())) as { plans: PlanRecord[] };
      expect(replay(plans)).toEqual(
        manager.planLog.records().map(({ state, request }) => planLoad(state, request)),
      );
    });
  });
});

describe('out of memory at any allocation', () => {
  it('ends in the same samples or in one clear error, and the device is as before', async () => {
    const mb = halfway();
    const change = { 'compute.simulate_vram_mb': mb, 'compute.vram_reserve_mb': 0 };
    let failures = 0;
    let retries = 0;
    for (let failAllocation = 1; ; failAllocation++) {
      const rig = await RuntimeRig.open(change);
      try {
        let reached = true;
        rig.book.device.setFaults({ failAllocation });
        try {
          const { sha256, ctx } = await rig.speak();
          expect(sha256).toBe(plain.sha256);
          retries += Number(ctx.applied.oom_retries ?? 0);
          const noticed = rig.runtime
            .events()
            .some(({ kind }) => kind === 'retry' || kind === 'out_of_memory');
          reached = noticed;
          if (ctx.applied.oom_retries !== undefined)
            expect(ctx.warnings.map(({ message }) => message).join(' ')).toContain('ran out of memory');
        } catch (error) {
          failures++;
          expect((error as { code?: string }).code).toMatch(/^(out_of_device_memory|OutOfDeviceMemory)$/);
        }
        rig.book.device.setFaults(null);
        // The next request does not feel it.
        expect((await rig.speak()).sha256).toBe(plain.sha256);
        await rig.runtime.unload('two-stage');
        expect(rig.book.device.memory().held).toEqual({ weights: 0, slots: 0, compute: 0, io: 0, state: 0 });
        if (!reached) break;
      } finally {
        await rig.close();
      }
      expect(failAllocation).toBeLessThan(200);
    }
    expect(retries).toBeGreaterThan(0);
    // What a stage that yields allocates while it runs cannot be repeated: that alone may fail.
    expect(failures).toBeLessThanOrEqual(4);
  });

  it('with retries switched off, it is an error that says what to do', async () => {
    await withRig({ 'compute.simulate_vram_mb': 64, 'compute.oom_retry': false }, async (rig) => {
      await rig.speak();
      await rig.runtime.unload('two-stage');
      rig.book.device.setForeignBytes(63 * 2 ** 20 + 900_000);
      await expect(rig.speak()).rejects.toMatchObject({
        code: 'out_of_device_memory',
        message: expect.stringMatching(
          /Simulated0 ran out of memory in "talker".*other programs hold.*Raise compute\.simulate_vram_mb or clear it/s,
        ),
      });
    });
  });
});

describe('other faults', () => {
  it.each([1, 2, 5, 9])(
    'a copy that fails (number %i) is a typed error, and everything can be unloaded',
    async (failCopy) => {
      await withRig({ 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' }, async (rig) => {
        rig.book.device.setFaults({ failCopy });
        await expect(rig.speak()).rejects.toMatchObject({ code: 'DeviceLost' });
        await rig.runtime.unload('two-stage');
        expect(rig.book.device.memory().held.weights).toBe(0);
      });
    },
  );

  it('a device that is lost in the middle of a segment is a typed error, for each following request too', async () => {
    await withRig({ 'compute.simulate_vram_mb': 64 }, async (rig) => {
      rig.book.device.setFaults({ loseAtSegment: 3 });
      await expect(rig.speak()).rejects.toMatchObject({ code: 'DeviceLost' });
      await expect(rig.speak()).rejects.toMatchObject({ code: 'DeviceLost' });
      expect(rig.runtime.manager.handles.every(({ inUse }) => !inUse)).toBe(true);
    });
  });

  it.each([0, 1, 3, 8, 15])(
    'cancelled after %i events, everything is released and the next request is right',
    async (after) => {
      await withRig({ 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' }, async (rig) => {
        const abort = new AbortController();
        let events = 0;
        const stop = rig.runtime.onChange(() => {
          if (++events > after) abort.abort();
        });
        await expect(rig.speak({ signal: abort.signal })).rejects.toMatchObject({
          code: expect.stringMatching(/^cancelled$/i),
        });
        stop();
        expect(rig.runtime.manager.handles.every(({ inUse }) => !inUse)).toBe(true);
        expect((await rig.speak()).sha256).toBe(plain.sha256);
      });
    },
  );
});
