import { type Said, type SaidCode, type SaidParams, say } from '../../contract/said.ts';
import { MiB } from '../policy.ts';

/**
 * Every decision in one sentence. `code` and `params` are what the window localises; `text` is the English sentence
 * for the log and the command line. Sizes in `params` are MiB.
 */
export interface Reason {
  code: SaidCode;
  params: SaidParams;
  readonly text: string;
}

export function mib(bytes: number): number {
  const value = bytes / MiB;
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
}

export function reason(code: SaidCode, params: SaidParams): Reason {
  let text: string | undefined;
  return {
    code,
    params,
    // Most plans are weighed and never told.
    get text() {
      text ??= say(code, params).message;
      return text;
    },
  };
}

/** As the contract carries it. */
export function saidOf({ code, params, text }: Reason): Said {
  return { code, params, message: text };
}
