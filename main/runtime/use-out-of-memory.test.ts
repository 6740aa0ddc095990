import { describe, expect, it } from 'vitest';
import { StudioError } from '../contract/errors.ts';
import type { Settings } from '../contract/settings.ts';
import { type RuntimeRig, shape, withRig } from './testing/rig.ts';
import type { TwoStageShape } from './testing/two-stage-engine.ts';

const roomy: Partial<Settings> = {
  'compute.device': 'auto',
  'compute.simulate_vram_mb': 64,
  'compute.vram_reserve_mb': 0,
};

/** Runs `hurt` when the stage that yields audio has its components in place. */
function whenDecoding(rig: RuntimeRig, hurt: () => void): void {
  let done = false;
  rig.runtime.trace.on(({ kind, subject }) => {
    if (done || kind !== 'stage_begin' || subject !== 'decoder') return;
    done = true;
    hurt();
  });
}

async function failureOf(speaking: Promise<unknown>): Promise<StudioError> {
  const error: unknown = await speaking.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StudioError);
  return error as StudioError;
}

/** What runs out inside `use` cannot be repeated: audio may be out already. The request ends, and the next one works. */
describe('memory that runs out in a stage that yields', () => {
  it.each([
    ['while its first graph computes', { exhaustAtSegment: 1 }],
    ['after it has yielded', { exhaustAtSegment: 3 }],
    ['when its graphs want scratch memory', { failAllocation: 1 }],
  ])('%s: one typed error, nothing kept, and the next request is as it should be', async (_, faults) => {
    await withRig(roomy, async (rig) => {
      const plain = await rig.speak();
      await rig.runtime.unload('two-stage');
      const before = rig.book.device.memory().held;
      whenDecoding(rig, () => rig.book.device.setFaults(faults));
      const error = await failureOf(rig.speak());
      rig.book.device.setFaults(null);
      expect(error).toMatchObject({ code: 'out_of_device_memory', retryable: true });
      expect(error.message).toMatch(/ran out of memory in "decoder" once/);
      expect(error.params).toMatchObject({ stage: 'decoder', attempts: 1 });
      // The components may take half of what they had, so that the next request does not fail again.
      const decoder = rig.runtime.manager.handles.find(({ component }) => component === 'decoder')!;
      expect(decoder.capBytes).toBeLessThanOrEqual(decoder.sizeBytes / 2);
      expect(decoder.inUse).toBe(false);
      const next = await rig.speak();
      expect(next.sha256).toBe(plain.sha256);
      expect(next.ctx.report().partial.decoder?.reason).toBe('capped after out of memory');
      await rig.runtime.unload('two-stage');
      expect(rig.book.device.memory().held).toEqual(before);
    });
  });

  it('while its components are placed: placing is repeated, and the samples are the same', async () => {
    const plain = await withRig(roomy, (rig) => rig.speak());
    await withRig(roomy, async (rig) => {
      rig.runtime.trace.on(({ kind, subject }) => {
        if (kind === 'stage_end' && subject === 'talker') rig.book.device.setFaults({ failAllocation: 2 });
      });
      const { sha256 } = await rig.speak();
      expect(sha256).toBe(plain.sha256);
      expect(rig.runtime.events().some(({ kind }) => kind === 'out_of_memory')).toBe(true);
    });
  });

  it('another error of its body stays what it was', async () => {
    await withRig(roomy, async (rig) => {
      whenDecoding(rig, () => rig.book.device.setFaults({ loseAtSegment: 1 }));
      await expect(rig.speak()).rejects.toMatchObject({ code: 'DeviceLost' });
    });
  });
});

describe('a stage whose engine estimates too little', () => {
  const understated: TwoStageShape = { ...shape, decoderEstimate: 0.25 };
  const rows = 512;
  /** Room for the decoder, or for its working memory beside half of it. */
  const tight: Partial<Settings> = { ...roomy, 'compute.simulate_vram_mb': 3 };

  async function trySpeaking(rig: RuntimeRig, model: string): Promise<string> {
    return rig.speak({ rows, model }).then(
      ({ sha256 }) => sha256,
      (error: unknown) => (error instanceof StudioError ? error.code : String(error)),
    );
  }

  it('fails once in each of two models that take turns on a device; from then on both speak', async () => {
    const plain = await withRig(roomy, (rig) => rig.speak({ rows }), understated);
    await withRig(
      tight,
      async (rig) => {
        const heard: string[] = [];
        for (let turn = 0; turn < 8; turn++) {
          heard.push(await trySpeaking(rig, turn % 2 === 0 ? 'first' : 'second'));
        }
        const failed = 'out_of_device_memory';
        expect(heard).toEqual([failed, failed, ...Array(6).fill(plain.sha256)]);
        const said = rig.runtime.events().filter(({ code }) => code === 'refused');
        expect(said.map(({ subject }) => subject)).toEqual(['first:decoder', 'second:decoder']);
      },
      understated,
    );
  });
});
