import type { MessageKey } from './messages.en.ts';

interface OptionSpec {
  type: 'string' | 'boolean';
  short?: string;
  multiple?: boolean;
}

export interface CommandSpec {
  options: Record<string, OptionSpec>;
  /** Most arguments beside options; default 0. */
  arguments?: number;
  help: MessageKey;
}

const common: Record<string, OptionSpec> = {
  json: { type: 'boolean' },
  quiet: { type: 'boolean', short: 'q' },
  verbose: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
};

/** Every command with its options: parsing, nearest names and help all read this. */
export const commands = {
  say: {
    options: {
      ...common,
      file: { type: 'string', short: 'f' },
      out: { type: 'string', short: 'o' },
      engine: { type: 'string', short: 'e' },
      model: { type: 'string', short: 'm' },
      voice: { type: 'string', short: 'v' },
      language: { type: 'string', short: 'l' },
      instruct: { type: 'string', short: 'i' },
      reference: { type: 'string', short: 'r' },
      'reference-text': { type: 'string' },
      set: { type: 'string', multiple: true },
      seed: { type: 'string' },
      speed: { type: 'string' },
      pitch: { type: 'string' },
      setting: { type: 'string', short: 's', multiple: true },
      encoding: { type: 'string' },
      stream: { type: 'boolean' },
    },
    arguments: Number.POSITIVE_INFINITY,
    help: 'helpSay',
  },
  engines: { options: common, help: 'helpEngines' },
  voices: {
    options: {
      ...common,
      engine: { type: 'string', short: 'e' },
      text: { type: 'string' },
      language: { type: 'string', short: 'l' },
      name: { type: 'string' },
    },
    arguments: Number.POSITIVE_INFINITY,
    help: 'helpVoices',
  },
  models: {
    options: { ...common, name: { type: 'string' } },
    arguments: Number.POSITIVE_INFINITY,
    help: 'helpModels',
  },
  devices: { options: common, help: 'helpDevices' },
  runtime: { options: { ...common, watch: { type: 'boolean', short: 'w' } }, help: 'helpRuntime' },
  verify: {
    options: {
      ...common,
      engine: { type: 'string', short: 'e' },
      text: { type: 'string' },
      setting: { type: 'string', short: 's', multiple: true },
    },
    help: 'helpVerify',
  },
  doctor: { options: common, help: 'helpDoctor' },
  settings: { options: common, arguments: Number.POSITIVE_INFINITY, help: 'helpSettings' },
  help: { options: common, arguments: 1, help: 'helpHelp' },
  version: { options: common, help: 'helpVersion' },
} as const satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof commands;
export const commandNames = Object.keys(commands) as CommandName[];
