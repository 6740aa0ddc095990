import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';
import type { ModelFolder } from '../../models/model-folder.ts';
import type { Recognition } from '../../models/types.ts';
import { abilitiesOf } from './abilities.ts';
import { type Qwen3TtsConfig, readQwen3TtsConfig } from './config.ts';
import { modelName, variantOf } from './kinds.ts';

/** The checkpoint of talker, code predictor and speaker encoder, and the codec's. */
export const checkpoints = {
  model: 'model.safetensors',
  codec: 'speech_tokenizer/model.safetensors',
} as const;

const configurations = ['config.json', 'generation_config.json', 'speech_tokenizer/config.json'];
const tokenizer = ['tokenizer_config.json', 'vocab.json', 'merges.txt'];

/** As much of config.json as tells what a damaged folder was to be. */
const signSchema = z.object({
  model_type: z.literal('qwen3_tts'),
  tts_model_type: z.enum(['base', 'custom_voice', 'voice_design']).catch('base'),
  tts_model_size: z.string().catch(''),
});

/** What a folder is that has the layout of the published models; null where it is something else. */
export async function recogniseQwen3Tts(folder: ModelFolder): Promise<Recognition | null> {
  const sign = signSchema.safeParse(await folder.json('config.json').catch(() => null));
  if (!sign.success) return null;
  const weights = await weightFiles(folder);
  const files = [...configurations, ...tokenizer, ...weights.files];
  const problems = [...weights.problems, ...(await folder.problems(files))];
  const readable = !problems.some(({ params }) => configurations.includes(String(params.file)));
  const config = readable ? await readConfig(folder, problems) : null;
  const kind = config?.model ?? sign.data;
  const talker = config?.model.talker_config;
  return {
    variant: variantOf(kind),
    name: modelName(kind),
    sampleRate: config?.codec.output_sample_rate ?? 24_000,
    abilities: abilitiesOf(
      kind,
      talker ?? { codec_language_id: { english: 0 }, spk_id: {}, spk_is_dialect: {} },
    ),
    files,
    problems,
  };
}

/** Whole or split into shards. */
async function weightFiles(folder: ModelFolder): Promise<{ files: string[]; problems: StudioError[] }> {
  const files: string[] = [];
  const problems: StudioError[] = [];
  for (const file of Object.values(checkpoints)) {
    try {
      files.push(...(await folder.checkpointFiles(file)));
    } catch (error) {
      if (!(error instanceof StudioError)) throw error;
      problems.push(error);
    }
  }
  return { files, problems };
}

async function readConfig(folder: ModelFolder, problems: StudioError[]): Promise<Qwen3TtsConfig | null> {
  try {
    return await readQwen3TtsConfig(folder.path);
  } catch (error) {
    if (!(error instanceof StudioError)) throw error;
    problems.push(error);
    return null;
  }
}
