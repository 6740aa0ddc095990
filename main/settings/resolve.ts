import { totalmem } from 'node:os';
import { z } from 'zod';
import {
  defaultSettings,
  type SettingKey,
  type Settings,
  StudioError,
  settingKeys,
  settingSchemas,
} from '../contract/index.ts';
import { checkContradictions } from '../runtime/contradictions.ts';
import { nearest } from './nearest.ts';

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(settingSchemas, key);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The part of JSON Schema that settings use. */
interface Accepts {
  type?: string;
  enum?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  anyOf?: Accepts[];
  items?: Accepts;
}

/** What a setting accepts: in English words, and as a short notation that every language can show. */
export function describeSetting(key: SettingKey): { words: string; notation: string } {
  return inWords(z.toJSONSchema(settingSchemas[key], { io: 'input' }) as Accepts);
}

function inWords(schema: Accepts): { words: string; notation: string } {
  if (schema.anyOf) {
    const parts = schema.anyOf.map(inWords);
    return {
      words: parts.map((part) => part.words).join(', or '),
      notation: parts.map((part) => part.notation).join(' | '),
    };
  }
  if (schema.enum) return { words: `one of ${schema.enum.join(', ')}`, notation: schema.enum.join(' | ') };
  if (schema.type === 'null') return { words: 'null', notation: 'null' };
  if (schema.type === 'boolean') return { words: 'true or false', notation: 'true | false' };
  if (schema.type === 'array' && schema.items) {
    const item = inWords(schema.items);
    return { words: `a list, each ${item.words}`, notation: `[${item.notation}, ...]` };
  }
  if (schema.type !== 'integer' && schema.type !== 'number') return { words: 'text', notation: 'text' };
  const whole = schema.type === 'integer';
  const words = [whole ? 'a whole number' : 'a number'];
  const notation = [whole ? 'integer' : 'number'];
  const { minimum, exclusiveMinimum, maximum } = schema;
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (minimum !== undefined) {
    words.push(bounded ? `from ${minimum} to ${maximum}` : `of at least ${minimum}`);
    notation.push(bounded ? `${minimum}..${maximum}` : `>= ${minimum}`);
  } else if (exclusiveMinimum !== undefined) {
    words.push(`above ${exclusiveMinimum}`);
    notation.push(`> ${exclusiveMinimum}`);
  }
  return { words: words.join(' '), notation: notation.join(' ') };
}

export function unknownSetting(key: string): StudioError {
  const near = nearest(key, settingKeys);
  const help = near ? `Did you mean ${near}?` : 'The list of settings is shown by "mizuoto settings get".';
  return new StudioError('unknown_setting', `There is no setting named ${shown(key)}. ${help}`, {
    params: { key: key.slice(0, 100), ...(near ? { nearest: near } : {}) },
  });
}

/** One value checked against its schema. Throws unknown_setting or invalid_setting. */
export function parseSetting(key: string, value: unknown): unknown {
  if (!isSettingKey(key)) throw unknownSetting(key);
  const parsed = value === undefined ? { success: false as const } : settingSchemas[key].safeParse(value);
  if (parsed.success) return parsed.data;
  const { words, notation } = describeSetting(key);
  throw new StudioError('invalid_setting', `${key} cannot be ${shown(value)}: it takes ${words}.`, {
    params: { key, value: shown(value), expected: notation },
  });
}

/** A patch as the contract carries it -> typed values. The first bad key is an error; nothing is applied by halves. */
export function parsePatch(patch: Record<string, unknown>): Partial<Settings> {
  return Object.fromEntries(
    Object.entries(patch).map(([key, value]) => [key, parseSetting(key, value)]),
  ) as Partial<Settings>;
}

/** Settings that contradict each other, or this computer, are refused with their names and the numbers. */
export function checkTogether(settings: Settings): void {
  checkContradictions(settings, totalmem());
  const mode = settings['compute.vram_mode'];
  const limit = settings['compute.vram_limit_mb'];
  const reserve = settings['compute.vram_reserve_mb'];
  if (limit !== null && limit <= reserve && mode === 'high') {
    throw new StudioError(
      'contradictory_settings',
      `compute.vram_mode high loads models whole, but compute.vram_limit_mb (${limit} MiB) leaves nothing above ` +
        `compute.vram_reserve_mb (${reserve} MiB). Raise the limit, lower the reserve, or choose another mode.`,
      { params: { settings: 'compute.vram_limit_mb, compute.vram_reserve_mb', limit, reserve } },
    );
  }
}

/** Settings in force for one request. `ui.*` belongs to the window, so a request cannot carry it. */
export function effectiveSettings(base: Settings, patch: Record<string, unknown>): Settings {
  for (const key of Object.keys(patch)) {
    if (isSettingKey(key) && key.startsWith('ui.')) {
      throw new StudioError(
        'invalid_setting',
        `${key} belongs to the window and cannot be set for one request. Change it with "mizuoto settings set".`,
        { params: { key, window: key } },
      );
    }
  }
  const settings = { ...base, ...parsePatch(patch) };
  checkTogether(settings);
  return settings;
}

/** What differs from the defaults: the only values worth keeping, so that a better default reaches everyone. */
export function chosen(settings: Settings): Partial<Settings> {
  const defaults = defaultSettings();
  return Object.fromEntries(
    settingKeys
      .filter((key) => JSON.stringify(settings[key]) !== JSON.stringify(defaults[key]))
      .map((key) => [key, settings[key]]),
  ) as Partial<Settings>;
}
