import { describe, expect, it } from 'vitest';
import { StudioError } from '../contract/errors.ts';
import type { Settings } from '../contract/settings.ts';
import { outOfMemoryError } from './out-of-memory-error.ts';
import { type RuntimeRig, withRig } from './testing/rig.ts';

async function failureWith(change: Partial<Settings>, foreignMb = 0): Promise<StudioError> {
  const settings: Partial<Settings> = {
    'compute.device': 'auto',
    'compute.vram_reserve_mb': 0,
    'compute.simulate_vram_mb': 0.5,
    ...change,
  };
  return withRig(settings, async (rig) => {
    rig.book.device.setForeignBytes(foreignMb * 2 ** 20);
    const error: unknown = await rig.speak({ rows: 512 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StudioError);
    return error as StudioError;
  });
}

describe('the sentence of a stage that ran out of memory', () => {
  it('names the least that has to be on the device, and the setting that gives it too little', async () => {
    const { message, params } = await failureWith({});
    const { weights_mb, least_mb } = params as Record<string, number>;
    expect(least_mb).toBeGreaterThan(0);
    expect(least_mb).toBeLessThan(weights_mb!);
    expect(message).toContain(`at least ${least_mb} of the ${weights_mb} MiB of weights`);
    expect(message).toMatch(/compute\.simulate_vram_mb gives it 0\.5 MiB.*Raise compute\.simulate_vram_mb/);
    expect(message).not.toMatch(/other programs/);
  });

  it('names what other programs hold', async () => {
    const { message } = await failureWith({ 'compute.simulate_vram_mb': 4 }, 3.75);
    expect(message).toMatch(/of 4 MiB, other programs hold 3\.8/);
  });

  it('in a mode that keeps components whole, says so and names the mode that does not', async () => {
    const once = { 'compute.vram_mode': 'high', 'compute.oom_retry': false } as const;
    const { message, params } = await failureWith(once);
    expect(params.mode).toBe('high');
    expect(message).toMatch(/wants all .* MiB of weights at once, because the mode high is in force,/);
    expect(message).toMatch(/Set compute\.vram_mode to auto: then what does not fit streams/);
    // Where memory is unified, auto would be shared again.
    const shared = await failureWith({ ...once, 'compute.vram_mode': 'shared' });
    expect(shared.message).toMatch(/because the mode shared is in force,.*Set compute\.vram_mode to normal:/);
    // Retries try it with a part.
    expect((await failureWith({ 'compute.vram_mode': 'high' })).params.mode).toBeUndefined();
  });
});

describe('in a mode that keeps components whole, after a device refused memory', () => {
  const high: Partial<Settings> = {
    'compute.device': 'auto',
    'compute.vram_mode': 'high',
    'compute.simulate_vram_mb': 64,
    'compute.vram_reserve_mb': 0,
  };
  /** The talker's first graph has no room, once. */
  const refuseOnce = (rig: RuntimeRig): void => {
    let left = 1;
    rig.runtime.trace.on(({ kind, subject }) => {
      if (kind !== 'stage_begin' || subject !== 'talker' || left-- <= 0) return;
      rig.book.device.setFaults({ exhaustAtSegment: 1 });
    });
  };
  const talkerOf = (rig: RuntimeRig) =>
    rig.runtime.manager.handles.find(({ component }) => component === 'talker')!;

  it('the retry streams half of them, says so, and gives the same samples', async () => {
    const plain = await withRig({}, (rig) => rig.speak());
    await withRig(high, async (rig) => {
      refuseOnce(rig);
      const { sha256, ctx } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      expect(ctx.applied.oom_retries).toBe(1);
      expect(ctx.report().partial.talker).toMatchObject({
        reason: 'capped after out of memory',
        mode: 'high',
      });
    });
  });

  it('without the retry the request fails, and nothing is ever loaded in part', async () => {
    await withRig({ ...high, 'compute.oom_retry': false }, async (rig) => {
      const plain = await rig.speak();
      refuseOnce(rig);
      const error: unknown = await rig.speak().catch((reason: unknown) => reason);
      rig.book.device.setFaults(null);
      expect((error as StudioError).message).toMatch(/because the mode high is in force/);
      expect(talkerOf(rig).capBytes).toBeNull();
      const next = await rig.speak();
      expect(next.sha256).toBe(plain.sha256);
      expect(next.ctx.report().partial).toEqual({});
    });
  });

  it('a second failure does not blame the mode for what the first one capped', async () => {
    await withRig(high, async (rig) => {
      await rig.speak();
      await rig.runtime.manager.afterOom([talkerOf(rig)], 'talker');
      expect(talkerOf(rig).capBytes).toBeLessThan(talkerOf(rig).sizeBytes);
      const { message } = outOfMemoryError({
        manager: rig.runtime.manager,
        book: rig.book,
        policy: rig.runtime.policy(),
        name: 'talker',
        handles: [talkerOf(rig)],
        memory: 0,
        attempts: 1,
        cause: null,
      });
      expect(message).not.toMatch(/mode high/);
      expect(message).toMatch(/at least .* MiB of weights/);
    });
  });
});
