import { exitCode, type VerifyReport, type VerifyRun } from '../contract/index.ts';
import type { MessageKey } from './messages.en.ts';
import { errorOf, type Messages } from './messages.ts';
import { size } from './size.ts';
import { checkFailedExit, harmless, table } from './terminal.ts';

const runKeys: Record<VerifyRun['run'], MessageKey> = {
  plain: 'runPlain',
  streamed: 'runStreamed',
  halfway: 'runHalfway',
  whole: 'runWhole',
  shared: 'runShared',
  'out of memory': 'runOutOfMemory',
  'as set': 'runAsSet',
  resident: 'runResident',
  partly: 'runPartly',
};

/** What memory and settings can be changed about; never a fault of the studio. */
const ofSettings = new Set([
  'contradictory_settings',
  'invalid_setting',
  'device_not_found',
  'out_of_host_memory',
]);

/**
 * `unfit`: not made, because the settings or a real device leave too little memory. Sizes of other simulated devices
 * are chosen so that every run fits: memory that runs out there is a fault.
 */
function outcomeOf({ ok, error, run, device_mb }: VerifyRun): 'same' | 'differs' | 'failed' | 'unfit' {
  if (ok) return 'same';
  if (error === null) return 'differs';
  if (ofSettings.has(error.code)) return 'unfit';
  const asked = run === 'as set' || device_mb === null;
  return error.code === 'out_of_device_memory' && asked ? 'unfit' : 'failed';
}

/** 0 where all runs are the same; where some could only not be made, the code of what kept them from it. */
export function verifyExit({ runs }: VerifyReport): number {
  const bad = runs.filter(({ ok }) => !ok);
  if (bad.length === 0) return 0;
  const unfit = bad.every((run) => outcomeOf(run) === 'unfit');
  return unfit ? exitCode(bad[0]!.error!.code) : checkFailedExit;
}

/** The table, why runs failed or were not made, and what it all comes to. */
export function verifyText({ runs }: VerifyReport, messages: Messages): string {
  const head = (
    ['Engine', 'Run', 'Device', 'Streamed', 'Resident', 'Seconds', 'Retries', 'Identical'] as const
  ).map((name) => messages.get(`column${name}`));
  const rows = runs.map((run) => [
    run.engine,
    runName(run, messages),
    deviceOf(run),
    mebibytes(run.streamed_mb),
    mebibytes(run.resident_mb),
    run.seconds.toFixed(2),
    String(run.retries),
    verdict(run, messages),
  ]);
  const reasons = runs.flatMap((run) => {
    if (run.error === null) return [];
    const names = { engine: run.engine, run: runName(run, messages), device: deviceOf(run) };
    return [harmless(messages.get('verifyReason', { ...names, reason: messages.error(errorOf(run.error)) }))];
  });
  const parts = [table(head, rows), reasons.join('\n'), summary(runs, messages).join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}

const mebibytes = (value: number): string => size(value * 2 ** 20);

function summary(runs: readonly VerifyRun[], messages: Messages): string[] {
  const outcomes = runs.map(outcomeOf);
  const count = (...wanted: string[]): number =>
    outcomes.filter((outcome) => wanted.includes(outcome)).length;
  const [bad, unfit, same] = [count('differs', 'failed'), count('unfit'), count('same')];
  const lines: string[] = [];
  if (bad > 0) lines.push(messages.get('verifyDiffers', { runs: runs.length, bad }));
  else if (same > 0) lines.push(messages.get('verifySame', { runs: same }));
  if (unfit > 0) lines.push(messages.get('verifyUnfit', { runs: runs.length, unfit }));
  return lines;
}

function deviceOf({ device, device_mb }: VerifyRun): string {
  return device_mb === null ? device : `${device} ${Number(device_mb.toFixed(1))} MiB`;
}

export function runName({ run, stage }: VerifyRun, messages: Messages): string {
  return messages.get(runKeys[run], { stage: stage ?? '' });
}

function verdict(run: VerifyRun, messages: Messages): string {
  if (run.error !== null) return messages.get(outcomeOf(run) === 'unfit' ? 'verdictUnfit' : 'verdictFailed');
  if (run.against === null) return run.ok ? '-' : messages.get('verdictNoSound');
  if (run.identical) return messages.get('yes');
  const largest = run.largest_difference?.toPrecision(2) ?? '∞';
  const { same_device, against, first_difference, samples, differing_samples } = run;
  if (!same_device)
    return messages.get(run.ok ? 'verdictOtherDevice' : 'verdictNoSound', { largest, against });
  const first = first_difference ?? 0;
  return messages.get('verdictNo', { first, samples, count: differing_samples, largest, against });
}
