import type { CancelToken } from '../../../native/addon.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import type { VoicePrompts } from '../../voices/voice-prompts.ts';
import type { EngineContext, Reference } from '../engine.ts';
import { checkTranscript, resampled } from './reference.ts';

/** A network that hears, and its place under the memory manager. */
export interface Listener<T> {
  handle: ModelHandle;
  /** Working memory in bytes for this many samples. */
  workingBytes(samples: number): number;
  hear(samples: Float32Array, signal: CancelToken): Promise<T>;
}

/** What the talker needs of a reference. */
export interface PreparedVoice {
  /** The speaker's vector, as wide as the talker. */
  vector: Float32Array;
  /** Codes of each frame; null where the words are not known. */
  frames: readonly Int32Array[] | null;
}

export interface VoicePreparerParts {
  /** Rate that both networks hear. */
  sampleRate: number;
  /** Codes per frame. */
  groups: number;
  speaker: Listener<Float32Array>;
  /** `[frames, groups]` */
  codec: Listener<Int32Array>;
  prompts: VoicePrompts;
  model: { id: string; version: string };
  /** Rejects where the weights turn out to be damaged: nothing is kept before it has settled. */
  sound: Promise<void>;
}

/** Which version of these networks' output is kept. */
const parts = { vector: 'speaker-1', frames: 'codes-1' };

/**
 * Turns reference audio into what the talker reads. What was prepared once is kept per voice and model: cloning it again
 * places no encoder.
 */
export class VoicePreparer {
  readonly #parts: VoicePreparerParts;

  constructor(parts: VoicePreparerParts) {
    this.#parts = parts;
  }

  /** The stage's components and working memory, for plans made before it runs. */
  stage(reference: Reference): { name: string; handles: ModelHandle[]; memory: number } {
    const { speaker, codec, sampleRate } = this.#parts;
    const samples = Math.ceil((reference.samples.length * sampleRate) / reference.sampleRate);
    const listeners = reference.text === null ? [speaker] : [speaker, codec];
    return {
      name: 'voice prompt',
      handles: listeners.map(({ handle }) => handle),
      // One after the other, but the first one's graph stays.
      memory: listeners.reduce((sum, listener) => sum + listener.workingBytes(samples), 0),
    };
  }

  /** What was prepared before; null: it has to be prepared. */
  async kept(reference: Reference): Promise<PreparedVoice | null> {
    const { prompts, model, groups } = this.#parts;
    const { vector } = (await prompts.get({ reference, model, part: parts.vector })) ?? {};
    if (!(vector instanceof Float32Array)) return null;
    if (reference.text === null) return { vector, frames: null };
    const { codes } = (await prompts.get({ reference, model, part: parts.frames })) ?? {};
    return codes instanceof Int32Array ? { vector, frames: framesOf(codes, groups) } : null;
  }

  /** @throws StudioError `reference_unusable` where the transcript cannot be the audio's. */
  async prepare(reference: Reference, ctx: EngineContext): Promise<PreparedVoice> {
    const { text } = reference;
    if (text !== null) checkTranscript(text, reference.samples.length / reference.sampleRate);
    const { speaker, codec, groups, sampleRate } = this.#parts;
    const samples = await resampled(reference, sampleRate);
    ctx.throwIfCancelled();
    const { name, handles, memory } = this.stage(reference);
    const { vector, codes } = await ctx.run(
      name,
      handles,
      async () => ({
        vector: await speaker.hear(samples, ctx.signal),
        codes: text === null ? null : await codec.hear(samples, ctx.signal),
      }),
      memory,
    );
    await this.#parts.sound;
    await this.#keep(reference, vector, codes);
    return { vector, frames: codes === null ? null : framesOf(codes, groups) };
  }

  async #keep(reference: Reference, vector: Float32Array, codes: Int32Array | null): Promise<void> {
    const { prompts, model } = this.#parts;
    await prompts.set({ reference, model, part: parts.vector }, { vector });
    if (codes !== null) await prompts.set({ reference, model, part: parts.frames }, { codes });
  }
}

function framesOf(codes: Int32Array, groups: number): Int32Array[] {
  return Array.from({ length: codes.length / groups }, (_, frame) =>
    codes.subarray(frame * groups, (frame + 1) * groups),
  );
}
