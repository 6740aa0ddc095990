import { type Said, sentenceOf } from '../../../main/contract/said.ts';
import { describeError } from '../errors/describe.ts';
import type { Language } from '../store/settings.ts';
import type { Format } from './format.ts';

/** What the host says beside errors, in the person's language and with numbers as the window writes them. */
export function sayIn(
  { code, params, error }: Pick<Said, 'code' | 'params' | 'error'>,
  language: Language,
  format: Format,
): string {
  // The error's own sentence, in the language of the window.
  const values =
    error === undefined ? params : { ...params, reason: describeError(error, language, format).why };
  return sentenceOf({ code, params: values }, language, {
    size: format.mebibytes,
    milliseconds: (value) => format.time(value / 1000),
    seconds: format.span,
    number: (value) => format.number(value, 2),
  });
}
