/** What the person is working on; kept across restarts. */
export interface Draft {
  text: string;
  engine: string;
  voice: string | null;
  speed: number;
  pitch: number;
  /** Null: a new random seed each time. */
  seed: number | null;
}

export interface DraftSlice {
  draft: Draft;
}

export const maxSeed = 2 ** 32 - 1;

export const emptyDraft: Draft = { text: '', engine: 'mini', voice: null, speed: 1, pitch: 1, seed: null };

export const draftSlice = (kept: Draft | null): DraftSlice => ({ draft: kept ?? emptyDraft });
