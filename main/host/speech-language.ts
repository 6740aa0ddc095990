import { type SpeechModel, StudioError } from '../contract/index.ts';

/**
 * The language of a request as a tag of the model's own, or `auto`.
 *
 * A tag matches a language of the model that begins with it or with which it begins (`zh` and `zh-CN`, `en-GB` and
 * `en`); a name is the English or the native one (`Chinese`, `中文`).
 *
 * @param speaker language of the chosen speaker; null without one
 * @throws StudioError `unknown_language`
 */
export function resolveLanguage(
  asked: string | undefined,
  model: SpeechModel,
  speaker: string | null,
): string {
  const { languages, auto_language: auto } = model;
  const wanted = asked?.trim() ?? 'auto';
  if (wanted.toLowerCase() === 'auto') {
    if (auto) return 'auto';
    return (speaker === null ? null : findLanguage(speaker, languages)) ?? languages[0]!;
  }
  const found = findLanguage(wanted, languages);
  if (found !== null) return found;
  const known = [...languages, ...(auto ? ['auto'] : [])].join(', ');
  const shown = short(wanted);
  throw new StudioError(
    'unknown_language',
    `The model "${model.id}" does not speak "${shown}". It speaks: ${known}.`,
    { params: { model: model.id, language: shown, known } },
  );
}

/** A language by tag or name, as one of these; null: none of them. */
export function findLanguage(wanted: string, languages: readonly string[]): string | null {
  return byTag(wanted, languages) ?? byName(wanted, languages);
}

/**
 * The language of a saved voice as a canonical tag: `zh_cn`, `Chinese` and `中文` are known where some model speaks `zh`.
 * Null where it is not said.
 *
 * @param spoken tags of all models, installed or not
 * @throws StudioError `unknown_language` naming them
 */
export function resolveVoiceLanguage(asked: string | null, spoken: readonly string[]): string | null {
  // A region beside its language is nothing else that a voice could speak.
  const languages = spoken.filter((tag) => !spoken.some((other) => tag.startsWith(`${other}-`)));
  const wanted = asked?.trim() ?? '';
  if (wanted === '') return null;
  const tag = byTag(wanted, languages);
  // A region is kept: what models know of it may grow.
  if (tag !== null) return Intl.getCanonicalLocales(wanted.replaceAll('_', '-'))[0] ?? tag;
  const named = byName(wanted, languages);
  if (named !== null) return named;
  const names = new Intl.DisplayNames(['en'], { type: 'language' });
  const known = languages.map((language) => `${language} (${names.of(language)})`).join(', ');
  throw new StudioError(
    'unknown_language',
    `No model speaks "${short(wanted)}", so it cannot be the language of a voice. Known are: ${known}. ` +
      'Choose one of them, or leave the language out.',
    { params: { language: short(wanted), known: languages.join(', ') } },
  );
}

function short(language: string): string {
  return language.length > 40 ? `${language.slice(0, 37)}...` : language;
}

/** `zh_CN` is written like a locale, and meant the same. Null for what is no tag. */
function canonical(tag: string): string | null {
  try {
    return Intl.getCanonicalLocales(tag.replaceAll('_', '-'))[0]?.toLowerCase() ?? null;
  } catch {
    return null;
  }
}

function byTag(wanted: string, languages: readonly string[]): string | null {
  const tag = canonical(wanted);
  if (tag === null) return null;
  const tags = languages.map((language) => [language, language.toLowerCase()] as const);
  const exact = tags.find(([, known]) => known === tag);
  if (exact) return exact[0];
  // A dialect that the model has is not what "zh" asks for where it has "zh" itself.
  const wider = tags
    .filter(([, known]) => tag.startsWith(`${known}-`))
    .sort((a, b) => b[1].length - a[1].length);
  if (wider[0]) return wider[0][0];
  return tags.find(([, known]) => known.startsWith(`${tag}-`))?.[0] ?? null;
}

function byName(wanted: string, languages: readonly string[]): string | null {
  const name = wanted.toLowerCase();
  for (const language of languages) {
    for (const locale of ['en', language]) {
      for (const tag of [language, language.split('-', 1)[0]!]) {
        try {
          const known = new Intl.DisplayNames([locale], { type: 'language' }).of(tag);
          if (known?.toLowerCase() === name) return language;
        } catch {
          // A tag that this system has no name for.
        }
      }
    }
  }
  return null;
}
