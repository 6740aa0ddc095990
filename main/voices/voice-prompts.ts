/** What an engine computes once from a reference: codes, embeddings, spectrograms. Shapes are the engine's business. */
export type PromptArrays = Readonly<Record<string, Float32Array | Int32Array>>;

/** What a prepared prompt belongs to. */
export interface PromptKey {
  /** `Reference.hash` and `Reference.voice`. */
  reference: { readonly hash: string; readonly voice: string | null };
  /** `InstalledModel.id` and `.version`. */
  model: { readonly id: string; readonly version: string };
  /** Which of the model's prompts, and the version of its layout: `icl-1`, `speaker-1`. */
  part: string;
}

/**
 * Prepared voice prompts, kept per reference and model, so that a voice that was spoken once is never encoded again.
 * Those of saved voices survive a restart; those of a request's own reference are kept in memory only.
 */
export interface VoicePrompts {
  /** Null where there is none or it cannot be read: make it again. The arrays are the caller's own. Never rejects. */
  get(key: PromptKey): Promise<PromptArrays | null>;
  /** Copies the arrays. Never rejects: what cannot be kept is made again the next time. */
  set(key: PromptKey, arrays: PromptArrays): Promise<void>;
}

/** Keeps nothing: for tests and verification, where every run has to compute. */
export const noVoicePrompts: VoicePrompts = { get: async () => null, set: async () => {} };
