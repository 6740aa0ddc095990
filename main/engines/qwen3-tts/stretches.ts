import type { ModelHandle } from '../../memory/model-handle.ts';

/** Half a second: sound begins early. */
const first = 7;
/** Where nothing has to move between talker and decoder. */
const steady = 8;
/** Twenty seconds of sound for one change from talker to decoder and back. */
const longest = 256;

/**
 * Frames that the talker draws before they are decoded. Where all components stay on the device, changing between them
 * costs nothing, and sound comes as soon as it can. Where they take turns, each change moves weights: stretches grow.
 * What is spoken does not depend on it.
 *
 * @param before length of the last stretch; 0: there was none.
 */
export function nextStretch(before: number, handles: readonly Pick<ModelHandle, 'isWhole'>[]): number {
  if (before === 0) return first;
  return handles.every(({ isWhole }) => isWhole) ? steady : Math.min(2 * before, longest);
}
