import type { Parsed } from './arguments.ts';
import { withHost } from './listings.ts';
import { readSetting } from './say.ts';
import { print, printJson, type Surroundings } from './terminal.ts';
import { runName, verifyExit, verifyText } from './verify-report.ts';

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
      if (live) around.stderr.write(`\r${done}  ${run.engine}: ${runName(run, around.messages)}\x1b[K`);
    });
    try {
      return await client.call('verify.run', request);
    } finally {
      if (live) around.stderr.write('\r\x1b[K');
    }
  });
  if (around.json) await printJson(around, report);
  else await print(around, verifyText(report, around.messages));
  return verifyExit(report);
}
