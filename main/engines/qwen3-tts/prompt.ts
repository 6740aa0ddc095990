import type { ModelConfig, TalkerConfig } from './config.ts';
import { type PromptText, roleTokens, spokenTokens, transcriptTokens } from './prompt-text.ts';

/**
 * What the talker reads before the first frame, id by id (`Qwen3TTSForConditionalGeneration.generate` of qwen-tts
 * 0.1.1). Pure: no tensor is made here.
 */

/** What the codec side adds at a position: a row of the talker's codec table, the speaker's vector, or a frame of the
 * reference (the sum of the vectors of all its codes). */
export type CodecPart = number | 'speaker' | { frame: number };

/** The sum that the talker reads at one position; null parts add nothing. */
export interface PromptPosition {
  /** Text id, by the text table and the text projection. */
  text: number | null;
  codec: CodecPart | null;
}

export interface Prompt {
  positions: PromptPosition[];
  /** Text ids that are added to the talker's inputs frame by frame, then the pad id for ever. */
  trailing: number[];
  /** The text id that stands for silence of the text side. */
  pad: number;
}

/** Where the voice comes from. */
export type PromptVoice =
  /** The model's own choice, or what the instruction describes. */
  | { kind: 'free' }
  /** A named speaker of the model: a key of `spk_id`. */
  | { kind: 'named'; speaker: string }
  /** A reference of which only the speaker's vector is used. */
  | { kind: 'vector' }
  /** A reference whose words are known: its transcript, wrapped, and its length in frames. */
  | { kind: 'transcript'; transcript: readonly number[]; frames: number };

export interface PromptRequest extends PromptText {
  voice: PromptVoice;
  /** A key of `codec_language_id`; null: the model finds it itself. */
  language: string | null;
  /** `whole`: all text first (upstream's non-streaming mode). `interleaved`: text runs beside the frames. */
  layout: 'whole' | 'interleaved';
}

/** The layout that upstream takes if it is not told otherwise. */
export function defaultLayout(voice: PromptVoice): PromptRequest['layout'] {
  return voice.kind === 'vector' || voice.kind === 'transcript' ? 'interleaved' : 'whole';
}

/** @throws RangeError where the text has no token, or a speaker or language is not the model's: check before. */
export function layOutPrompt(config: ModelConfig, request: PromptRequest): Prompt {
  const { talker_config: talker, tts_pad_token_id: pad, tts_bos_token_id: bos } = config;
  const text = spokenTokens(request);
  if (text.length === 0) throw new RangeError('the text has no token');
  const tags = codecTags(talker, request);
  const positions: PromptPosition[] = [
    ...(request.instruct ?? []).map(textOnly),
    ...request.text.slice(0, roleTokens).map(textOnly),
    ...tags.map((codec) => ({ text: pad, codec })),
    { text: bos, codec: talker.codec_pad_id },
  ];
  const rest = request.voice.kind === 'transcript' ? besideReference : alone;
  const { body, trailing } = rest(config, request, [...text, config.tts_eos_token_id]);
  return { positions: [...positions, ...body], trailing, pad };
}

/** Language and speaker. */
function codecTags(talker: TalkerConfig, request: PromptRequest): CodecPart[] {
  const language = languageId(talker, request);
  const { codec_think_bos_id: open, codec_think_eos_id: close } = talker;
  const tags: CodecPart[] =
    language === null
      ? [talker.codec_nothink_id, open, close]
      : [talker.codec_think_id, open, language, close];
  const { voice } = request;
  if (voice.kind === 'named') tags.push(known(talker.spk_id, voice.speaker));
  else if (voice.kind !== 'free') tags.push('speaker');
  return tags;
}

/** Where Chinese is asked for, or nothing, a dialect speaker speaks the dialect. */
function languageId(talker: TalkerConfig, { voice, language }: PromptRequest): number | null {
  const dialect = voice.kind === 'named' && talker.spk_is_dialect[voice.speaker];
  if (dialect && (language === null || language === 'chinese')) {
    return known(talker.codec_language_id, dialect);
  }
  return language === null ? null : known(talker.codec_language_id, language);
}

interface Body {
  body: PromptPosition[];
  trailing: number[];
}

/** @param text ends with the id that ends the text. */
function alone(
  { talker_config: talker, tts_pad_token_id: pad }: ModelConfig,
  request: PromptRequest,
  text: number[],
): Body {
  if (request.layout === 'interleaved') {
    return { body: [{ text: text[0]!, codec: talker.codec_bos_id }], trailing: text.slice(1) };
  }
  const whole = text.map((id) => ({ text: id, codec: talker.codec_pad_id }));
  return { body: [...whole, { text: pad, codec: talker.codec_bos_id }], trailing: [] };
}

/** The reference's words and sounds, as if the talker had spoken them itself. */
function besideReference(
  { talker_config: talker, tts_pad_token_id: pad }: ModelConfig,
  { voice, layout }: PromptRequest,
  text: number[],
): Body {
  if (voice.kind !== 'transcript') throw new TypeError('the reference has no transcript');
  const all = [...transcriptTokens(voice.transcript), ...text];
  const frames = Array.from({ length: voice.frames }, (_, frame) => ({ frame }));
  const codec: CodecPart[] = [talker.codec_bos_id, ...frames];
  if (layout === 'whole') {
    const words = all.map((id) => ({ text: id, codec: talker.codec_pad_id }));
    return { body: [...words, ...codec.map((part) => ({ text: pad, codec: part }))], trailing: [] };
  }
  const body = codec.map((part, index) => ({ text: all[index] ?? pad, codec: part }));
  return { body, trailing: all.slice(codec.length) };
}

function textOnly(text: number): PromptPosition {
  return { text, codec: null };
}

function known(ids: Readonly<Record<string, number>>, name: string): number {
  const id = ids[name];
  if (id === undefined) throw new RangeError(`"${name}" is none of ${Object.keys(ids).join(', ')}`);
  return id;
}
