import packageJson from '../../package.json' with { type: 'json' };
import { errorCodes } from '../contract/index.ts';
import { nearest } from '../settings/nearest.ts';
import { clip, type Parsed } from './arguments.ts';
import { type CommandName, commandNames, commands } from './commands.ts';
import { CommandError } from './messages.ts';
import { print, printJson, type Surroundings } from './terminal.ts';

/** Each exit code that an error has, with the error codes behind it. */
export function exitCodeTable(): { exit: number; codes: string[] }[] {
  const byExit = new Map<number, string[]>();
  for (const [code, exit] of Object.entries(errorCodes))
    byExit.set(exit, [...(byExit.get(exit) ?? []), code]);
  return [...byExit].sort(([a], [b]) => a - b).map(([exit, codes]) => ({ exit, codes }));
}

export async function help(parsed: Parsed, around: Surroundings): Promise<void> {
  const { messages } = around;
  const [topic] = parsed.positionals;
  if (topic === undefined) return print(around, messages.get('helpMain', { version: packageJson.version }));
  if (topic === 'exit-codes') {
    if (around.json) return printJson(around, { exit_codes: errorCodes });
    const rows = exitCodeTable().map(({ exit, codes }) => `${String(exit).padStart(5)}  ${codes.join(', ')}`);
    return print(around, messages.get('helpExitCodes', { table: rows.join('\n') }));
  }
  if (!commandNames.includes(topic as CommandName)) {
    const error = new CommandError('invalid_request', 'unknownTopic', { name: clip(topic) });
    throw Object.assign(error, { near: nearest(topic, [...commandNames, 'exit-codes']) });
  }
  return print(around, messages.get(commands[topic as CommandName].help));
}
