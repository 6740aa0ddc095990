import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';

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

const addedTokenSchema = z.object({
  content: z.string().min(1),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  normalized: z.boolean().default(false),
  single_word: z.boolean().default(false),
  special: z.boolean().default(false),
});
const configSchema = z.object({
  tokenizer_class: z.enum(['Qwen2Tokenizer', 'Qwen2TokenizerFast']),
  added_tokens_decoder: z.record(z.string().regex(/^\d+$/), addedTokenSchema),
});
/** Looked at in place: a schema of so many keys takes a fifth of a second. */
const vocabularySchema = z.custom<Record<string, number>>(
  (value) => typeof value === 'object' && value !== null && Object.values(value).every(Number.isSafeInteger),
  'holds something else than the ids of tokens',
);

/**
 * Where words are cut, as transformers' `Qwen2Converter` has it: contractions, letters, single digits, signs, spaces.
 * (Its `fix_mistral_regex`, which some models' code asks for, puts Mistral's pattern here for folders on disk, and leaves
 * models loaded by their name alone. Models are trained with this one.)
 */
const split =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" +
  '|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

/** Bytes that stand for themselves in a byte-level vocabulary, and the space: without them, text would vanish. */
const plainCharacters = [...Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)), '\u0120'];

const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };

/**
 * The byte-level BPE of Qwen2 and its successors, from a folder with `vocab.json`, `merges.txt` and
 * `tokenizer_config.json`.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`: names the file
 */
export async function readQwen2Tokenizer(folder: string): Promise<TextTokenizer> {
  const file = (name: string): string => path.join(folder, name);
  const [config, vocab, mergesText] = await Promise.all([
    readJson(file('tokenizer_config.json'), configSchema),
    readJson(file('vocab.json'), vocabularySchema),
    readText(file('merges.txt')),
  ]);
  const absent = plainCharacters.find((character) => !Object.hasOwn(vocab, character));
  if (absent !== undefined) throw damaged(file('vocab.json'), `it has no token for "${absent}"`);
  const merges = mergesText
    .split(/\r?\n/)
    .filter((line, index) => line && !(index === 0 && line.startsWith('#version')));
  const broken = merges.find(
    (merge) => merge.indexOf(' ') < 1 || merge.indexOf(' ') !== merge.lastIndexOf(' '),
  );
  if (broken !== undefined) throw damaged(file('merges.txt'), `"${broken}" is no pair of tokens`);
  if (merges.length === 0) throw damaged(file('merges.txt'), 'it holds no pairs of tokens');
  const added_tokens = Object.entries(config.added_tokens_decoder).map(([id, token]) => ({
    id: Number(id),
    ...token,
  }));
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

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StudioError(
      'checkpoint_missing',
      `The model is incomplete: "${file}" cannot be read. Install it again.`,
      { params: { path: file }, detail: String(error), cause: error },
    );
  }
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readText(file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(file, 'it is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw damaged(file, issue ? `${issue.path.join('.') || 'the file'}: ${issue.message}` : 'unknown');
}

function damaged(file: string, reason: string): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `"${file}" is no part of a Qwen2 tokenizer: ${reason}. Put back the file that belongs to the model.`,
    { params: { path: file, reason } },
  );
}
