import type { ErrorBody } from '../../../main/contract/errors.ts';
import type { Said } from '../../../main/contract/said.ts';
import type { Draft } from './draft.ts';

export type Screen = 'generate' | 'memory';

/** Facts; the toast's component finds the words. */
export type Notice =
  | { kind: 'saved'; path: string; inBrowser: boolean }
  | { kind: 'deleted'; jobId: string; title: string }
  /** A result's text and settings took the place of `before`. */
  | { kind: 'restored'; before: Draft }
  | { kind: 'freed'; model: string; bytes: number }
  /** A limit of device memory is in force; null: none. */
  | { kind: 'limit'; limitMb: number | null }
  /** Something is wrong with the studio's own files. */
  | { kind: 'warning'; said: Said }
  /** `saveJob`: saving this job failed; offer another place. */
  | { kind: 'failed'; error: ErrorBody; saveJob?: string };

export interface UiSlice {
  screen: Screen;
  cheatSheetOpen: boolean;
  notices: { id: number; notice: Notice }[];
  /** Values that the engine chosen last does not take, by key; the person may want to know. */
  dropped: string[];
}

export const uiSlice = (): UiSlice => ({
  screen: 'generate',
  cheatSheetOpen: false,
  notices: [],
  dropped: [],
});
