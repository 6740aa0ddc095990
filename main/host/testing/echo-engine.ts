import { z } from 'zod';
import type { ModelAbilities, Speaker } from '../../contract/index.ts';
import type { EngineDescription, SpeakTask } from '../../engines/engine.ts';
import type { ModelEngine } from '../../models/recognise.ts';
import type { InstalledModel } from '../../models/types.ts';

const plain: ModelAbilities = {
  modes: ['speakers'],
  instruct: 'none',
  reference_text: 'none',
  languages: ['en'],
  auto_language: false,
  speakers: [],
  limits: { text_characters: null, instruct_characters: 0, reference_seconds: null },
};

/** A model of the test engines, which has no files. */
export function toneModel(
  id: string,
  abilities: Partial<ModelAbilities>,
  sizeBytes = 0,
  builtIn = true,
): InstalledModel {
  return {
    id,
    engine: id.split(':', 1)[0]!,
    variant: id.split(':')[1] ?? id,
    name: id,
    folder: '',
    sampleRate: 16_000,
    abilities: { ...plain, ...abilities },
    files: [],
    sizeBytes,
    version: '1',
    builtIn,
  };
}

/** An engine with parameters of its own whose models can do all that a request can ask for, each something else. */
export const echoDescription: EngineDescription = {
  name: 'Echo',
  description: 'Says in its result what it was asked for.',
  licence: 'Apache-2.0',
  parameters: [
    { key: 'seed', minimum: 0, maximum: 2 ** 32 - 1, step: 1, default: null },
    { key: 'voice', default: 'tone' },
    { key: 'temperature', minimum: 0, maximum: 2, step: 0.05, default: 0.9 },
    { key: 'top_k', minimum: 1, maximum: 3072, step: 1, integer: true, default: 50 },
    { key: 'greedy', default: false },
    { key: 'layout', choices: ['streaming', 'whole'], default: 'streaming' },
  ],
};

export function echoModels(speakers: Speaker[]): InstalledModel[] {
  const languages = ['zh', 'en', 'pt', 'zh-sichuan'];
  const limits = { text_characters: 5000, instruct_characters: 100 };
  const own = { languages, auto_language: true };
  return [
    toneModel('echo:speakers', {
      ...own,
      speakers,
      instruct: 'optional',
      limits: { ...limits, reference_seconds: null },
    }),
    toneModel('echo:clone', {
      ...own,
      modes: ['clone'],
      reference_text: 'optional',
      limits: { ...limits, reference_seconds: { minimum: 1, maximum: 60 } },
    }),
    toneModel('echo:transcript', {
      ...own,
      modes: ['clone'],
      reference_text: 'required',
      limits: { ...limits, reference_seconds: { minimum: 3, maximum: 10 } },
    }),
    toneModel('echo:design', {
      ...own,
      modes: ['design'],
      instruct: 'required',
      limits: { ...limits, reference_seconds: null },
    }),
  ];
}

const configSchema = z.object({
  engine: z.literal('echo'),
  variant: z.string().default('folder'),
  mode: z.enum(['speakers', 'clone', 'design']).default('clone'),
});

const catalogFiles = [
  { path: 'config.json', sizeBytes: null, sha256: null },
  {
    path: 'model.safetensors',
    sizeBytes: 10,
    // Of an empty header: `02 00 00 00 00 00 00 00 7b 7d`.
    sha256: '411a485216e432ece6b9af94fa32154cf79a2a56d4f81266baa50063f45092bd',
  },
];

/** Takes folders with a `config.json` of its own and an empty checkpoint. */
export const testModelEngines: readonly ModelEngine[] = [
  {
    id: 'echo',
    description: echoDescription,
    catalog: [
      {
        id: 'echo:folder',
        engine: 'echo',
        name: 'Echo from a folder',
        licence: 'Apache-2.0',
        huggingface: 'mizuoto/echo-folder',
        modelscope: null,
        files: catalogFiles,
        sizeBytes: 10,
        abilities: { ...plain, modes: ['clone'], languages: ['zh', 'en'] },
      },
    ],
    builtIn: () => [],
    recognise: async (folder) => {
      const config = configSchema.safeParse(await folder.json('config.json').catch(() => null));
      if (!config.success) return null;
      const { variant, mode } = config.data;
      const files = ['config.json', ...(await folder.checkpointFiles('model.safetensors'))];
      const limits = { text_characters: null, instruct_characters: mode === 'design' ? 200 : 0 };
      const reference_seconds = mode === 'clone' ? { minimum: 1, maximum: 30 } : null;
      return {
        variant,
        name: `Echo ${variant}`,
        sampleRate: 16_000,
        abilities: {
          ...plain,
          modes: [mode],
          languages: ['zh', 'en'],
          instruct: mode === 'design' ? 'required' : 'none',
          reference_text: mode === 'clone' ? 'optional' : 'none',
          speakers:
            mode === 'speakers' ? [{ id: 'anna', name: 'Anna', language: 'en', description: 'Anna' }] : [],
          limits: { ...limits, reference_seconds },
        },
        files,
        problems: await folder.problems(files),
      };
    },
  },
];

/** What reached the engine. */
export function heard({ language, instruct, reference, parameters, voice }: SpeakTask) {
  return {
    language,
    instruct,
    speaker: voice,
    parameters,
    reference: reference && {
      samples: reference.samples.length,
      sample_rate: reference.sampleRate,
      text: reference.text,
      voice: reference.voice,
    },
  };
}
