import { parseArgs } from 'node:util';
import { nearest } from '../settings/nearest.ts';
import { type CommandName, type CommandSpec, commandNames, commands } from './commands.ts';
import { CommandError } from './messages.ts';

export interface Parsed {
  command: CommandName;
  /** Arguments beside options, in order. */
  positionals: string[];
  strings: Record<string, string>;
  lists: Record<string, string[]>;
  flags: Set<string>;
}

/** What stands before the sentence about a near name. */
function withNearest(error: CommandError, near: string | null): CommandError {
  return near === null ? error : Object.assign(error, { near });
}

/** The command line without `node` and script -> command and options. Throws CommandError. */
export function parseCommandLine(args: string[]): Parsed {
  const [first = 'help', ...rest] = args;
  if (first === '--version' || first === '-V') return parseOptions('version', rest);
  if (first === '--help' || first === '-h') return parseOptions('help', rest);
  if (commandNames.includes(first as CommandName)) {
    const parsed = parseOptions(first as CommandName, rest);
    if (!parsed.flags.has('help') || parsed.command === 'help') return parsed;
    return { ...parsed, command: 'help', positionals: [parsed.command] };
  }
  throw withNearest(
    new CommandError('invalid_request', 'unknownCommand', { name: clip(first) }),
    nearest(first, commandNames),
  );
}

export function clip(text: string): string {
  const letters = [...text];
  return letters.length > 40 ? `${letters.slice(0, 39).join('')}…` : text;
}

function parseOptions(command: CommandName, args: string[]): Parsed {
  const spec: CommandSpec = commands[command];
  const { tokens } = parseArgs({
    args,
    options: spec.options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const parsed: Parsed = { command, positionals: [], strings: {}, lists: {}, flags: new Set() };
  for (const token of tokens) {
    if (token.kind === 'positional') parsed.positionals.push(token.value);
    else if (token.kind === 'option') takeOption(spec, parsed, token, args);
  }
  const most = spec.arguments ?? 0;
  if (parsed.positionals.length > most) {
    throw new CommandError('invalid_request', 'tooManyArguments', {
      command,
      argument: clip(parsed.positionals[most]!),
    });
  }
  return parsed;
}

interface OptionToken {
  index: number;
  name: string;
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}

function takeOption(spec: CommandSpec, parsed: Parsed, token: OptionToken, args: string[]): void {
  const option = Object.hasOwn(spec.options, token.name) ? spec.options[token.name] : undefined;
  if (!option) throw unknownOption(spec, parsed.command, token, args[token.index] ?? '');
  if (option.type === 'boolean') {
    if (token.value !== undefined) {
      throw new CommandError('invalid_request', 'optionTakesNoValue', { option: token.rawName });
    }
    parsed.flags.add(token.name);
    return;
  }
  const { value } = token;
  // "--out --json": the next option is not a value.
  const isOption = value !== undefined && !token.inlineValue && /^--[a-z]/.test(value);
  if (value === undefined || (isOption && Object.hasOwn(spec.options, value.slice(2).split('=')[0] ?? ''))) {
    throw new CommandError('invalid_request', 'optionNeedsValue', { option: token.rawName });
  }
  if (option.multiple) {
    const list = parsed.lists[token.name] ?? [];
    parsed.lists[token.name] = [...list, value];
  } else if (Object.hasOwn(parsed.strings, token.name)) {
    throw new CommandError('invalid_request', 'optionTwice', { option: token.rawName });
  } else parsed.strings[token.name] = value;
}

function unknownOption(
  spec: CommandSpec,
  command: CommandName,
  token: OptionToken,
  raw: string,
): CommandError {
  // A sentence such as "-5 degrees" looks like a bundle of short options.
  if (command === 'say' && /^-[^-]*\s/.test(raw)) {
    return new CommandError('invalid_request', 'textWithDash', { text: clip(raw) });
  }
  const near = token.rawName.startsWith('--') ? nearest(token.name, Object.keys(spec.options)) : null;
  return withNearest(
    new CommandError('invalid_request', 'unknownOption', { command, option: clip(token.rawName) }),
    near === null ? null : `--${near}`,
  );
}

/** `1.5` -> 1.5; anything that is not a plain number above 0 is an error. */
export function positiveNumber(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = plainNumber(option, value);
  if (number > 0) return number;
  throw new CommandError('invalid_request', 'optionNotPositive', { option, value: clip(value) });
}

export function wholeNumber(
  option: string,
  value: string | undefined,
  low: number,
  high: number,
): number | undefined {
  if (value === undefined) return undefined;
  const number = plainNumber(option, value);
  if (Number.isInteger(number) && number >= low && number <= high) return number;
  throw new CommandError('invalid_request', 'optionNotWhole', { option, value: clip(value), low, high });
}

function plainNumber(option: string, value: string): number {
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    const number = Number(value);
    if (Number.isFinite(number)) return number;
  }
  throw new CommandError('invalid_request', 'optionNotNumber', { option, value: clip(value) });
}

export function oneOf<T extends string>(
  option: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  if (value === undefined || known.includes(value as T)) return value as T | undefined;
  throw withNearest(
    new CommandError('invalid_request', 'optionNotOneOf', {
      option,
      value: clip(value),
      known: known.join(', '),
    }),
    nearest(value, known),
  );
}
