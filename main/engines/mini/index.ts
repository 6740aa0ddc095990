import { statSync } from 'node:fs';
import path from 'node:path';
import type { ModelAbilities } from '../../contract/models.ts';
import type { InstalledModel } from '../../models/types.ts';
import type { ModelSource } from '../../runtime/model-source.ts';
import type { EngineDefinition, EngineServices } from '../engine.ts';
import { plainTask } from '../plain-task.ts';
import { loadMini } from './load.ts';
import { bounds } from './parameters.ts';
import type { MiniEngine } from './speak.ts';
import { builtInVoiceFolder } from './voice-folder.ts';

const files = ['config.json', 'acoustic.safetensors', 'vocoder.safetensors'];

const abilities: ModelAbilities = {
  modes: ['speakers'],
  instruct: 'none',
  reference_text: 'none',
  languages: ['en-US'],
  auto_language: false,
  speakers: [
    {
      id: 'mini',
      name: 'Mini',
      language: 'en-US',
      description: 'A woman, American English, calm and clear.',
      description_in: { 'zh-CN': '女声，美式英语，平静清晰。' },
    },
  ],
  limits: { text_characters: null, instruct_characters: 0, reference_seconds: null },
};

/** The built-in engine: one English voice whose weights are part of the installation. */
export function miniEngine(): EngineDefinition {
  return {
    id: 'mini',
    description: {
      name: 'Mizuoto Mini',
      description:
        'The built-in English voice: always there, needs no download and a few megabytes of memory.',
      licence: 'Apache-2.0; see NOTICE for the voice it was trained on',
      licence_in: { 'zh-CN': 'Apache-2.0；训练所用语音的声明见 NOTICE' },
      parameters: [
        { key: 'voice', default: 'mini' },
        { key: 'speed', ...bounds.speed, step: 0.05, default: 1 },
        { key: 'pitch', ...bounds.pitch, step: 0.05, default: 1 },
        { key: 'seed', minimum: 0, maximum: 2 ** 32 - 1, step: 1, default: null },
      ],
    },
    builtIn: () => [installed()],
    catalog: [],
    model,
    // The voice itself is small.
    tiny: async (services) => [
      {
        name: 'English text',
        model: model(services, installed()),
        task: plainTask(installed(), [], 'No.'),
      },
    ],
  };
}

function model(
  { addon }: Pick<EngineServices, 'addon'>,
  { folder }: InstalledModel,
): ModelSource<MiniEngine> {
  return {
    id: 'mini',
    engine: 'mini',
    name: 'Mizuoto Mini',
    // Where the voice is missing, its folder says so here, not in lists.
    load: async (context) => loadMini({ addon, folder: folder || builtInVoiceFolder() }, context),
  };
}

function installed(): InstalledModel {
  const folder = voiceFolder();
  return {
    id: 'mini',
    engine: 'mini',
    variant: 'mini',
    name: 'Mizuoto Mini',
    folder,
    sampleRate: 24_000,
    abilities,
    files,
    sizeBytes: checkpointBytes(folder),
    version: 'built in',
    builtIn: true,
  };
}

/** Empty where the voice is missing. */
function voiceFolder(): string {
  try {
    return builtInVoiceFolder();
  } catch {
    return '';
  }
}

function checkpointBytes(folder: string): number {
  const sizes = files
    .filter((file) => file.endsWith('.safetensors'))
    .map((file) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((bytes, size) => bytes + size, 0);
}
