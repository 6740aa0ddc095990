import { inLanguage, type SavedVoice } from '../contract/index.ts';
import { findEngine } from '../host/speech-model.ts';
import { nearest } from '../settings/nearest.ts';
import { clip, type Parsed } from './arguments.ts';
import { readAudio } from './audio-input.ts';
import { withHost } from './listings.ts';
import { CommandError } from './messages.ts';
import { harmless, print, printJson, remark, type Surroundings, table } from './terminal.ts';

const actions = ['list', 'add', 'change', 'remove'] as const;
type Action = (typeof actions)[number];

/** Options that mean something for an action; the common ones always do. */
const optionsOf: Record<Action, string[]> = {
  list: ['engine'],
  add: ['text', 'language'],
  change: ['name', 'text', 'language'],
  remove: [],
};
const argumentsOf: Record<Action, string[]> = {
  list: [],
  add: ['NAME', 'FILE'],
  change: ['NAME'],
  remove: ['NAME'],
};

/** `mizuoto voices [list] | add NAME FILE | change NAME | remove NAME`. */
export async function voicesCommand(parsed: Parsed, around: Surroundings): Promise<void> {
  const [asked = 'list', ...rest] = parsed.positionals;
  const action = actions.find((known) => known === asked);
  if (action === undefined) {
    const error = new CommandError('invalid_request', 'unknownAction', {
      command: 'voices',
      action: clip(asked),
      actions: actions.join(', '),
    });
    throw Object.assign(error, { near: nearest(asked, actions) });
  }
  checkOptions(action, parsed, rest);
  const [name = '', file = ''] = rest;
  if (action === 'list') return list(parsed.strings.engine, around);
  if (action === 'add') return add(name, file, parsed.strings, around);
  if (action === 'change') return change(name, parsed.strings, around);
  const { voice } = await withHost(around, (client) => client.call('voices.remove', { voice: name }));
  await said(voice, 'voiceRemoved', around);
}

function checkOptions(action: Action, { strings }: Parsed, rest: string[]): void {
  const wanted = argumentsOf[action];
  const spare = rest[wanted.length];
  if (spare !== undefined) {
    throw new CommandError('invalid_request', 'tooManyArguments', {
      command: `voices ${action}`,
      argument: clip(spare),
    });
  }
  if (rest.length < wanted.length) {
    throw new CommandError('invalid_request', 'actionNeedsArgument', {
      usage: `mizuoto voices ${action} ${wanted.join(' ')}`,
    });
  }
  const stray = Object.keys(strings).find((option) => !optionsOf[action].includes(option));
  if (stray === undefined) return;
  const fitting = actions.filter((other) => optionsOf[other].includes(stray));
  throw new CommandError('invalid_request', 'optionOnlyFor', {
    option: `--${stray}`,
    commands: fitting.map((other) => `mizuoto voices ${other}`).join(', '),
  });
}

async function list(engine: string | undefined, around: Surroundings): Promise<void> {
  const [{ engines }, saved] = await withHost(around, async (client) => [
    await client.call('engines.list', {}),
    (await client.call('voices.list', {})).voices,
  ]);
  const chosen = engine === undefined ? engines : [findEngine(engine, { engines })];
  const speakers = chosen.flatMap((one) => one.voices.map((voice) => ({ engine: one.id, ...voice })));
  // A saved voice belongs to no engine: every model that clones can speak it.
  const shown = engine === undefined ? saved : [];
  if (around.json) return printJson(around, { voices: speakers, saved: shown });
  const { messages } = around;
  const head = (['Engine', 'Voice', 'Name', 'Language', 'Description'] as const).map((name) =>
    messages.get(`column${name}`),
  );
  const rows = [
    ...speakers.map((voice) => [
      voice.engine,
      voice.id,
      voice.name,
      voice.language,
      inLanguage(messages.language, voice.description, voice.description_in),
    ]),
    ...shown.map((voice) => [
      messages.get('savedVoice'),
      voice.id,
      harmless(voice.name),
      voice.language ?? '-',
      messages.get(voice.text === null ? 'savedVoiceLength' : 'savedVoiceText', {
        seconds: voice.seconds.toFixed(1),
      }),
    ]),
  ];
  await print(around, table(head, rows));
}

async function add(
  name: string,
  file: string,
  { text, language }: Parsed['strings'],
  around: Surroundings,
): Promise<void> {
  const audio = await readAudio(file, around);
  const request = { name, audio, text: text ?? null, language: language ?? null };
  const { voice } = await withHost(around, (client) => client.call('voices.add', request));
  for (const warning of voice.warnings) {
    remark(around, around.messages.get('warning', { message: harmless(around.messages.said(warning)) }));
  }
  await said(voice, 'voiceSaved', around);
}

async function change(name: string, strings: Parsed['strings'], around: Surroundings): Promise<void> {
  const { name: renamed, text, language } = strings;
  const given = { name: renamed, text, language };
  const wanted = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (Object.keys(wanted).length === 0) {
    throw new CommandError('invalid_request', 'nothingToChange');
  }
  const { voice } = await withHost(around, (client) =>
    client.call('voices.update', { voice: name, ...wanted }),
  );
  await said(voice, 'voiceChanged', around);
}

async function said(
  voice: SavedVoice,
  key: 'voiceSaved' | 'voiceChanged' | 'voiceRemoved',
  around: Surroundings,
): Promise<void> {
  if (around.json) return printJson(around, { voice });
  if (around.quiet) return print(around, voice.id);
  const values = { name: voice.name, voice: voice.id, seconds: voice.seconds.toFixed(1) };
  await print(around, harmless(around.messages.get(key, values)));
}
