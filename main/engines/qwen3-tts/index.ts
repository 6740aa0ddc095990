import type { InstalledModel } from '../../models/types.ts';
import type { ModelSource } from '../../runtime/model-source.ts';
import type { Engine, EngineDefinition, EngineServices } from '../engine.ts';
import { qwen3TtsCatalog } from './catalog.ts';
import { loadQwen3Tts } from './load.ts';
import { recogniseQwen3Tts } from './recognise.ts';
import { samplingParameters } from './sampling.ts';
import { inspectQwen3Tts, qwen3TtsWeights } from './weights.ts';

/** Qwen3-TTS, 12 Hz family: named speakers, cloned and designed voices in ten languages. */
export function qwen3TtsEngine(): EngineDefinition {
  return {
    id: 'qwen3-tts',
    description: {
      name: 'Qwen3-TTS',
      description:
        'Ten languages in natural voices: speakers by name, voices cloned from a few seconds of audio, voices designed in words.',
      licence: 'Apache-2.0',
      parameters: [
        ...samplingParameters,
        { key: 'voice', default: null },
        { key: 'seed', minimum: 0, maximum: 2 ** 32 - 1, step: 1, default: null },
      ],
    },
    builtIn: () => [],
    catalog: qwen3TtsCatalog,
    recognise: recogniseQwen3Tts,
    weights: qwen3TtsWeights,
    inspect: inspectQwen3Tts,
    model,
    tiny: async (services, folder) => {
      const { tinyModels } = await import('./testing/tiny-models.ts');
      return tinyModels(folder, (installed) => model(services, installed));
    },
  };
}

function model(
  { addon, voicePrompts }: EngineServices,
  installed: Pick<InstalledModel, 'id' | 'name' | 'folder' | 'version'>,
): ModelSource<Engine> {
  return {
    id: installed.id,
    engine: 'qwen3-tts',
    name: installed.name,
    version: installed.version,
    load: (context) => loadQwen3Tts({ addon, model: installed, voicePrompts }, context),
  };
}
