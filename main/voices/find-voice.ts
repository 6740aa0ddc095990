import type { SavedVoice } from '../contract/index.ts';

/** By id, then by name, exactly and then whatever the case; `saved:` before it says that no speaker is meant. */
export function findSavedVoice(asked: string, voices: readonly SavedVoice[]): SavedVoice | null {
  const wanted = asked
    .replace(/^saved:/i, '')
    .normalize('NFC')
    .trim();
  const lower = wanted.toLowerCase();
  return (
    voices.find(({ id }) => id === wanted) ??
    voices.find(({ name }) => name === wanted) ??
    voices.find(({ id, name }) => id.toLowerCase() === lower || name.toLowerCase() === lower) ??
    null
  );
}
