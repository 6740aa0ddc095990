import {
  type Ability,
  abilityWords,
  type ErrorBody,
  type ErrorCode,
  plainWriter,
  type Said,
  StudioError,
  sentenceOf,
} from '../contract/index.ts';
import { reasonInChinese, valueInChinese } from '../contract/words.zh-CN.ts';
import { wordsOfOptions, zhErrors } from './errors.zh-CN.ts';
import { en, type MessageKey } from './messages.en.ts';
import { zhCN } from './messages.zh-CN.ts';
import { size } from './size.ts';

export type Language = 'en' | 'zh-CN';
export type Params = Record<string, string | number>;

/** Chinese where the locale says so; everything else reads English. */
export function languageOf(env: NodeJS.ProcessEnv, systemLocale: string): Language {
  const locale = env.LC_ALL || env.LC_MESSAGES || env.LANG || systemLocale;
  return /^zh\b|^zh[_-]/i.test(locale) ? 'zh-CN' : 'en';
}

/** An error that came as data. */
export function errorOf(body: ErrorBody): StudioError {
  return StudioError.fromBody(body);
}

/** Fill `{name}` places. Null when a name is missing. */
export function fill(template: string, params: Params): string | null {
  let complete = true;
  const text = template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (Object.hasOwn(params, name)) return String(params[name]);
    complete = false;
    return whole;
  });
  return complete ? text : null;
}

/** Sizes in MiB as everywhere on the terminal; times in words. */
const chineseNumbers = {
  ...plainWriter,
  milliseconds: (value: number) => `${value} 毫秒`,
  seconds: (value: number) => `${value} 秒`,
};

export class Messages {
  constructor(readonly language: Language) {}

  get(key: MessageKey, params: Params = {}): string {
    const template = this.language === 'zh-CN' ? zhCN[key] : en[key];
    const text = fill(template, params);
    if (text === null) throw new Error(`The message ${key} lacks one of its values.`);
    return text;
  }

  /** Sentences after each other. */
  join(sentences: readonly string[]): string {
    return sentences.join(this.language === 'zh-CN' ? '' : ' ');
  }

  /** Names after each other. */
  list(names: readonly string[]): string {
    return names.join(this.language === 'zh-CN' ? '、' : ', ');
  }

  /** Words of the studio's own that stand in a table. */
  value(place: string, english: string): string {
    return this.language === 'zh-CN' ? valueInChinese(place, english) : english;
  }

  /** A decision, a warning or a reason in the person's language. */
  said(said: Said): string {
    if (this.language === 'en') return said.message;
    const { code, error } = said;
    const params = error === undefined ? said.params : { ...said.params, reason: this.error(errorOf(error)) };
    return sentenceOf({ code, params }, this.language, chineseNumbers);
  }

  /** The sentence of an error in the person's language: the most telling one that its values fit. */
  error(error: StudioError): string {
    if (this.language === 'en') return error.message;
    if (error instanceof CommandError) return this.get(error.key, ownInChinese(error.values));
    const params = inChinese(error.params);
    for (const template of [zhErrors[error.code]].flat()) {
      const text = fill(template, params);
      if (text !== null) return text;
    }
    return error.message;
  }
}

/** Bytes, as the native core tells them. */
const sizes = new Set(['needed', 'available']);

function valueIn(place: string, value: string | number): string | number {
  if (typeof value === 'string') return wordsOfOptions[place]?.[value] ?? valueInChinese(place, value);
  return sizes.has(place) ? size(value) : value;
}

/** Values that are words of the studio's own, not names; `why` is the reason, where it can be said in Chinese. */
function inChinese(params: Params): Params {
  const said = Object.fromEntries(
    Object.entries(params).map(([place, value]) => [place, valueIn(place, value)]),
  );
  const ability = abilityWords[params.ability as Ability];
  if (ability !== undefined) said.ability = ability['zh-CN'];
  const why = typeof params.reason === 'string' ? reasonInChinese(params.reason) : null;
  if (why !== null) said.why = why;
  if (params.script === 'symbols') said.unspoken = '文本中既没有文字也没有数字';
  return said;
}

/** What a person would write in the place of these, in `usage`. */
const placeholders: Record<string, string> = {
  NAME: '名称',
  FILE: '文件',
  FOLDER: '文件夹',
  MODEL: '模型',
  KEY: '键',
  VALUE: '值',
};

/** The same for errors of the command line itself. */
function ownInChinese(values: Params): Params {
  const { reason, why = reason, ...said } = inChinese(values);
  if (why !== undefined) said.reason = why;
  if (typeof said.usage === 'string') {
    said.usage = said.usage.replace(/\b[A-Z]+\b/g, (word) => placeholders[word] ?? word);
  }
  return said;
}

/** An error of the command line itself: its sentence is in the catalogue. */
export class CommandError extends StudioError {
  constructor(
    code: ErrorCode,
    readonly key: MessageKey,
    readonly values: Params = {},
    options: { cause?: unknown } = {},
  ) {
    super(code, new Messages('en').get(key, values), { params: values, cause: options.cause });
  }
}
