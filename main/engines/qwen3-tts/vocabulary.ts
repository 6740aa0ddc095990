import { join } from 'node:path';
import { StudioError } from '../../contract/errors.ts';
import type { Qwen2Vocabulary } from '../../text/tokenizers/qwen2-vocabulary.ts';
import type { ModelConfig } from './config.ts';

/** Tokens of the prompt that config.json gives by id. */
const special = [
  'im_start_token_id',
  'im_end_token_id',
  'tts_pad_token_id',
  'tts_bos_token_id',
  'tts_eos_token_id',
] as const satisfies readonly (keyof ModelConfig)[];

/**
 * Whether every token has a vector, and every id of the prompt's tokens is a token.
 *
 * @throws StudioError `checkpoint_invalid`
 */
export function checkVocabulary(
  config: ModelConfig,
  { added, highest }: Qwen2Vocabulary,
  folder: string,
): void {
  const rows = config.talker_config.text_vocab_size;
  if (highest >= rows) {
    throw invalid(folder, `its tokens have ids up to ${highest}, and the talker has vectors for ${rows}`);
  }
  const known = new Set(added.map(({ id }) => id));
  const absent = special.find((name) => !known.has(config[name]));
  if (absent === undefined) return;
  throw invalid(
    folder,
    `config.json says ${absent} is ${config[absent]}, and the tokenizer adds no token with that id`,
  );
}

function invalid(folder: string, reason: string): StudioError {
  const path = join(folder, 'tokenizer_config.json');
  return new StudioError(
    'checkpoint_invalid',
    `The tokenizer in "${folder}" does not fit the model: ${reason}. Put back vocab.json, merges.txt and tokenizer_config.json that belong to it.`,
    { params: { path, reason, unfit: path } },
  );
}
