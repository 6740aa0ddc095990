import type { VerifyReport, VerifyRun } from '../contract/index.ts';
import type { Parsed } from './arguments.ts';
import { withHost } from './listings.ts';
import type { MessageKey } from './messages.en.ts';
import { errorOf } from './messages.ts';
import { readSetting } from './say.ts';
import { checkFailedExit, harmless, print, printJson, type Surroundings, table } from './terminal.ts';

const runKeys: Record<VerifyRun['run'], MessageKey> = {
  plain: 'runPlain',
  streamed: 'runStreamed',
  halfway: 'runHalfway',
  whole: 'runWhole',
  'out of memory': 'runOutOfMemory',
  'as set': 'runAsSet',
  resident: 'runResident',
  partly: 'runPartly',
};

/** `mizuoto verify`: the same request in every way that memory can be managed. */
export async function verify({ strings, lists }: Parsed, around: Surroundings): Promise<number> {
  const request = {
    settings: Object.fromEntries((lists.setting ?? []).map(readSetting)),
    ...(strings.engine === undefined ? {} : { engine: strings.engine }),
    ...(strings.text === undefined ? {} : { text: strings.text }),
  };
  const live = Boolean(around.stderr.isTTY) && !around.quiet;
  const report = await withHost(around, async (client) => {
    let done = 0;
    client.on('verify.run', (run) => {
      done++;
      if (live) around.stderr.write(`\r${done}  ${run.engine}: ${runName(run, around)}\x1b[K`);
    });
    try {
      return await client.call('verify.run', request);
    } finally {
      if (live) around.stderr.write('\r\x1b[K');
    }
  });
  if (around.json) await printJson(around, report);
  else await print(around, verifyText(report, around));
  return report.ok ? 0 : checkFailedExit;
}

function verifyText({ ok, runs }: VerifyReport, around: Surroundings): string {
  const { messages } = around;
  const head = (
    ['Engine', 'Run', 'Device', 'Streamed', 'Resident', 'Seconds', 'Retries', 'Identical'] as const
  ).map((name) => messages.get(`column${name}`));
  const rows = runs.map((run) => [
    run.engine,
    runName(run, around),
    run.device_mb === null ? run.device : `${run.device} ${run.device_mb} MiB`,
    run.streamed_mb.toFixed(1),
    run.resident_mb.toFixed(1),
    run.seconds.toFixed(2),
    String(run.retries),
    verdict(run, around),
  ]);
  const bad = runs.filter((run) => !run.ok).length;
  const summary = ok
    ? messages.get('verifySame', { runs: runs.length })
    : messages.get('verifyDiffers', { runs: runs.length, bad });
  return `${table(head, rows)}\n\n${summary}`;
}

function runName({ run, stage }: VerifyRun, { messages }: Pick<Surroundings, 'messages'>): string {
  return messages.get(runKeys[run], { stage: stage ?? '' });
}

function verdict(run: VerifyRun, { messages }: Surroundings): string {
  if (run.error !== null)
    return harmless(messages.get('verdictFailed', { reason: messages.error(errorOf(run.error)) }));
  if (run.against === null) return run.ok ? '-' : messages.get('verdictNoSound');
  if (run.identical) return messages.get('yes');
  const largest = run.largest_difference?.toPrecision(2) ?? '∞';
  const { same_device, against, first_difference, samples, differing_samples } = run;
  if (!same_device)
    return messages.get(run.ok ? 'verdictOtherDevice' : 'verdictNoSound', { largest, against });
  const first = first_difference ?? 0;
  return messages.get('verdictNo', { first, samples, count: differing_samples, largest, against });
}
