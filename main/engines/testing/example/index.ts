import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Addon, Checkpoint } from '../../../../native/addon.ts';
import { StudioError } from '../../../contract/errors.ts';
import { loadComponent } from '../../../memory/load-component.ts';
import type { ModelHandle } from '../../../memory/model-handle.ts';
import type { InstalledModel } from '../../../models/types.ts';
import type { Module } from '../../../nn/module.ts';
import type { LoadedParts, ModelLoadContext, ModelSource } from '../../../runtime/model-source.ts';
import type { EngineDefinition, EngineServices } from '../../engine.ts';
import { expectedWeights } from '../../expected-weights.ts';
import { plainTask } from '../../plain-task.ts';
import { writeExampleCheckpoint } from './checkpoint.ts';
import { ExampleEngine } from './engine.ts';
import { Decoder, type ExampleConfig, Talker, Vocoder } from './networks.ts';
import { ExamplePasses } from './passes.ts';

const files = ['config.json', 'model.safetensors'];

// #region definition
const parameters = [
  { key: 'voice', default: 'chime' },
  { key: 'seed', minimum: 0, maximum: 2 ** 32 - 1, step: 1, default: null },
  {
    key: 'temperature',
    description: 'Higher: less even.',
    minimum: 0.1,
    maximum: 2,
    step: 0.1,
    default: 0.9,
  },
];

export function exampleEngine(): EngineDefinition {
  return {
    id: 'example',
    description: {
      name: 'Example',
      description: 'The engine of docs/writing-engines.md: speaks in tones, by random weights.',
      licence: 'Apache-2.0',
      parameters,
    },
    builtIn: () => [],
    catalog: [],
    recognise: async (folder) => {
      if (!(await folder.has('config.json'))) return null;
      const config = (await folder.json('config.json')) as { engine?: unknown; sample_rate: number };
      if (config.engine !== 'example') return null;
      const problems = await folder.problems(files);
      const { sample_rate: sampleRate } = config;
      return { variant: 'tiny', name: 'Example', sampleRate, abilities, files, problems };
    },
    weights: async (folder) => {
      const config = (await folder.json('config.json')) as ExampleConfig;
      const networks = Object.entries(networksOf(config)).map(([name, module]) => ({
        module,
        rename: nameIn(name),
        prefix: `${name}.`,
      }));
      return [expectedWeights('model.safetensors', { networks })];
    },
    model: exampleModel,
    tiny: async (services, folder) => {
      writeExampleCheckpoint(folder);
      const model = installed(folder);
      return [
        {
          name: 'letters',
          model: exampleModel(services, model),
          task: plainTask(model, parameters, 'water over stone'),
        },
      ];
    },
  };
}
// #endregion

const abilities: InstalledModel['abilities'] = {
  modes: ['speakers'],
  instruct: 'none',
  reference_text: 'none',
  languages: ['en'],
  auto_language: false,
  speakers: [{ id: 'chime', name: 'Chime', language: 'en', description: 'No voice at all: tones.' }],
  limits: { text_characters: 400, instruct_characters: 0, reference_seconds: null },
};

// #region load
function networksOf(config: ExampleConfig) {
  return { talker: new Talker(config), decoder: new Decoder(config), vocoder: new Vocoder(config) };
}

/** One file for all components: each takes what begins with its name. */
function nameIn(component: string) {
  return (tensor: string) => (tensor.startsWith(`${component}.`) ? tensor.slice(component.length + 1) : null);
}

function exampleModel(
  { addon }: EngineServices,
  { id, name, folder }: InstalledModel,
): ModelSource<ExampleEngine> {
  return { id, engine: 'example', name, load: (context) => load(addon, folder, context) };
}

async function load(
  addon: Addon,
  folder: string,
  { book, signal, progress }: ModelLoadContext,
): Promise<LoadedParts<ExampleEngine>> {
  const config = JSON.parse(readFileSync(path.join(folder, 'config.json'), 'utf8')) as ExampleConfig;
  const modules = networksOf(config);
  const handles: ModelHandle[] = [];
  let checkpoint: Checkpoint | null = null;
  const free = async (): Promise<void> => {
    for (const handle of handles) await handle.dispose();
    checkpoint?.close();
  };
  try {
    checkpoint = await addon.openCheckpoint([path.join(folder, 'model.safetensors')]);
    const component = async (name: keyof typeof modules, kind: 'sequence' | 'oneshot') => {
      if (signal?.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
      const module: Module = modules[name];
      const { handle } = await loadComponent({
        addon,
        engine: 'example',
        model: 'example:tiny',
        component: name,
        kind,
        module,
        checkpoint: checkpoint!,
        book,
        rename: nameIn(name),
      });
      handles.push(handle);
      progress(handles.length / 3);
      return handle;
    };
    const talker = await component('talker', 'sequence');
    const decoder = await component('decoder', 'oneshot');
    const vocoder = await component('vocoder', 'oneshot');
    // Ends every pass of the vocoder: placed first, gives up last.
    vocoder.mark(modules.vocoder.blocks.at(-1), 'hot');
    const passes = new ExamplePasses(addon, book, config, { talker, decoder, vocoder });
    const value = new ExampleEngine(passes, { talker, decoder, vocoder });
    const unload = async (): Promise<void> => {
      await value.unload();
      checkpoint!.close();
    };
    return { value, handles, caches: [passes.graphs], unload };
  } catch (error) {
    await free();
    throw error;
  }
}
// #endregion

function installed(folder: string): InstalledModel {
  const sizeBytes = files.reduce((bytes, file) => bytes + statSync(path.join(folder, file)).size, 0);
  return {
    id: 'example:tiny',
    engine: 'example',
    variant: 'tiny',
    name: 'Example',
    folder,
    sampleRate: 24_000,
    abilities,
    files,
    sizeBytes,
    version: 'tiny',
    builtIn: false,
  };
}
