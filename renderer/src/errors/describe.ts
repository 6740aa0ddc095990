import type { ErrorBody, ErrorCode } from '../../../main/contract/errors.ts';
import { type Ability, abilityWords } from '../../../main/contract/models.ts';
import { valueInChinese } from '../../../main/contract/words.zh-CN.ts';
import type { Format } from '../i18n/format.ts';
import { catalogues } from '../i18n/index.ts';
import type { Language } from '../store/settings.ts';

export interface ErrorDescription {
  title: string;
  why: string;
  fix: string;
}

/** Names that the native layer gives to sizes, as the catalogue calls them. */
const aliases: Record<string, string> = {
  needed: 'needed_bytes',
  available: 'free_bytes',
  available_bytes: 'free_bytes',
  needed_mb: 'needed_bytes',
  free_mb: 'free_bytes',
  available_mb: 'free_bytes',
  file: 'path',
};

function formatted(params: ErrorBody['params'], format: Format, language: Language): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [key, value] of Object.entries(params)) {
    const name = aliases[key] ?? key;
    if (key === 'script') {
      // Signs are no script: the sentence without one fits them.
      const script = typeof value === 'string' ? format.script(value) : null;
      if (script !== null) out[name] = script;
    } else if (key === 'ability' && Object.hasOwn(abilityWords, value)) {
      out[name] = abilityWords[value as Ability][language];
    } else if (typeof value === 'string') out[name] = language === 'en' ? value : valueInChinese(key, value);
    else if (key === 'share') out[name] = format.percent(value / 100);
    else if (key.endsWith('_mb')) out[name] = format.mebibytes(value);
    else if (name.endsWith('_bytes')) out[name] = format.bytes(value);
    else if (key === 'seconds') out[name] = format.span(value);
    else out[name] = format.number(value, 3);
  }
  return out;
}

const placeholder = /\{\{(\w+)\}\}/g;

/** Names in double braces of a sentence. */
export function placeholders(sentence: string): string[] {
  return [...sentence.matchAll(placeholder)].map((match) => match[1]!);
}

/**
 * An error in the person's language: the most precise sentence whose names are all known. English falls back to the
 * host's own sentence, which is English and says what to do as well.
 */
export function describeError(error: ErrorBody, language: Language, format: Format): ErrorDescription {
  const text = catalogues[language].errors[error.code];
  const params = formatted(error.params, format, language);
  const told = (sentences: readonly string[]): string =>
    sentences.find((sentence) => placeholders(sentence).every((name) => name in params))!;
  const filled = (sentence: string): string =>
    sentence.replace(placeholder, (_, name: string) => params[name]!);
  const why = told(text.why);
  if (language === 'en' && placeholders(why).length === 0 && error.message !== '') {
    // Some sentences begin with what the title says already.
    const said = `${text.title}. `;
    const rest = error.message.startsWith(said) ? error.message.slice(said.length) : error.message;
    return { title: text.title, why: rest, fix: '' };
  }
  return {
    title: text.title,
    why: filled(why),
    fix: filled(told([text.fix].flat())),
  };
}

/** The one thing that is worth a button. */
export type ErrorAction =
  | 'retry'
  | 'edit_text'
  | 'choose_voice'
  | 'show_memory'
  | 'reset_parameters'
  | 'save_again'
  | 'reconnect';

export const errorActions: Record<ErrorCode, ErrorAction | null> = {
  invalid_request: 'reset_parameters',
  unknown_engine: 'choose_voice',
  unknown_voice: 'choose_voice',
  unknown_model: 'choose_voice',
  unknown_language: 'choose_voice',
  not_supported: 'choose_voice',
  name_taken: null,
  unknown_setting: null,
  invalid_setting: null,
  contradictory_settings: null,
  text_empty: 'edit_text',
  text_not_speakable: 'edit_text',
  text_too_long: 'edit_text',
  text_malformed: 'edit_text',
  reference_unusable: 'choose_voice',
  file_not_found: null,
  file_unreadable: null,
  file_not_text: null,
  output_not_writable: 'save_again',
  disk_full: 'save_again',
  model_not_installed: null,
  model_not_recognised: null,
  checkpoint_missing: null,
  checkpoint_invalid: null,
  checkpoint_mismatch: null,
  weights_not_finite: null,
  device_not_found: 'show_memory',
  out_of_device_memory: 'show_memory',
  out_of_host_memory: 'show_memory',
  device_lost: 'retry',
  backend_missing: null,
  weight_not_placed: 'retry',
  wait_timeout: 'retry',
  job_not_found: 'retry',
  job_failed: 'retry',
  cancelled: 'retry',
  host_unreachable: 'reconnect',
  host_crashed: 'retry',
  forbidden: null,
  internal: 'retry',
};

/** Everything that is known, for a report: in English whatever the window speaks. */
export function errorReport(error: ErrorBody): string {
  const params = Object.entries(error.params).map(([key, value]) => `${key}: ${value}`);
  return [`${error.code}: ${error.message}`, ...params, ...(error.detail ? ['', error.detail] : [])].join(
    '\n',
  );
}
