import type { ErrorBody } from '../../../main/contract/errors.ts';
import type { Slice } from './slice.ts';

export const screens = ['generate', 'memory'] as const;
export type Screen = (typeof screens)[number];

/** Facts; the toast's component finds the words. */
export type Notice =
  | { kind: 'saved'; path: string; inBrowser: boolean }
  | { kind: 'deleted'; jobId: string; title: string }
  | { kind: 'freed'; model: string; bytes: number }
  /** `saveJob`: saving this job failed; offer another place. */
  | { kind: 'failed'; error: ErrorBody; saveJob?: string };

export interface UiSlice {
  screen: Screen;
  cheatSheetOpen: boolean;
  notices: { id: number; notice: Notice }[];
}

export const uiSlice: Slice<UiSlice> = () => ({
  screen: 'generate',
  cheatSheetOpen: false,
  notices: [],
});
