import { MiB } from '../policy.ts';

/**
 * Every decision in one sentence. `code` and `params` are what the window localises; `text` is the English sentence
 * for the log and the command line. Sizes in `params` are MiB.
 */
export interface Reason {
  code: ReasonCode;
  params: Record<string, string | number>;
  text: string;
}

const templates = {
  whole_fits:
    '{component} is whole on {device}: {size} MiB of weights and {working} MiB of working memory fit into {free} MiB.',
  whole_high: '{component} is placed whole because the mode is {mode}.',
  partial_budget:
    '{component} has {loaded} of {size} MiB on {device}; {streamed} MiB stream, because {free} MiB are free and {working} MiB are needed for working, {slots} MiB for copies in flight and {reserve} MiB as reserve.',
  partial_low:
    '{component} keeps only its fixed part and its hot units ({loaded} of {size} MiB) on {device}, because the mode is low.',
  partial_none:
    '{component} keeps only its fixed part ({loaded} of {size} MiB) on {device}, because the mode is none.',
  partial_capped:
    '{component} has at most {cap} of {size} MiB on {device} until it leaves, because a stage ran out of memory there.',
  gives_up: '{component} gives up {bytes} MiB ({units} units) for {name}: short by {short} MiB.',
  gives_up_whole: '{component} leaves {device} ({bytes} MiB) for {name}: short by {short} MiB.',
  gives_up_oom: '{component} leaves {device} ({bytes} MiB), because {name} ran out of memory.',
  gives_up_desktop: '{component} gives up {bytes} MiB, because another program took {short} MiB of {device}.',
  over_budget:
    '{name} needs at least {needed} MiB on {device} and {free} MiB are free beside the reserve; it is tried all the same.',
  working_too_large:
    '{name} needs {needed} MiB of working memory and at most {possible} MiB are possible on {device}; the longest length that fits is {largest}. Split it into {parts} parts of {part}.',
  working_impossible:
    '{name} needs {needed} MiB of working memory and at most {possible} MiB are possible on {device}.',
  residency_cost:
    '{component}: {resident} of {total} units are resident, chosen by time saved per byte: one pass takes {time} ms; by rule it would take {rule} ms, with everything resident {compute} ms.',
  residency_rule: '{component}: {resident} of {total} units are resident, {how}.',
  waiting: '{name} waits for {holder}, which holds {held} MiB on {device}.',
  wait_over: '{name} waited {seconds} s for {holder}; it is tried all the same.',
  retry:
    '{name} ran out of memory on {device}; attempt {attempt} of {attempts} with at most {cap} MiB of its weights there.',
  fallback: '{name} ran out of memory {attempts} times; {what} is used instead.',
  trimmed: 'Unused scratch memory ({bytes} MiB) was given back to {device}.',
} as const;

export type ReasonCode = keyof typeof templates;

export function mib(bytes: number): number {
  const value = bytes / MiB;
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
}

/** 36200 -> `36,200`. `Intl` would take most of a plan's time. */
function grouped(value: number): string {
  if (Math.abs(value) < 1000) return String(value);
  const [whole, fraction] = String(value).split('.');
  const digits = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

export function reason(code: ReasonCode, params: Record<string, string | number>): Reason {
  const text = templates[code].replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = params[key];
    return typeof value === 'number' ? grouped(value) : (value ?? '?');
  });
  return { code, params, text };
}
