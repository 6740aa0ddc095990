import { statSync } from 'node:fs';
import path from 'node:path';
import type { Addon } from '../../../native/addon.ts';
import type { ModelSource } from '../../runtime/loaded-models.ts';
import type { EngineDefinition } from '../engine.ts';
import { loadMini } from './load.ts';
import { bounds } from './parameters.ts';
import type { MiniEngine } from './speak.ts';
import { builtInVoiceFolder } from './voice-folder.ts';

/** The built-in engine: one English voice whose weights are part of the installation. */
export function miniEngine(): EngineDefinition {
  return {
    id: 'mini',
    info: () => ({
      id: 'mini',
      name: 'Mizuoto Mini',
      description:
        'The built-in English voice: always there, needs no download and a few megabytes of memory.',
      licence: 'Apache-2.0; see NOTICE for the voice it was trained on',
      sample_rate: 24_000,
      languages: ['en-US'],
      voices: [
        {
          id: 'mini',
          name: 'Mini',
          language: 'en-US',
          description: 'A woman, American English, calm and clear.',
        },
      ],
      parameters: [
        { key: 'voice', default: 'mini' },
        { key: 'speed', ...bounds.speed, step: 0.05, default: 1 },
        { key: 'pitch', ...bounds.pitch, step: 0.05, default: 1 },
        { key: 'seed', minimum: 0, maximum: 2 ** 32 - 1, step: 1, default: null },
      ],
      size_bytes: sizeBytes(),
      built_in: true,
    }),
    model,
    // The voice itself is small.
    tiny: async (addon) => [
      {
        name: 'English text',
        model: model(addon),
        task: { text: 'No.', voice: 'mini', seed: 1, speed: 1, pitch: 1 },
      },
    ],
  };
}

function model(addon: Addon): ModelSource<MiniEngine> {
  return {
    id: 'mini',
    engine: 'mini',
    name: 'Mizuoto Mini',
    load: (context) => loadMini({ addon, folder: builtInVoiceFolder() }, context),
  };
}

/** Bytes of the checkpoints; 0 where the voice is missing, which loading will say. */
function sizeBytes(): number {
  try {
    const folder = builtInVoiceFolder();
    const files = ['acoustic.safetensors', 'vocoder.safetensors'];
    return files.reduce((bytes, file) => bytes + statSync(path.join(folder, file)).size, 0);
  } catch {
    return 0;
  }
}
