import { Tokenizer } from '@huggingface/tokenizers';
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
const split =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" +
  '|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };

/**
 * The byte-level BPE of Qwen2 and its successors, from a folder with `vocab.json`, `merges.txt` and
 * `tokenizer_config.json`.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`: names the file
 */
export async function readQwen2Tokenizer(folder: string): Promise<TextTokenizer> {
  const { config, vocab, merges, added: added_tokens } = await readQwen2Vocabulary(folder);
  const tokenizer = new Tokenizer(
    {
      added_tokens,
      normalizer: { type: 'NFC' },
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: split }, behavior: 'Isolated', invert: false },
          byteLevel,
        ],
      },
      post_processor: byteLevel,
      decoder: byteLevel,
      model: { type: 'BPE', vocab, merges },
    },
    config,
  );
  return {
    encode: (text) => (text === '' ? [] : tokenizer.encode(text).ids),
    id: (token) => tokenizer.token_to_id(token),
  };
}
