import { afterAll, describe, expect, it } from 'vitest';
import type { Settings } from '../contract/settings.ts';
// Names the software device before ggml starts.
import { absentVulkan, vulkanName, vulkanRequired } from '../nn/testing/devices.ts';
import { withRig } from './testing/rig.ts';

/** The real path: device memory, pinned host memory, a second queue for copies, events both ways. */
const shape = { talkerBlocks: 3, decoderBlocks: 12 } as const;

describe.skipIf(vulkanName === null && !vulkanRequired)('on a Vulkan device', () => {
  let resident: string | null = null;

  async function speak(
    change: Partial<Settings>,
  ): Promise<{ sha256: string; reason: string | undefined; streamedMb: number }> {
    if (vulkanName === null) throw new Error(absentVulkan);
    process.env.MIZUOTO_POISON_SLOTS = '1';
    return withRig(
      { 'compute.device': vulkanName, ...change },
      async (rig) => {
        const { sha256, ctx } = await rig.speak();
        const report = ctx.report();
        await rig.runtime.unload('two-stage');
        const { held } = rig.book.device.memory();
        expect(held).toEqual({ weights: 0, slots: 0, compute: 0, io: 0, state: 0 });
        return { sha256, reason: report.partial.decoder?.reason, streamedMb: report.streamed_mb };
      },
      shape,
    );
  }

  afterAll(() => {
    delete process.env.MIZUOTO_POISON_SLOTS;
  });

  it('with everything resident', async () => {
    const { sha256, reason } = await speak({});
    resident = sha256;
    expect(reason).toBeUndefined();
  });

  it.each<[string, Partial<Settings>, string]>([
    ['everything streamed, one copy ahead', { 'compute.vram_mode': 'none' }, 'vram_mode none'],
    [
      'everything streamed, nothing copied ahead',
      { 'compute.vram_mode': 'none', 'compute.async_offload': 0 },
      'vram_mode none',
    ],
    ['room for half, pageable sources', { 'compute.vram_limit_mb': 2, 'compute.max_pinned_mb': 0 }, 'budget'],
  ])('the same samples with %s', async (_, change, expected) => {
    const { sha256, reason, streamedMb } = await speak(change);
    expect(reason).toBe(expected);
    expect(streamedMb).toBeGreaterThan(1);
    expect(sha256).toBe(resident);
  });
});
