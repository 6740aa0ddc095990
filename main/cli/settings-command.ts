import { defaultSettings, type Settings, settingKeys } from '../contract/index.ts';
import { nearest } from '../settings/nearest.ts';
import { isSettingKey, unknownSetting } from '../settings/resolve.ts';
import { clip, type Parsed } from './arguments.ts';
import { withHost } from './listings.ts';
import { CommandError } from './messages.ts';
import { readSetting } from './say.ts';
import { print, printJson, type Surroundings } from './terminal.ts';

const actions = ['get', 'set', 'reset'] as const;

/** `mizuoto settings get|set|reset`. */
export async function settingsCommand(parsed: Parsed, around: Surroundings): Promise<void> {
  const [action, ...rest] = parsed.positionals;
  if (action === 'get') return get(rest, around);
  if (action === 'set')
    return change(Object.fromEntries(needed('set', 'KEY=VALUE', rest).map(readSetting)), around);
  if (action === 'reset') {
    const defaults = defaultSettings();
    const keys = needed('reset', 'KEY', rest).map(checkedKey);
    return change(Object.fromEntries(keys.map((key) => [key, defaults[key]])), around);
  }
  const error = new CommandError('invalid_request', 'settingsNeedsAction');
  throw Object.assign(error, { near: action === undefined ? null : nearest(action, actions) });
}

function needed(action: string, usage: string, rest: string[]): string[] {
  if (rest.length > 0) return rest;
  throw new CommandError('invalid_request', 'settingsNeedsKeys', { action, usage });
}

function checkedKey(key: string): keyof Settings {
  if (isSettingKey(key)) return key;
  throw unknownSetting(key);
}

async function get(keys: string[], around: Surroundings): Promise<void> {
  const [key, extra] = keys;
  if (extra !== undefined) {
    throw new CommandError('invalid_request', 'tooManyArguments', {
      command: 'settings get',
      argument: clip(extra),
    });
  }
  const wanted = key === undefined ? null : checkedKey(key);
  const settings = await withHost(around, (client) => client.call('settings.get', {}));
  if (wanted !== null) {
    const value = settings[wanted];
    if (around.json) return printJson(around, { [wanted]: value });
    return print(around, plain(value));
  }
  if (around.json) return printJson(around, settings);
  const defaults = defaultSettings();
  const lines = settingKeys.map((name) => {
    const mark = JSON.stringify(settings[name]) === JSON.stringify(defaults[name]) ? ' ' : '*';
    return `${mark} ${name} = ${plain(settings[name])}`;
  });
  if (!around.quiet) lines.push('', around.messages.get('settingsPath'));
  await print(around, lines.join('\n'));
}

async function change(patch: Record<string, unknown>, around: Surroundings): Promise<void> {
  const settings = await withHost(around, (client) => client.call('settings.set', { patch }));
  const keys = Object.keys(patch) as (keyof Settings)[];
  if (around.json) return printJson(around, Object.fromEntries(keys.map((key) => [key, settings[key]])));
  if (around.quiet) return;
  for (const key of keys) {
    await print(around, around.messages.get('settingChanged', { key, value: plain(settings[key]) }));
  }
}

/** Text as it is, everything else as JSON: what `settings set` reads back. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
