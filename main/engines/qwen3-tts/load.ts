import path from 'node:path';
import type { Addon, Checkpoint, Device } from '../../../native/addon.ts';
import { StudioError } from '../../contract/errors.ts';
import { type ComponentOptions, loadComponent } from '../../memory/load-component.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import type { Mark } from '../../memory/units.ts';
import { ModelFolder } from '../../models/model-folder.ts';
import type { InstalledModel } from '../../models/types.ts';
import { loadWeights } from '../../nn/checkpoint.ts';
import type { DTypePolicy } from '../../nn/dtypes.ts';
import type { Module } from '../../nn/module.ts';
import type { LoadedParts, ModelLoadContext } from '../../runtime/loaded-models.ts';
import { readQwen2Tokenizer } from '../../text/tokenizers/qwen2.ts';
import type { VoicePrompts } from '../../voices/voice-prompts.ts';
import { CodePredictor, codePredictorName } from './code-predictor.ts';
import { CodecDecoder, codecDecoderName } from './codec-decoder.ts';
import { CodecDecoding } from './codec-decoding.ts';
import { codecTensors } from './codec-tensors.ts';
import { readQwen3TtsConfig } from './config.ts';
import { FrameGenerator } from './generate.ts';
import { PromptEmbedder, TextTable } from './generate-prompt.ts';
import { PassageStages } from './passage-stages.ts';
import { checkpoints } from './recognise.ts';
import { Qwen3TtsEngine } from './speak.ts';
import { Talker, TextEmbedding, talkerName, textEmbeddingName } from './talker.ts';
import { TalkerMemory } from './talker-memory.ts';

export interface LoadQwen3TtsOptions {
  addon: Addon;
  model: Pick<InstalledModel, 'id' | 'folder' | 'version'>;
  voicePrompts: VoicePrompts;
  /** Default: `keep` (bfloat16, the codec float32). */
  dtype?: DTypePolicy;
}

/** What has to be given back, last first. */
class Owned {
  readonly #last: (() => unknown)[] = [];

  add<T>(value: T, giveBack: (value: T) => unknown): T {
    this.#last.push(() => giveBack(value));
    return value;
  }

  async giveBack(): Promise<void> {
    for (const one of this.#last.splice(0).reverse()) await one();
  }
}

/**
 * Reads a model: its components are in host memory, nothing is on the device yet.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`, `checkpoint_mismatch`, `weights_not_finite`;
 *   NativeError for files that are no checkpoints
 */
export async function loadQwen3Tts(
  options: LoadQwen3TtsOptions,
  context: ModelLoadContext,
): Promise<LoadedParts<Qwen3TtsEngine>> {
  const owned = new Owned();
  const handles: ModelHandle[] = [];
  try {
    const value = await load(options, context, owned, handles);
    return { value, handles, unload: () => value.unload() };
  } catch (error) {
    await owned.giveBack();
    for (const handle of handles) await handle.dispose();
    throw error;
  }
}

async function load(
  { addon, model, voicePrompts, dtype = 'keep' }: LoadQwen3TtsOptions,
  { book, signal, progress }: ModelLoadContext,
  owned: Owned,
  handles: ModelHandle[],
): Promise<Qwen3TtsEngine> {
  const { device, arena } = book;
  const config = await readQwen3TtsConfig(model.folder);
  const tokenizer = await readQwen2Tokenizer(model.folder);
  const folder = new ModelFolder(model.folder);
  const open = async (file: string): Promise<Checkpoint> => {
    const files = await folder.checkpointFiles(file);
    return owned.add(await addon.openCheckpoint([path.join(model.folder, files[0]!)]), (opened) =>
      opened.close(),
    );
  };
  const [weights, codecWeights] = [await open(checkpoints.model), await open(checkpoints.codec)];
  const component = async <M extends Module>(
    name: string,
    module: M,
    about: Pick<ComponentOptions, 'kind' | 'checkpoint' | 'rename' | 'marks'>,
  ): Promise<{ handle: ModelHandle; module: M }> => {
    if (signal?.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
    const { handle } = await loadComponent({
      addon,
      engine: 'qwen3-tts',
      model: model.id,
      component: name,
      module,
      book,
      dtype,
      ...about,
    });
    handles.push(handle);
    progress(handles.length / 3);
    return { handle, module };
  };

  const { talker_config: talkerConfig } = config.model;
  const predictorModule = new CodePredictor(talkerConfig);
  const talker = await component('talker', new Talker(talkerConfig), {
    kind: 'sequence',
    checkpoint: weights,
    rename: talkerName,
  });
  const predictor = await component('code predictor', predictorModule, {
    kind: 'sequence',
    checkpoint: weights,
    rename: codePredictorName,
    // Each of its layers runs fifteen times a frame, each of the talker's once.
    marks: new Map<Module, Mark>(predictorModule.memoryUnits().map((unit) => [unit, 'hot'])),
  });
  const decoder = await component(
    'codec decoder',
    new CodecDecoder(config.codec.decoder_config, codecTensors(codecWeights)),
    { kind: 'oneshot', checkpoint: codecWeights, rename: codecDecoderName },
  );

  const networks = { talker: talker.module, predictor: predictor.module };
  const text = await textTable(addon, device, weights, new TextEmbedding(talkerConfig), owned);
  const embedder = owned.add(new PromptEmbedder(addon, device, { ...networks, text, arena }), (made) =>
    made.dispose(),
  );
  const decoding = owned.add(new CodecDecoding({ addon, device, module: decoder.module, arena }), (made) =>
    made.dispose(),
  );
  const stages = new PassageStages({
    talker: talker.handle,
    predictor: predictor.handle,
    decoder: decoder.handle,
    embedder,
    generator: new FrameGenerator(addon, device, { ...networks, ids: talkerConfig, arena }),
    memory: new TalkerMemory(addon, device, networks),
    decoding,
    sampleRate: config.codec.output_sample_rate,
  });
  return new Qwen3TtsEngine({ config, tokenizer, stages, voices: null, dispose: () => owned.giveBack() });
}

/** On the processor, whatever computes: rows are read from the memory map, and the table takes no memory. */
async function textTable(
  addon: Addon,
  device: Device,
  checkpoint: Checkpoint,
  module: TextEmbedding,
  owned: Owned,
): Promise<TextTable> {
  const cpu = device.isHost
    ? device
    : owned.add(await addon.openDevice({ name: 'CPU', threads: 1 }), (opened) => opened.close());
  const { store } = await loadWeights(addon, module, checkpoint, {
    component: 'text embedding',
    device: cpu,
    rename: textEmbeddingName,
    // Looking at every value would read a third of the checkpoint, of which a request needs a few rows.
    checkFinite: false,
  });
  owned.add(store, (made) => made.dispose());
  store.bind(cpu);
  return owned.add(new TextTable(addon, cpu, module), (made) => made.dispose());
}
