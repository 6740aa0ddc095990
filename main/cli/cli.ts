import { removeUnfinishedFiles } from '../audio/atomic-file.ts';
import { exitCode, StudioError } from '../contract/index.ts';
import { toErrorBody } from '../host/failures.ts';
import { languageOf, Messages } from './messages.ts';
import { brokenPipeExit, isBrokenPipe, run } from './run.ts';

const abort = new AbortController();
const messages = new Messages(languageOf(process.env, Intl.DateTimeFormat().resolvedOptions().locale));
let endedBy: number | null = null;

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** The first signal stops the work and tidies up, the second ends at once; a third one is the system's to answer. */
function stop(exit: number): void {
  if (endedBy !== null) {
    for (const signal of Object.keys(signals)) process.removeAllListeners(signal);
    process.exit(endedBy);
  }
  endedBy = exit;
  if (process.stderr.isTTY) process.stderr.write(`\n${messages.get('cancelling')}\n`);
  abort.abort();
}

// However the program ends, no half-written file stays.
process.on('exit', removeUnfinishedFiles);
for (const [signal, exit] of Object.entries(signals)) process.on(signal, () => stop(exit));

// Whoever read our output has gone: stop computing, say nothing.
process.stdout.on('error', (error) => {
  if (!isBrokenPipe(error)) throw error;
  endedBy ??= brokenPipeExit;
  abort.abort(error);
});
process.stderr.on('error', () => {});

// What nothing caught (an output onto a full disk is such) is still one line and a code; whoever asked for details gets them.
process.on('uncaughtException', (error) => {
  const studio = StudioError.fromBody(toErrorBody(error));
  const detail = process.argv.includes('--verbose') ? `${error.stack}\n` : '';
  process.stderr.write(
    `mizuoto: ${messages.error(studio)}${messages.get('hintCode', { code: studio.code })}\n${detail}`,
  );
  process.exit(exitCode(studio.code));
});

// npm starts its scripts in the package's folder; names are relative to where the person is.
const { npm_lifecycle_event: script, INIT_CWD: whereTyped } = process.env;
const cwd = (script === 'say' || script === 'mizuoto') && whereTyped ? whereTyped : process.cwd();

const exit = await run(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd,
  messages,
  signal: abort.signal,
});
process.exitCode = endedBy ?? exit;
