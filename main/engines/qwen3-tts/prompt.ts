import type { ModelConfig, TalkerConfig } from './config.ts';
import type { PromptRow, TalkerPrompt } from './generate-prompt.ts';
import { type PromptText, roleTokens, spokenTokens, transcriptTokens } from './prompt-text.ts';

/** Where the voice comes from. */
export type PromptVoice =
  /** The model's own choice, or what the instruction describes. */
  | { kind: 'free' }
  /** A named speaker of the model: a key of `spk_id`. */
  | { kind: 'named'; speaker: string }
  /** A reference: its speaker's vector and, where its words are known, what is said in it. */
  | { kind: 'reference'; vector: Float32Array; spoken: Spoken | null };

/** A reference as if the talker had spoken it. */
export interface Spoken {
  /** Ids of the transcript, wrapped. */
  transcript: readonly number[];
  /** Codes of each frame. */
  frames: readonly Int32Array[];
}

export interface PromptRequest extends PromptText {
  voice: PromptVoice;
  /** A key of `codec_language_id`; null: the model finds it itself. */
  language: string | null;
  /** `whole`: all text first (upstream's non-streaming mode). `interleaved`: text runs beside the frames. */
  layout: 'whole' | 'interleaved';
}

/** The layout that upstream takes if it is not told otherwise. */
export function defaultLayout(voice: PromptVoice): PromptRequest['layout'] {
  return voice.kind === 'reference' ? 'interleaved' : 'whole';
}

/**
 * What the talker reads before the first frame, id by id (`Qwen3TTSForConditionalGeneration.generate` of qwen-tts
 * 0.1.1).
 *
 * @throws RangeError where the text has no token, or a speaker or language is not the model's: check before.
 */
export function layOutPrompt(config: ModelConfig, request: PromptRequest): TalkerPrompt {
  const { talker_config: talker, tts_pad_token_id: pad } = config;
  const text = spokenTokens(request);
  if (text.length === 0) throw new RangeError('the text has no token');
  const beginning: PromptRow[] = [
    ...(request.instruct ?? []).map((id) => ({ text: id })),
    ...request.text.slice(0, roleTokens).map((id) => ({ text: id })),
    ...tags(talker, request).map((codec) => ({ text: pad, codec })),
    { text: config.tts_bos_token_id, codec: { id: talker.codec_pad_id } },
  ];
  const spoken = request.voice.kind === 'reference' ? request.voice.spoken : null;
  const words = [...(spoken ? transcriptTokens(spoken.transcript) : []), ...text, config.tts_eos_token_id];
  const sounds: Codec[] = [
    { id: talker.codec_bos_id },
    ...(spoken?.frames ?? []).map((codes) => ({ codes })),
  ];
  const lay = request.layout === 'whole' ? oneAfterTheOther : sideBySide;
  const { rows, trailing } = lay(words, sounds, pad, { id: talker.codec_pad_id });
  return { rows: [...beginning, ...rows], trailing, pad };
}

type Codec = NonNullable<PromptRow['codec']>;

/** Language and speaker. */
function tags(talker: TalkerConfig, request: PromptRequest): Codec[] {
  const language = languageId(talker, request);
  const { codec_think_bos_id: open, codec_think_eos_id: close } = talker;
  const ids =
    language === null
      ? [talker.codec_nothink_id, open, close]
      : [talker.codec_think_id, open, language, close];
  const found: Codec[] = ids.map((id) => ({ id }));
  const { voice } = request;
  if (voice.kind === 'named') found.push({ id: known(talker.spk_id, voice.speaker) });
  if (voice.kind === 'reference') found.push({ vector: voice.vector });
  return found;
}

/** Where Chinese is asked for, or nothing, a dialect's speaker speaks the dialect. */
function languageId(talker: TalkerConfig, { voice, language }: PromptRequest): number | null {
  const dialect = voice.kind === 'named' && talker.spk_is_dialect[voice.speaker];
  if (dialect && (language === null || language === 'chinese')) {
    return known(talker.codec_language_id, dialect);
  }
  return language === null ? null : known(talker.codec_language_id, language);
}

interface Layout {
  rows: PromptRow[];
  trailing: number[];
}

/** All words, then all sounds. */
function oneAfterTheOther(words: number[], sounds: Codec[], pad: number, silence: Codec): Layout {
  const read = words.map((text) => ({ text, codec: silence }));
  return { rows: [...read, ...sounds.map((codec) => ({ text: pad, codec }))], trailing: [] };
}

/** Words beside sounds; words that are left go with the frames to come. */
function sideBySide(words: number[], sounds: Codec[], pad: number): Layout {
  const rows = sounds.map((codec, index) => ({ text: words[index] ?? pad, codec }));
  return { rows, trailing: words.slice(sounds.length) };
}

function known(ids: Readonly<Record<string, number>>, name: string): number {
  const id = ids[name];
  if (id === undefined) throw new RangeError(`"${name}" is none of ${Object.keys(ids).join(', ')}`);
  return id;
}
