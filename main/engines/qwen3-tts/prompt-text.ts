import type { TextTokenizer } from '../../text/tokenizers/qwen2.ts';

/** A request's texts as ids, each wrapped as upstream wraps it; the layout takes them apart again. */
export interface PromptText {
  /** `<|im_start|>assistant\n` text `<|im_end|>\n<|im_start|>assistant\n` */
  text: readonly number[];
  /** `<|im_start|>user\n` instruction `<|im_end|>\n`; null: none. */
  instruct: readonly number[] | null;
}

/**
 * Wrapped before it is cut into tokens, not after: what stands at a border may merge with it.
 *
 * @param instruct blank: none.
 */
export function encodePromptText(
  tokenizer: TextTokenizer,
  text: string,
  instruct: string | null,
): PromptText {
  return {
    text: tokenizer.encode(`<|im_start|>assistant\n${text}<|im_end|>\n<|im_start|>assistant\n`),
    instruct: instruct ? tokenizer.encode(`<|im_start|>user\n${instruct}<|im_end|>\n`) : null,
  };
}

/** What is said in a reference: `<|im_start|>assistant\n` transcript `<|im_end|>\n`. */
export function encodeTranscript(tokenizer: TextTokenizer, transcript: string): number[] {
  return tokenizer.encode(`<|im_start|>assistant\n${transcript}<|im_end|>\n`);
}

/** Ids before the text: `<|im_start|>`, `assistant`, line end. */
export const roleTokens = 3;
/** Ids behind the text: `<|im_end|>`, line end, and the role once more. */
const tailTokens = 5;
/** Ids behind a transcript: `<|im_end|>`, line end. */
const transcriptTailTokens = 2;

/** The ids of the text alone; empty where nothing stands between the wrappers. */
export function spokenTokens({ text }: PromptText): readonly number[] {
  return text.slice(roleTokens, -tailTokens);
}

/** The ids of the transcript alone. */
export function transcriptTokens(transcript: readonly number[]): readonly number[] {
  return transcript.slice(roleTokens, -transcriptTailTokens);
}
