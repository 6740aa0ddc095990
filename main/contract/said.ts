import { z } from 'zod';
import { type ErrorBody, errorSchema } from './errors.ts';
import { sentencesEn } from './sentences.en.ts';
import { sentencesZh } from './sentences.zh-CN.ts';
import { listInChinese, reasonInChinese, wordsInChinese } from './words.zh-CN.ts';

export type SaidCode = keyof typeof sentencesEn;
export type SaidParams = Record<string, string | number>;

/** Something the studio says that is no error: a stable code, and the names and numbers of its sentence. */
export const saidSchema = z.object({
  code: z.enum(Object.keys(sentencesEn) as [SaidCode, ...SaidCode[]]),
  /** One English sentence, for those who read JSON. */
  message: z.string(),
  params: z.record(z.string(), z.union([z.string(), z.number()])),
  /** The error behind it: its sentence is the `reason`, which each reader has in its own language. */
  error: errorSchema.optional(),
});
export type Said = z.infer<typeof saidSchema>;

type TextKind = 'words' | 'reason' | 'list';
type ValueKind = 'size' | 'milliseconds' | 'seconds' | TextKind;

/** What a value means, by its name. Numbers that are not here are counts. */
const valueKinds: Partial<Record<string, ValueKind>> = {
  // Sizes in MiB.
  bytes: 'size',
  cap: 'size',
  estimate: 'size',
  free: 'size',
  held: 'size',
  loaded: 'size',
  mapped: 'size',
  copied: 'size',
  needed: 'size',
  possible: 'size',
  reserve: 'size',
  reserved: 'size',
  next: 'size',
  set: 'size',
  usable: 'size',
  short: 'size',
  size: 'size',
  slots: 'size',
  streamed: 'size',
  working: 'size',
  time: 'milliseconds',
  rule: 'milliseconds',
  compute: 'milliseconds',
  seconds: 'seconds',
  /** Names of writing systems, joined by `, `. */
  scripts: 'words',
  /** `speed` or `pitch`. */
  parameter: 'words',
  /** What went wrong, as part of a sentence. */
  reason: 'reason',
  why: 'reason',
  how: 'reason',
  /** Names, joined by `, `. */
  known: 'list',
};

const textsInChinese: Record<TextKind, (english: string) => string> = {
  words: wordsInChinese,
  // What is not known in Chinese is better said in English than not at all.
  reason: (english) => reasonInChinese(english) ?? english,
  list: listInChinese,
};
const isText = (kind: ValueKind | undefined): kind is TextKind =>
  kind !== undefined && kind in textsInChinese;

/** How a reader writes values. */
export interface ValueWriter {
  size(mebibytes: number): string;
  milliseconds(value: number): string;
  seconds(value: number): string;
  number(value: number): string;
  /** Words of the studio's own, in the reader's language. */
  text(kind: TextKind, english: string): string;
}

const place = /\{(\w+)\}/g;

/** Fills a sentence's places; a value that is missing shows as `?`. */
function fillSentence(template: string, params: SaidParams, writer: ValueWriter): string {
  return template.replace(place, (_, name: string) => {
    const value = params[name];
    if (value === undefined) return '?';
    const kind = valueKinds[name];
    if (typeof value === 'number') {
      if (kind === 'size') return writer.size(value);
      if (kind === 'milliseconds') return writer.milliseconds(value);
      if (kind === 'seconds') return writer.seconds(value);
      return writer.number(value);
    }
    return isText(kind) ? writer.text(kind, value) : value;
  });
}

/** The sentence in a language, with numbers as its reader writes them. */
export function sentenceOf(
  said: Pick<Said, 'code' | 'params'>,
  language: 'en' | 'zh-CN',
  numbers: Omit<ValueWriter, 'text'>,
): string {
  if (language === 'en')
    return fillSentence(sentencesEn[said.code], said.params, { ...plainWriter, ...numbers });
  return fillSentence(sentencesZh[said.code], said.params, {
    ...numbers,
    text: (kind, english) => textsInChinese[kind](english),
  });
}

/** 36200 -> `36,200`. `Intl` would take most of the time of a plan that gives its reasons. */
function grouped(value: number): string {
  if (Math.abs(value) < 1000) return String(value);
  const [whole, fraction] = String(value).split('.');
  const digits = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** Values in plain English, sizes in MiB: for messages that are made where no language is known. */
export const plainWriter: ValueWriter = {
  size: (mebibytes) => `${grouped(mebibytes)} MiB`,
  milliseconds: (value) => `${grouped(value)} ms`,
  seconds: (value) => `${grouped(value)} s`,
  number: grouped,
  text: (_kind, english) => english,
};

export function say(code: SaidCode, params: SaidParams = {}): Said {
  return { code, message: fillSentence(sentencesEn[code], params, plainWriter), params };
}

/** Of the studio's own files: settings, models, voices, measurements. */
export function isOfFiles({ code }: Pick<Said, 'code'>): boolean {
  return /^(settings|models|calibration)_|^voice_left_out$/.test(code);
}

/** The same where an error is the reason: its own sentence stands in the place `reason`. */
export function sayOfError(code: SaidCode, error: ErrorBody, params: SaidParams = {}): Said {
  return { ...say(code, { ...params, reason: error.message }), error };
}
