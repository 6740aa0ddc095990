import { type Draft, emptyDraft, maxSeed } from './draft.ts';

/** What the page keeps for itself: view state only, the host owns everything else. */
export interface Keeper {
  draft(): Draft | null;
  keepDraft(draft: Draft): void;
  volume(): { volume: number; muted: boolean } | null;
  keepVolume(volume: { volume: number; muted: boolean }): void;
  /** Jobs that were deleted from the list. */
  hidden(): string[];
  keepHidden(jobIds: string[]): void;
  keepAppearance(appearance: { theme: string; language: string }): void;
}

/** Ids are of one run of the host; older ones mean nothing any more. */
const hiddenKept = 200;

export function keeper(storage: Storage | null): Keeper {
  const read = (key: string): Record<string, unknown> | null => {
    try {
      const value: unknown = JSON.parse(storage?.getItem(`mizuoto.${key}`) ?? 'null');
      return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
    } catch {
      return null;
    }
  };
  const write = (key: string, value: object): void => {
    try {
      storage?.setItem(`mizuoto.${key}`, JSON.stringify(value));
    } catch {
      // Storage is full or off: the page works on without a memory.
    }
  };
  const number = (value: unknown, low: number, high: number, otherwise: number): number =>
    typeof value === 'number' && value >= low && value <= high ? value : otherwise;
  const parameters = (value: unknown): Draft['parameters'] => {
    const found: Draft['parameters'] = {};
    if (typeof value !== 'object' || value === null) return found;
    for (const [key, one] of Object.entries(value)) {
      if (typeof one === 'number' || typeof one === 'string' || typeof one === 'boolean') found[key] = one;
    }
    return found;
  };

  return {
    draft() {
      const kept = read('draft');
      if (kept === null) return null;
      return {
        text: typeof kept.text === 'string' ? kept.text : emptyDraft.text,
        engine: typeof kept.engine === 'string' ? kept.engine : emptyDraft.engine,
        model: typeof kept.model === 'string' ? kept.model : null,
        voice: typeof kept.voice === 'string' ? kept.voice : null,
        language: typeof kept.language === 'string' ? kept.language : emptyDraft.language,
        instruct: typeof kept.instruct === 'string' ? kept.instruct : '',
        description: typeof kept.description === 'string' ? kept.description : '',
        speed: number(kept.speed, 0.1, 10, 1),
        pitch: number(kept.pitch, 0.1, 10, 1),
        parameters: parameters(kept.parameters),
        seed: Number.isInteger(kept.seed) ? number(kept.seed, 0, maxSeed, 0) : null,
      };
    },
    keepDraft(draft) {
      write('draft', draft);
    },
    volume() {
      const kept = read('volume');
      return kept === null ? null : { volume: number(kept.volume, 0, 1, 0.3), muted: kept.muted === true };
    },
    keepVolume(volume) {
      write('volume', volume);
    },
    hidden() {
      const ids = read('hidden')?.ids;
      return Array.isArray(ids) ? ids.filter((id): id is string => typeof id === 'string') : [];
    },
    keepHidden(jobIds) {
      write('hidden', { ids: jobIds.slice(-hiddenKept) });
    },
    keepAppearance(appearance) {
      write('appearance', appearance);
    },
  };
}
