import type { ParameterValue } from '../../../main/contract/speech.ts';

/** What the person is working on; kept across restarts. */
export interface Draft {
  text: string;
  engine: string;
  /** Null: the engine's first. */
  model: string | null;
  /** A speaker of the model, or `saved:` and the id of a saved voice; null: the first there is. */
  voice: string | null;
  /** `auto` or a BCP 47 tag. */
  language: string;
  /** How to speak. */
  instruct: string;
  /** Who speaks, for models that design a voice: other words than how to speak, so each keeps its own. */
  description: string;
  speed: number;
  pitch: number;
  /** The engine's other parameters, where they are not the default. */
  parameters: Record<string, ParameterValue>;
  /** Null: a new random seed each time. */
  seed: number | null;
}

export interface DraftSlice {
  draft: Draft;
}

export const maxSeed = 2 ** 32 - 1;

export const emptyDraft: Draft = {
  text: '',
  engine: 'mini',
  model: null,
  voice: null,
  language: 'auto',
  instruct: '',
  description: '',
  speed: 1,
  pitch: 1,
  parameters: {},
  seed: null,
};

export const draftSlice = (kept: Draft | null): DraftSlice => ({ draft: kept ?? emptyDraft });
