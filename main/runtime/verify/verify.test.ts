import { describe, expect, it } from 'vitest';
import { loadAddon } from '../../../native/load.ts';
import { StudioError } from '../../contract/errors.ts';
import { defaultSettings } from '../../contract/settings.ts';
import type { VerifyRun } from '../../contract/verify.ts';
import { compareSamples } from './compare.ts';
import { selfTest } from './self-test.ts';
import type { VerifySubject } from './speak-once.ts';
import { onGraphics, verifySubject } from './verify.ts';

const addon = loadAddon();
const toErrorBody = (error: unknown) => new StudioError('internal', String(error)).toBody();

/** An engine without weights whose only stage answers `samples`, told of the device and of how often it was asked. */
function subject(samples: (simulated: boolean, call: number) => number[]): VerifySubject {
  return {
    engine: 'stub',
    open: async () => {
      let calls = 0;
      return {
        handles: [],
        workingBytes: 0,
        release: () => {},
        async *speak(context) {
          const answer = async () => Float32Array.from(samples(context.device.simulated, ++calls));
          yield { samples: await context.run('only', [], answer, 0) };
        },
      };
    },
  };
}

async function verify(of: VerifySubject, signal = new AbortController().signal): Promise<VerifyRun[]> {
  const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1 };
  const runs: VerifyRun[] = [];
  for await (const run of verifySubject(of, {
    addon,
    settings,
    asked: ['compute.device'],
    signal,
    toErrorBody,
  }))
    runs.push(run);
  return runs;
}

describe('verifySubject', () => {
  it('passes an engine that is the same everywhere, with two retries where memory ran out', async () => {
    const runs = await verify(subject(() => [0.5, -0.5]));
    expect(runs.map(({ run, ok, retries }) => [run, ok, retries])).toEqual([
      ['plain', true, 0],
      ['streamed', true, 0],
      ['halfway', true, 0],
      ['whole', true, 0],
      ['shared', true, 0],
      ['out of memory', true, 2],
    ]);
  });

  it('finds one sample that differs on another device', async () => {
    const runs = await verify(subject((simulated) => [0.5, simulated ? 0.25 : 0.5, 1]));
    expect(runs[1]).toMatchObject({
      ok: false,
      identical: false,
      first_difference: 1,
      differing_samples: 1,
      largest_difference: 0.25,
    });
  });

  it('finds a stage that is not the same when it is repeated', async () => {
    const runs = await verify(subject((_, call) => [call]));
    expect(runs.map(({ run, ok }) => [run, ok]).at(-1)).toEqual(['out of memory', false]);
    expect(runs.slice(0, -1).every(({ ok }) => ok)).toBe(true);
  });

  it('takes silence and failures for what they are', async () => {
    expect(await verify(subject(() => [0, 0]))).toMatchObject([
      { run: 'plain', ok: false },
      ...Array(5).fill({}),
    ]);
    const failing = subject((simulated) => {
      if (simulated) throw new Error('no');
      return [1];
    });
    const runs = await verify(failing);
    expect(runs.map(({ ok }) => ok)).toEqual([true, false, false, false]);
    expect(runs[1]).toMatchObject({ identical: null, error: { code: 'internal' } });
  });

  it('tells how far another device lies from the processor and judges only what one device does', async () => {
    // The processor in the part of a graphics device: `samples` by the run, placed first and then streamed.
    const onDevice = async (...answers: number[][]) => {
      let run = 0;
      const of = subject(() => answers[run++]!);
      const device = addon.devices().find(({ name }) => name === 'CPU')!;
      const options = {
        addon,
        settings: { ...defaultSettings(), 'compute.threads': 1 },
        asked: [],
        signal: new AbortController().signal,
        toErrorBody,
      };
      const plain = { samples: Float32Array.of(0.5, -0.5), sizeBytes: 0, workingBytes: 0 };
      const runs: VerifyRun[] = [];
      for await (const made of onGraphics(of, options, device, plain)) runs.push(made);
      return runs;
    };
    // Another token, and another length: told, and no fault.
    expect(await onDevice([0.5, 0.75, 1], [0.5, 0.75, 1])).toMatchObject([
      { same_device: false, identical: false, first_difference: 1, differing_samples: 2, ok: true },
      { same_device: true, identical: true, ok: true },
    ]);
    // The last bit of one sample, streamed instead of placed, on one device.
    expect(await onDevice([0.5, 0.25], [0.5, 0.25 + 2 ** -25])).toMatchObject([
      { ok: true },
      { same_device: true, identical: false, first_difference: 1, ok: false },
    ]);
    // What is no sound is a fault on any device.
    expect((await onDevice([0, 0], [0, 0]))[0]).toMatchObject({ same_device: false, ok: false });
    expect((await onDevice([0.5, Number.NaN], [0.5, Number.NaN]))[0]).toMatchObject({ ok: false });
  });

  it('ends with `cancelled`', async () => {
    const abort = new AbortController();
    abort.abort();
    await expect(
      verify(
        subject(() => [1]),
        abort.signal,
      ),
    ).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('compareSamples', () => {
  const compare = (a: number[], b: number[]) => compareSamples(Float32Array.from(a), Float32Array.from(b));

  it('compares bits and says where, how many and how far', () => {
    expect(compare([1, Number.NaN], [1, Number.NaN])).toMatchObject({
      identical: true,
      first: null,
      largest: 0,
    });
    expect(compare([0], [-0])).toMatchObject({ identical: false, first: 0, count: 1, largest: 0 });
    expect(compare([1, 2, 3], [1, 2.5, 3.25])).toEqual({
      identical: false,
      first: 1,
      count: 2,
      largest: 0.5,
    });
    expect(compare([1, 2], [1])).toEqual({
      identical: false,
      first: 1,
      count: 1,
      largest: Number.POSITIVE_INFINITY,
    });
    expect(compare([Number.NaN], [1]).largest).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('selfTest', () => {
  const cpu = addon.devices().find(({ name }) => name === 'CPU')!;

  it('the processor computes what double precision says', async () => {
    const result = await selfTest(addon, cpu, toErrorBody);
    expect(result).toMatchObject({ device: 'CPU', passed: true, error: null });
    expect(result.largest_difference).toBeLessThan(1e-4);
  });

  it('streams on a device with memory of its own, to the same bits', async () => {
    const simulating = {
      ...addon,
      createWeightStore: addon.createWeightStore.bind(addon),
      createRecorder: addon.createRecorder.bind(addon),
      openDevice: () => addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 64 * 1024 * 1024 }),
    };
    const result = await selfTest(simulating, cpu, toErrorBody);
    expect(result).toMatchObject({ passed: true, identical: true });
    expect(result.copy_mb_per_second).toBeGreaterThan(1);
  });

  it('a device that is too small, or not there, fails with the reason', async () => {
    const tiny = {
      ...addon,
      createWeightStore: addon.createWeightStore.bind(addon),
      createRecorder: addon.createRecorder.bind(addon),
      openDevice: () => addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 1024 * 1024 }),
    };
    for (const result of [
      await selfTest(tiny, cpu, toErrorBody),
      await selfTest(addon, { ...cpu, name: 'Vulkan99' }, toErrorBody),
    ]) {
      expect(result).toMatchObject({ passed: false, error: { code: 'internal' } });
    }
  });
});
