import { type Said, sentenceOf } from '../../../main/contract/said.ts';
import type { Language } from '../store/settings.ts';
import type { Format } from './format.ts';

/** What the host says beside errors, in the person's language and with numbers as the window writes them. */
export function sayIn(said: Pick<Said, 'code' | 'params'>, language: Language, format: Format): string {
  return sentenceOf(said, language, {
    size: format.mebibytes,
    milliseconds: (value) => format.time(value / 1000),
    seconds: format.span,
    number: (value) => format.number(value, 2),
  });
}
