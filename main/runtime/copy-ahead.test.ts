/** One copy schedule over the passes, graphs and stages of requests, on a simulated device and on Vulkan. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vulkanName } from '../nn/testing/devices.ts';
import { RuntimeRig, shape, tokens, withRig } from './testing/rig.ts';

const oneshots = { ...shape, talkerKind: 'oneshot' } as const;
let plain = '';

beforeAll(async () => {
  process.env.MIZUOTO_POISON_SLOTS = '1';
  await withRig({}, async (rig) => {
    plain = (await rig.speak()).sha256;
  });
});

afterAll(() => {
  delete process.env.MIZUOTO_POISON_SLOTS;
});

/** One request: its samples are as they should be; what it added to the device's counts. */
async function counted(rig: RuntimeRig, reference = plain) {
  const before = rig.book.device.streamerStats();
  expect((await rig.speak()).sha256).toBe(reference);
  const after = rig.book.device.streamerStats();
  return {
    onTheSpot: after.onTheSpot - before.onTheSpot,
    ahead: after.ahead - before.ahead,
    wasted: after.wasted - before.wasted,
    copies: after.copies - before.copies,
    reused: after.reused - before.reused,
  };
}

const passes = tokens + 4;
const units = tokens * shape.talkerBlocks + 4 * shape.decoderBlocks;

describe('two stages that stream whole, one pass after another', () => {
  it.each([1, 2, 3])('every pass but the first finds its first unit in a slot (%i ahead)', async (ahead) => {
    const change = {
      'compute.simulate_vram_mb': 64,
      'compute.vram_mode': 'none',
      'compute.async_offload': ahead,
    } as const;
    await withRig(
      change,
      async (rig) => {
        const first = await counted(rig);
        // Told before it began; of its ten passes, the order had to be learned.
        expect(first.onTheSpot).toBeLessThanOrEqual(2);
        expect(first.wasted).toBeLessThanOrEqual(3);
        await counted(rig);
        for (let request = 0; request < 3; request++) {
          const { onTheSpot, wasted, copies, reused } = await counted(rig);
          expect([onTheSpot, wasted]).toEqual([0, 0]);
          expect(copies + reused).toBe(units);
        }
        const { slots } = rig.book.device.memory().held;
        expect(slots).toBe(
          (ahead + 1) * Math.max(...rig.runtime.manager.handles.flatMap((one) => one.unitBytes)),
        );
      },
      oneshots,
    );
  });

  it('passes of a slow link are the same', async () => {
    await withRig(
      { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' },
      async (rig) => {
        for (let request = 0; request < 2; request++) await counted(rig);
        const { ahead } = await counted(rig);
        expect(ahead).toBeGreaterThanOrEqual(passes);
      },
      oneshots,
    );
  });

  it.skipIf(vulkanName === null)('on Vulkan', async () => {
    await withRig(
      { 'compute.device': vulkanName!, 'compute.vram_mode': 'none' },
      async (rig) => {
        const reference = (await rig.speak()).sha256;
        await counted(rig, reference);
        expect(await counted(rig, reference)).toMatchObject({ onTheSpot: 0, wasted: 0 });
      },
      oneshots,
    );
  });
});

describe('a stage that is whole, and one that streams', () => {
  it('the first units of the second come up while the first computes', async () => {
    await withRig({ 'compute.simulate_vram_mb': 64 }, async (rig) => {
      await counted(rig);
      const [talker, decoder] = rig.runtime.manager.handles;
      // As after it ran out of memory.
      decoder!.capBytes = decoder!.fixedBytes + 2 * decoder!.unitBytes[0]!;
      for (let request = 0; request < 3; request++) await counted(rig);
      const { onTheSpot, wasted } = await counted(rig);
      expect([talker!.isWhole, decoder!.isWhole]).toEqual([true, false]);
      expect([onTheSpot, wasted]).toEqual([0, 0]);
    });
  });
});

describe('a device that is lost while units are copied ahead', () => {
  it('ends the request with the reason, and the stage with it', async () => {
    const change = { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' } as const;
    const rig = await RuntimeRig.open(change, oneshots);
    await counted(rig);
    rig.book.device.setFaults({ loseAtSegment: 3 });
    const code = await rig.speak().then(
      () => null,
      (error: { code: string }) => error.code,
    );
    expect(code).toBe('DeviceLost');
    expect(rig.book.active.size).toBe(0);
    // What gives memory back goes on without a device: the model is unloaded, the runtime closes.
    await rig.runtime.unload('two-stage');
    expect(rig.runtime.manager.handles).toEqual([]);
    await rig.close();
  });

  it('a runtime with models on it closes without a word', async () => {
    const change = { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' } as const;
    const rig = await RuntimeRig.open(change, oneshots);
    await counted(rig);
    rig.book.device.setFaults({ loseAtSegment: 3 });
    await expect(rig.speak()).rejects.toMatchObject({ code: 'DeviceLost' });
    await rig.close();
    expect(rig.runtime.models.list()).toEqual([]);
  });
});

describe('cancelled in the middle of it all', () => {
  it('the next request is as it should be', async () => {
    await withRig(
      { 'compute.simulate_vram_mb': 64, 'compute.vram_mode': 'none' },
      async (rig) => {
        for (const after of [0, 1, 2, 3]) {
          const cancel = new AbortController();
          const speaking = rig
            .speak({ signal: cancel.signal })
            .catch((error: { code: string }) => error.code);
          for (let turn = 0; turn < after; turn++) await new Promise((resolve) => setImmediate(resolve));
          cancel.abort();
          await speaking;
          await counted(rig);
        }
        await counted(rig);
        expect(await counted(rig)).toMatchObject({ onTheSpot: 0, wasted: 0 });
      },
      oneshots,
    );
  });
});
