import { exitCode, StudioError } from '../contract/index.ts';
import { toErrorBody } from '../host/failures.ts';
import { type Parsed, parseCommandLine } from './arguments.ts';
import type { CommandName } from './commands.ts';
import { doctor } from './doctor.ts';
import { help } from './help.ts';
import { listDevices, listEngines, showVersion } from './listings.ts';
import { CommandError } from './messages.ts';
import { modelsCommand } from './models-command.ts';
import { showRuntime } from './runtime.ts';
import { say } from './say.ts';
import { settingsCommand } from './settings-command.ts';
import { harmless, printJson, type Surroundings } from './terminal.ts';
import { verify } from './verify.ts';
import { voicesCommand } from './voices-command.ts';

/** Resolves with an exit code where success is not all that can be said. */
type Command = Run<void> | Run<number>;
type Run<T> = (parsed: Parsed, around: Surroundings) => Promise<T>;

const table: Record<CommandName, Command> = {
  say,
  engines: listEngines,
  voices: voicesCommand,
  models: modelsCommand,
  devices: listDevices,
  runtime: showRuntime,
  verify,
  doctor,
  settings: settingsCommand,
  help,
  version: showVersion,
};

/** What the exit code is when the reader of our output is gone: 128 + SIGPIPE, as the shell would report it. */
export const brokenPipeExit = 141;

/** Runs one command line; resolves with its exit code and never rejects. */
export async function run(
  args: string[],
  base: Omit<Surroundings, 'quiet' | 'verbose' | 'json'>,
): Promise<number> {
  // Known before parsing, so that an error of the parsing itself is reported as asked for.
  const around: Surroundings = {
    ...base,
    quiet: false,
    verbose: false,
    json: beforeDashes(args).includes('--json'),
  };
  try {
    const parsed = parseCommandLine(args);
    around.quiet = parsed.flags.has('quiet');
    around.verbose = parsed.flags.has('verbose');
    around.json = parsed.flags.has('json');
    return (await table[parsed.command](parsed, around)) ?? 0;
  } catch (error) {
    return failed(error, around).catch(() => brokenPipeExit);
  }
}

function beforeDashes(args: string[]): string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

async function failed(error: unknown, around: Surroundings): Promise<number> {
  if (isBrokenPipe(error) || isBrokenPipe(around.signal.reason)) return brokenPipeExit;
  const studio = error instanceof StudioError ? error : StudioError.fromBody(toErrorBody(error));
  const { messages } = around;
  const near = error instanceof CommandError && 'near' in error ? (error.near as string | null) : null;
  if (around.json) {
    const body = studio.toBody();
    const params = near === null ? body.params : { ...body.params, nearest: near };
    await printJson(around, { error: { ...body, params } });
  } else {
    const sentences = [messages.error(studio)];
    if (near !== null) sentences.push(messages.get('didYouMean', { near }));
    else if (error instanceof CommandError && error.key.startsWith('unknown'))
      sentences.push(messages.get('seeHelp'));
    // An error is said even when everything else is quiet.
    around.stderr.write(
      `mizuoto: ${harmless(messages.join(sentences))}${messages.get('hintCode', { code: studio.code })}\n`,
    );
  }
  if (around.verbose && studio.detail) around.stderr.write(`${harmless(studio.detail)}\n`);
  return exitCode(studio.code);
}

export function isBrokenPipe(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'EPIPE' || code === 'EOF' || code === 'ERR_STREAM_DESTROYED';
}
