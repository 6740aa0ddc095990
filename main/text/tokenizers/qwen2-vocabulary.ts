import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';

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

/** Bytes that stand for themselves in a byte-level vocabulary, and the space: without them, text would vanish. */
const plainCharacters = [...Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)), '\u0120'];

/** The files of a Qwen2 tokenizer, read and compared with each other. */
export interface Qwen2Vocabulary {
  config: z.infer<typeof configSchema>;
  /** Ids 0 to n - 1, each once. */
  vocab: Record<string, number>;
  merges: string[];
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
  const [config, vocab, mergesText] = await Promise.all([
    readJson(file('tokenizer_config.json'), configSchema),
    readJson(file('vocab.json'), vocabularySchema),
    readText(file('merges.txt')),
  ]);
  const merges = mergesText
    .split(/\r?\n/)
    .filter((line, index) => line && !(index === 0 && line.startsWith('#version')));
  const added = Object.entries(config.added_tokens_decoder).map(([id, token]) => ({
    id: Number(id),
    ...token,
  }));
  const wrong = vocabularyProblem(
    vocab,
    added.map(({ id }) => id),
  );
  if (wrong !== null) throw damaged(file('vocab.json'), wrong.why, wrong.numbers);
  const broken = mergesProblem(merges, vocab);
  if (broken !== null) throw damaged(file('merges.txt'), broken);
  const highest = added.reduce((most, { id }) => Math.max(most, id), Object.keys(vocab).length - 1);
  return { config, vocab, merges, added, highest };
}

interface Problem {
  why: string;
  /** Numbers for the sentence in other languages. */
  numbers?: Record<string, number>;
}

/** Part of a vocabulary would spell words in other pieces than the model learned, and say something else. */
function vocabularyProblem(vocab: Record<string, number>, added: readonly number[]): Problem | null {
  const absent = plainCharacters.find((character) => !Object.hasOwn(vocab, character));
  if (absent !== undefined) return { why: `it has no token for "${absent}"` };
  const ids = Object.values(vocab);
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

function mergesProblem(merges: readonly string[], vocab: Record<string, number>): string | null {
  if (merges.length === 0) return 'it holds no pairs of tokens';
  for (const merge of merges) {
    const space = merge.indexOf(' ');
    if (space < 1 || space !== merge.lastIndexOf(' ')) return `"${merge.slice(0, 40)}" is no pair of tokens`;
    const whole = merge.slice(0, space) + merge.slice(space + 1);
    if (!Object.hasOwn(vocab, whole)) return `its pair "${merge.slice(0, 40)}" makes no token of vocab.json`;
  }
  return null;
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

function damaged(file: string, reason: string, numbers: Record<string, number> = {}): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `"${file}" is no part of a Qwen2 tokenizer: ${reason}. Put back the file that belongs to the model.`,
    { params: { path: file, reason, ...numbers } },
  );
}
