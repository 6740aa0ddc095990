/** Languages of the published models: upstream's names and BCP 47 tags. */
const tags: Readonly<Record<string, string>> = {
  chinese: 'zh',
  english: 'en',
  japanese: 'ja',
  korean: 'ko',
  german: 'de',
  french: 'fr',
  russian: 'ru',
  portuguese: 'pt',
  spanish: 'es',
  italian: 'it',
};

/**
 * Tags of what a model can be asked for. Dialects are not among them: their speakers speak them by themselves.
 *
 * @param ids `codec_language_id` of config.json
 */
export function languageTags(ids: Readonly<Record<string, number>>): string[] {
  return Object.entries(tags).flatMap(([name, tag]) => (name in ids ? [tag] : []));
}

/** Upstream's name of a tag of `languageTags`; null for `auto`, which lets the model find out. */
export function languageName(tag: string): string | null {
  if (tag === 'auto') return null;
  const found = Object.entries(tags).find(([, known]) => known === tag);
  if (found === undefined) throw new RangeError(`"${tag}" is none of ${Object.values(tags).join(', ')}`);
  return found[0];
}
