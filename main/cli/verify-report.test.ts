import { describe, expect, it } from 'vitest';
import { type ErrorCode, StudioError, type VerifyRun, verifyRunSchema } from '../contract/index.ts';
import { Messages } from './messages.ts';
import { verifyExit, verifyText } from './verify-report.ts';

const english = new Messages('en');
const chinese = new Messages('zh-CN');

/** A run of the simulated device that is as it should be, but for what is said. */
function made(change: Partial<VerifyRun> = {}): VerifyRun {
  return verifyRunSchema.parse({
    engine: 'mini',
    run: 'streamed',
    stage: null,
    device: 'Simulated0',
    device_mb: 64,
    streamed_mb: 8,
    resident_mb: 1,
    mapped_mb: 0,
    seconds: 1,
    retries: 0,
    samples: 1000,
    against: 'CPU plain',
    identical: true,
    first_difference: null,
    differing_samples: 0,
    largest_difference: 0,
    same_device: true,
    ok: true,
    error: null,
    ...change,
  });
}

function failed(
  code: ErrorCode,
  change: Partial<VerifyRun>,
  params: Record<string, string | number> = {},
): VerifyRun {
  const error = new StudioError(code, `It says ${code}.`, { params }).toBody();
  return made({ ok: false, identical: null, streamed_mb: 0, resident_mb: 0, samples: 0, error, ...change });
}

/** What stands below the table. */
function said(runs: VerifyRun[], messages = english): string[] {
  const lines = verifyText({ ok: runs.every(({ ok }) => ok), runs }, messages).split('\n');
  return lines.slice(lines.indexOf('') + 1).filter((line) => line !== '');
}

const exitOf = (runs: VerifyRun[]): number => verifyExit({ ok: false, runs });
const report = 'Please report this with the table above.';

describe('what a verification comes to', () => {
  it('all the same: nothing more to say', () => {
    expect(said([made(), made()])).toEqual([
      'Identical: 2 runs, and no sample depends on where the weights were.',
    ]);
    expect(exitOf([made()])).toBe(0);
  });

  it('samples that differ are to be reported', () => {
    const differs = made({ ok: false, identical: false, first_difference: 7, differing_samples: 2 });
    expect(said([made(), differs])).toEqual([`1 of 2 runs differ or failed. ${report}`]);
    expect(exitOf([made(), differs])).toBe(11);
  });

  it('a device that the settings make too small is no fault: the rest is the same, and the reason says what to do', () => {
    const small = failed('out_of_device_memory', { run: 'as set', device_mb: 2 });
    expect(said([made(), made(), small])).toEqual([
      'mini, as set (Simulated0 2 MiB): It says out_of_device_memory.',
      'Identical: 2 runs, and no sample depends on where the weights were.',
      '1 of 3 runs could not be made, for the reason above. That is no fault of the studio and says nothing about its samples: change what is named there, and verify again.',
    ]);
    expect(exitOf([made(), small])).toBe(7);
    expect(verifyText({ ok: false, runs: [small] }, english)).toMatch(/as set .* not made$/m);
  });

  it('says so in Chinese, with the way out of a mode that keeps components whole', () => {
    const stage = { device: 'Simulated0', stage: 'acoustic', attempts: 1, total_mb: 4, working_mb: 1.5 };
    const params = { ...stage, weights_mb: 5, least_mb: 1, mode: 'high', instead: 'auto', simulated_mb: 4 };
    const lines = said([made(), failed('out_of_device_memory', { run: 'as set' }, params)], chinese);
    expect(lines[0]).toMatch(/正在采用的模式是 high，因此 5 MiB 权重要一次全部放入.*设为 auto/);
    expect(lines[2]).toMatch(/^2 种方式中有 1 种因上述原因未能运行/);
    expect(lines.join()).not.toMatch(/报告/);
  });

  it('a real device without room, and settings that cannot be, are no faults either', () => {
    const full = failed('out_of_device_memory', { run: 'resident', device: 'Vulkan0', device_mb: null });
    const contradictory = failed('contradictory_settings', { run: 'plain', device: 'CPU', device_mb: null });
    expect(said([made(), full]).at(-1)).toMatch(/^1 of 2 runs could not be made/);
    expect(exitOf([made(), full])).toBe(7);
    expect(said([contradictory])).toHaveLength(2);
    expect(exitOf([contradictory])).toBe(2);
  });

  it('memory that runs out where the studio chose the size, and any other failure, are to be reported', () => {
    for (const run of [
      failed('out_of_device_memory', { run: 'halfway' }),
      failed('internal', { run: 'as set' }),
      failed('device_lost', { run: 'streamed', device: 'Vulkan0', device_mb: null }),
    ]) {
      const small = failed('out_of_device_memory', { run: 'as set' });
      expect(said([made(), run, small])).toEqual([
        expect.stringMatching(/It says/),
        expect.stringMatching(/It says out_of_device_memory/),
        `1 of 3 runs differ or failed. ${report}`,
        expect.stringMatching(/^1 of 3 runs could not be made/),
      ]);
      expect(exitOf([run, small])).toBe(11);
    }
  });
});
