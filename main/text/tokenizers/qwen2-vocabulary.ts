import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';
import type { Merges } from './byte-level-bpe.ts';
import { parseMerges, parseTokens } from './qwen2-files.ts';
import type { TokenTable } from './token-table.ts';

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
/** Bytes that stand for themselves in a byte-level vocabulary, and the space: without them, text would vanish. */
const plainCharacters = [...Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)), '\u0120'];

/** The files of a Qwen2 tokenizer, read and compared with each other. */
export interface Qwen2Vocabulary {
  /** Ids 0 to n - 1, each once. */
  tokens: TokenTable;
  merges: Merges;
  added: (z.infer<typeof addedTokenSchema> & { id: number })[];
  /** Highest id of all, so that an embedding needs one row more. */
  highest: number;
}

/**
 * Reads `vocab.json`, `merges.txt` and `tokenizer_config.json`.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`: names the file
 */
export async function readQwen2Vocabulary(folder: string): Promise<Qwen2Vocabulary> {
  const file = (name: string): string => path.join(folder, name);
  const [config, vocabBytes, mergesBytes] = await Promise.all([
    readJson(file('tokenizer_config.json'), configSchema),
    readBytes(file('vocab.json')),
    readBytes(file('merges.txt')),
  ]);
  const tokens = await parseTokens(vocabBytes);
  if (typeof tokens === 'string') throw damaged(file('vocab.json'), tokens);
  const added = Object.entries(config.added_tokens_decoder).map(([id, token]) => ({
    id: Number(id),
    ...token,
  }));
  const wrong = vocabularyProblem(
    tokens,
    added.map(({ id }) => id),
  );
  if (wrong !== null) throw damaged(file('vocab.json'), wrong.why, wrong.numbers);
  const merges = await parseMerges(mergesBytes, tokens);
  if (typeof merges === 'string') throw damaged(file('merges.txt'), merges);
  const highest = added.reduce((most, { id }) => Math.max(most, id), tokens.size - 1);
  return { tokens, merges, added, highest };
}

interface Problem {
  why: string;
  /** Numbers for the sentence in other languages. */
  numbers?: Record<string, number>;
}

/** Part of a vocabulary would spell words in other pieces than the model learned, and say something else. */
function vocabularyProblem(vocabulary: TokenTable, added: readonly number[]): Problem | null {
  const absent = plainCharacters.find((character) => vocabulary.idOf(character) === undefined);
  if (absent !== undefined) return { why: `it has no token for "${absent}"` };
  const { ids } = vocabulary;
  const seen = new Uint8Array(ids.length);
  for (const id of ids) if (id >= 0 && id < ids.length) seen[id] = 1;
  const gap = seen.indexOf(0);
  const tokens = ids.length;
  if (gap >= 0) {
    const highest = ids.reduce((most, id) => Math.max(most, id), 0);
    const why = `it holds ${tokens} tokens with ids up to ${highest}, and none with id ${gap}: a part of it is missing`;
    return { why, numbers: { tokens, highest, gap } };
  }
  const begin = added.reduce((least, id) => Math.min(least, id), Number.POSITIVE_INFINITY);
  if (begin === tokens || added.length === 0) return null;
  const why = `it holds ${tokens} tokens, and the added ones of tokenizer_config.json begin at id ${begin}: one of the two is of another model`;
  return { why, numbers: { tokens, begin } };
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    const { buffer, byteOffset, byteLength } = await readFile(file);
    return new Uint8Array(buffer, byteOffset, byteLength);
  } catch (error) {
    throw new StudioError(
      'checkpoint_missing',
      `The model is incomplete: "${file}" cannot be read. Install it again.`,
      { params: { path: file }, detail: String(error), cause: error },
    );
  }
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const text = new TextDecoder().decode(await readBytes(file));
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

function damaged(file: string, reason: string, numbers: Record<string, number> = {}): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `"${file}" is no part of a Qwen2 tokenizer: ${reason}. Put back the file that belongs to the model.`,
    { params: { path: file, reason, unfit: file, ...numbers } },
  );
}
