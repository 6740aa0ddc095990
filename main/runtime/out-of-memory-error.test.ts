import { describe, expect, it } from 'vitest';
import { StudioError } from '../contract/errors.ts';
import type { Settings } from '../contract/settings.ts';
import { withRig } from './testing/rig.ts';

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
