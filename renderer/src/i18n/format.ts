import { wordsZh } from '../../../main/contract/words.zh-CN.ts';
import type { Language } from '../store/settings.ts';

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** ISO 15924 codes of the scripts that people paste. */
const scriptCodes: Record<string, string> = {
  Arabic: 'Arab',
  Bengali: 'Beng',
  Cyrillic: 'Cyrl',
  Devanagari: 'Deva',
  Greek: 'Grek',
  Han: 'Hani',
  Hangul: 'Hang',
  Hebrew: 'Hebr',
  Hiragana: 'Hira',
  Katakana: 'Kana',
  Latin: 'Latn',
  Tamil: 'Taml',
  Thai: 'Thai',
};

export interface Format {
  number(value: number, digits?: number): string;
  /** 1024 bytes to the kilobyte, as memory is sold and task managers count. */
  bytes(value: number): string;
  mebibytes(value: number): string;
  /** `free` without its unit and `total` with it: "21.3 of 23.4 GB". */
  bytesOf(part: number, whole: number): { part: string; whole: string };
  percent(fraction: number): string;
  /** With its sign: "+12%". */
  signedPercent(fraction: number): string;
  /** 0:07, 12:30, 1:02:03 */
  clock(seconds: number): string;
  /** A duration in words: "14 sec", "3 min 20 sec". */
  span(seconds: number): string;
  /** A short time, as exact as it is worth: "18 ms", "1.2 sec". */
  time(seconds: number): string;
  /** A speed-like factor: "1.25×". */
  factor(value: number): string;
  timeOfDay(milliseconds: number): string;
  /** With seconds, as in a log: "21:04:07". */
  exactTime(milliseconds: number): string;
  language(tag: string): string;
  /** A writing system by its English name: "Han", "Chinese", "Cyrillic"; null for one that has no common name. */
  script(name: string): string | null;
  list(items: string[]): string;
  /** Between a label and what it speaks of: for those who hear the window. */
  colon: string;
  /** Facts side by side: "Forming the sound · Chunk 2 of 5". */
  parts(items: string[]): string;
}

/** Numbers, sizes, times and lists as the language writes them. */
export function createFormat(language: Language): Format {
  const number = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options);
  const plain = [0, 1, 2, 3].map((digits) => number({ maximumFractionDigits: digits }));
  const percent = number({ style: 'percent', maximumFractionDigits: 0 });
  const signedPercent = number({ style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' });
  const factor = number({ minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' });
  const exactTime = new Intl.DateTimeFormat(language, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  const names = new Intl.DisplayNames(language, { type: 'language' });
  const scripts = new Intl.DisplayNames(language, { type: 'script' });
  const list = new Intl.ListFormat(language, { style: 'narrow', type: 'unit' });

  const unitIndex = (value: number): number => {
    let index = 0;
    // 1023.95 MB would be written "1,024 MB": it is a gigabyte.
    while (index < units.length - 1 && Math.abs(value) / 1024 ** index >= 1023.95) index++;
    return index;
  };
  const digitsFor = (value: number, index: number): number => (index === 0 || value >= 100 ? 0 : 1);
  const inUnit = (value: number, index: number): string => {
    const scaled = value / 1024 ** index;
    return number({
      style: 'unit',
      unit: units[index],
      unitDisplay: index === 0 ? 'long' : 'short',
      maximumFractionDigits: digitsFor(scaled, index),
    }).format(scaled);
  };
  const unit = (value: number, name: 'millisecond' | 'second' | 'minute' | 'hour', digits = 0): string =>
    number({ style: 'unit', unit: name, unitDisplay: 'short', maximumFractionDigits: digits }).format(value);

  const formatted: Format = {
    number: (value, digits = 0) => plain[Math.min(3, digits)]!.format(value),
    bytes: (value) => inUnit(value, unitIndex(value)),
    mebibytes: (value) => inUnit(value * 1024 ** 2, unitIndex(value * 1024 ** 2)),
    bytesOf: (part, whole) => {
      const index = unitIndex(whole);
      const scaled = part / 1024 ** index;
      return { part: plain[digitsFor(scaled, index)]!.format(scaled), whole: inUnit(whole, index) };
    },
    signedPercent: (fraction) => signedPercent.format(fraction),
    percent: (fraction) => percent.format(fraction),
    clock: (seconds) => {
      const whole = Math.max(0, Math.floor(seconds));
      const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
      const two = (value: number) => String(value).padStart(2, '0');
      return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
    },
    span: (seconds) => {
      if (seconds < 1) return unit(Math.max(0.1, seconds), 'second', 1);
      const whole = Math.round(seconds);
      if (whole < 60) return unit(whole, 'second');
      const minutes = Math.floor(whole / 60);
      if (minutes < 10) {
        return whole % 60 === 0
          ? unit(minutes, 'minute')
          : list.format([unit(minutes, 'minute'), unit(whole % 60, 'second')]);
      }
      const rounded = Math.round(whole / 60);
      if (rounded < 60) return unit(rounded, 'minute');
      return rounded % 60 === 0
        ? unit(rounded / 60, 'hour')
        : list.format([unit(Math.floor(rounded / 60), 'hour'), unit(rounded % 60, 'minute')]);
    },
    time: (seconds) => {
      if (seconds >= 60) return formatted.span(seconds);
      if (seconds >= 1) return unit(seconds, 'second', seconds < 10 ? 2 : 1);
      return unit(seconds * 1000, 'millisecond', seconds < 0.01 ? 1 : 0);
    },
    factor: (value) => `${factor.format(value)}×`,
    timeOfDay: (milliseconds) => time.format(milliseconds),
    exactTime: (milliseconds) => exactTime.format(milliseconds),
    language: (tag) => {
      try {
        return names.of(tag) ?? tag;
      } catch {
        return tag;
      }
    },
    script: (name) => {
      const code = scriptCodes[name];
      if (code !== undefined) return scripts.of(code) ?? null;
      const chinese = wordsZh[name];
      return chinese === undefined ? null : language === 'en' ? name : chinese;
    },
    colon: language === 'en' ? ': ' : '：',
    parts: (items) => items.join(' · '),
    list: (items) => new Intl.ListFormat(language, { type: 'conjunction' }).format(items),
  };
  return formatted;
}
