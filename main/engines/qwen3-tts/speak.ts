import { Random } from '../../nn/random.ts';
import type { TextTokenizer } from '../../text/tokenizers/qwen2.ts';
import type { AudioChunk, Engine, EngineContext, SpeakTask } from '../engine.ts';
import type { Qwen3TtsConfig } from './config.ts';
import { languageName } from './languages.ts';
import type { PassageStages, PassageTask } from './passage-stages.ts';
import { type Passage, passages } from './passages.ts';
import { defaultLayout, layOutPrompt, type PromptRequest, type PromptVoice } from './prompt.ts';
import { encodePromptText, encodeTranscript, spokenTokens } from './prompt-text.ts';
import { samplingOf } from './sampling.ts';
import type { PreparedVoice, VoicePreparer } from './voice-prompt.ts';

/** Frames reserved for each text token, and most that it may take. */
const mostFramesPerToken = 16;
/** However short the text: five seconds. */
const fewestFrames = 64;
/** What a text token takes, more or less; for the progress bar. */
const usualFramesPerToken = 4;

export interface Qwen3TtsParts {
  config: Qwen3TtsConfig;
  tokenizer: TextTokenizer;
  stages: PassageStages;
  /** Null for models that clone no voices. */
  voices: VoicePreparer | null;
  /** Rejects where the weights turn out to be damaged: nothing they made is given away before it has settled. */
  sound: Promise<void>;
  /** Gives back graphs, tables and devices. */
  dispose: () => Promise<void>;
}

/** A model of the Qwen3-TTS family, loaded. */
export class Qwen3TtsEngine implements Engine {
  readonly id = 'qwen3-tts';
  readonly phased = true;
  readonly #parts: Qwen3TtsParts;

  constructor(parts: Qwen3TtsParts) {
    this.#parts = parts;
  }

  get sampleRate(): number {
    return this.#parts.config.codec.output_sample_rate;
  }

  memoryRequired(task: SpeakTask): number {
    const { value: passage } = this.#passages(task).next();
    const voice = task.reference === null ? null : this.#parts.voices?.stage(task.reference);
    if (!passage) return voice?.memory ?? 0;
    const sizes = this.#parts.stages.stages(this.#expectedSize(passage, task), 'dynamic');
    return Math.max(voice?.memory ?? 0, ...sizes.map(({ memory }) => memory));
  }

  async *speak(task: SpeakTask, ctx: EngineContext): AsyncGenerator<AudioChunk, void, void> {
    try {
      for await (const chunk of this.#speak(task, ctx)) {
        await this.#parts.sound;
        yield chunk;
      }
    } catch (error) {
      // What damaged weights lead to is no reason of its own.
      if (!ctx.signal.cancelled) await this.#parts.sound;
      throw error;
    }
  }

  async *#speak(task: SpeakTask, ctx: EngineContext): AsyncGenerator<AudioChunk, void, void> {
    Object.assign(ctx.applied, { voice: task.voice, seed: task.seed });
    const all = this.#passages(task);
    // Shows whether the text can be spoken, before anything moves.
    let next = all.next();
    if (next.done) return;
    const voice = await this.#voice(task, next.value, ctx);
    const random = new Random(task.seed);
    let chunks = 0;
    for (let index = 0; !next.done; index++, next = all.next()) {
      const passage = next.value;
      const spoken = this.#taskOf(passage, task, voice, random.fork(`passage ${index}`));
      const expected = usualFramesPerToken * this.#count(passage.text);
      const { from, to } = passage.progress;
      let text = passage.text;
      for await (const { samples, frames } of this.#parts.stages.speak(spoken, ctx)) {
        chunks++;
        const share = frames / Math.max(expected, frames + 1);
        ctx.progress(from + share * (to - from), { chunksDone: chunks });
        yield { samples, text };
        text = '';
      }
      ctx.progress(to, { chunksDone: chunks });
    }
  }

  unload(): Promise<void> {
    return this.#parts.dispose();
  }

  #passages({ text }: SpeakTask): Generator<Passage> {
    const design = this.#parts.config.model.tts_model_type === 'voice_design';
    // Each passage of a designed voice would have a voice of its own.
    return passages(text, (part) => this.#count(part), design ? Number.POSITIVE_INFINITY : undefined);
  }

  /** Prepares the voice where there is a reference, having named all stages of the request. */
  async #voice(task: SpeakTask, first: Passage, ctx: EngineContext): Promise<PromptVoice> {
    const { reference, voice } = task;
    const { voices, stages } = this.#parts;
    const size = this.#expectedSize(first, task);
    await stages.prepare(size);
    const toCome = stages.stages(size, ctx.kvCache);
    if (reference === null || voices === null) {
      ctx.announce(toCome);
      return voice === '' ? { kind: 'free' } : { kind: 'named', speaker: voice };
    }
    const kept = await voices.kept(reference);
    ctx.announce(kept === null ? [voices.stage(reference), ...toCome] : toCome);
    return this.#promptVoice(kept ?? (await voices.prepare(reference, ctx)), reference.text);
  }

  #promptVoice({ vector, frames }: PreparedVoice, text: string | null): PromptVoice {
    const { tokenizer } = this.#parts;
    const spoken = frames && { transcript: encodeTranscript(tokenizer, text ?? ''), frames };
    return { kind: 'reference', vector, spoken };
  }

  #taskOf(passage: Passage, task: SpeakTask, voice: PromptVoice, random: Random): PassageTask {
    const { config, tokenizer } = this.#parts;
    const { prompt_layout: layout } = task.parameters;
    const request: PromptRequest = {
      ...encodePromptText(tokenizer, passage.text, task.instruct),
      voice,
      language: languageName(task.language),
      layout: layout === 'whole' || layout === 'interleaved' ? layout : defaultLayout(voice),
    };
    return {
      prompt: layOutPrompt(config.model, request),
      sampling: samplingOf(task.parameters),
      random,
      limit: this.#limit(spokenTokens(request).length),
      before: voice.kind === 'reference' ? (voice.spoken?.frames ?? []) : [],
    };
  }

  /** How much a passage comes to, before the voice is known. */
  #expectedSize(passage: Passage, { reference, instruct }: SpeakTask) {
    const { config, tokenizer } = this.#parts;
    const { text, instruct: told } = encodePromptText(tokenizer, passage.text, instruct);
    const transcript = reference?.text ? encodeTranscript(tokenizer, reference.text) : null;
    const seconds = transcript && reference ? reference.samples.length / reference.sampleRate : 0;
    const { output_sample_rate: rate, decode_upsample_rate: samples } = config.codec;
    const before = Math.ceil((seconds * rate) / samples);
    const words = text.length + (told?.length ?? 0) + (transcript?.length ?? 0);
    return { prompt: words + 8 + before, limit: this.#limit(this.#count(passage.text)), before };
  }

  #limit(tokens: number): number {
    const most = Math.max(fewestFrames, mostFramesPerToken * tokens);
    return Math.min(most, this.#parts.config.generation.max_new_tokens);
  }

  #count(text: string): number {
    return this.#parts.tokenizer.encode(text).length;
  }
}
