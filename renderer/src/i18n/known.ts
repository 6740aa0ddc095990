/** Names that come from engines: those that the catalogues have words for. */
export const isKnown = <K extends string>(words: Readonly<Record<K, string>>, key: string): key is K =>
  Object.hasOwn(words, key);
