import { AddedTokens } from './added-tokens.ts';
import { ByteLevelBpe } from './byte-level-bpe.ts';
import { readQwen2Vocabulary } from './qwen2-vocabulary.ts';

/** Text to the ids of a language model. */
export interface TextTokenizer {
  /**
   * `[tokens]`. Special tokens that stand in the text become their id; none are added.
   *
   * Any text can be encoded; a lone surrogate counts as U+FFFD.
   */
  encode(text: string): number[];
  /** Id of a token as the vocabulary spells it. */
  id(token: string): number | undefined;
}

/**
 * Where words are cut, as transformers' `Qwen2Converter` has it: contractions, letters, single digits, signs, spaces.
 * (Its `fix_mistral_regex`, which some models' code asks for, puts Mistral's pattern here for folders on disk, and leaves
 * models loaded by their name alone. Models are trained with this one.)
 */
const words = new RegExp(
  "'(?:[sS\\u017F]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" +
    '| ?[^\\p{White_Space}\\p{L}\\p{N}]+[\\r\\n]*|\\p{White_Space}*[\\r\\n]+' +
    '|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+',
  'gu',
);

/**
 * The byte-level BPE of Qwen2 and its successors, from a folder with `vocab.json`, `merges.txt` and
 * `tokenizer_config.json`.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`: names the file
 */
export async function readQwen2Tokenizer(folder: string): Promise<TextTokenizer> {
  const { tokens, merges, added } = await readQwen2Vocabulary(folder);
  const bpe = new ByteLevelBpe(tokens, merges);
  const special = new AddedTokens(added);
  return {
    encode: (text) => {
      const ids: number[] = [];
      for (const part of special.split(wellFormed(text))) {
        if (typeof part === 'number') ids.push(part);
        else for (const [word] of part.matchAll(words)) bpe.encode(word, ids);
      }
      return ids;
    },
    id: (token) => special.id(token) ?? tokens.idOf(token),
  };
}

function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}
