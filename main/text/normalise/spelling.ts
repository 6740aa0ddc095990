/** Shapes of spellings: parts of a compound name, and whether a string looks like a word. */

/** `myFileName2` -> my File Name 2; `HTMLPage` -> HTML Page. */
export function splitCase(text: string): string[] {
  return text.match(/\d+|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{L}+/gu) ?? [];
}

/** Can it be said as a word? A vowel in reach of every consonant and no cluster that English lacks. */
export function isPronounceable(word: string): boolean {
  const lower = word.toLowerCase();
  if (!/[aeiouy]/.test(lower) || /[aeiou]{3}|[^aeiouy]{4}|q(?!u)|^[^aeiouy]{3}/.test(lower)) return false;
  if (/^(?:[bcdfgkpt][bcdfgkptmn]|[lmnrwyjvh][^aeiouy]|x[^aeiouy]|[sz][rzgvd])/.test(lower)) return false;
  if (
    /(?:[bcdfgkptvz][mn]|[^aeiouylrwsn][lrw]|[^aeiouy]h|j|v|q|[hw][^aeiouy])$/.test(lower.slice(-2)) &&
    !/(?:th|sh|ch|ph|gh)$/.test(lower)
  )
    return false;
  return /[aeiouy]/.test(lower.slice(0, 3)) && lower.length >= 4;
}
