import type { KVCacheKind } from '../../nn/kv-cache.ts';
import type { LoadedParts, ModelLoadContext } from '../../runtime/model-source.ts';
import { readQwen2Tokenizer } from '../../text/tokenizers/qwen2.ts';
import type { VoicePrompts } from '../../voices/voice-prompts.ts';
import { CodePredictor, codePredictorName } from './code-predictor.ts';
import { CodecDecoder, codecDecoderName } from './codec-decoder.ts';
import { CodecDecoding } from './codec-decoding.ts';
import { withCodebooks } from './codec-tensors.ts';
import { ModelReader, type ReadingOptions } from './components.ts';
import { type Qwen3TtsConfig, readQwen3TtsConfig } from './config.ts';
import { FrameGenerator } from './generate.ts';
import { PromptEmbedder, TextTable } from './generate-prompt.ts';
import { loadVoicePreparer } from './load-voices.ts';
import { PassageStages } from './passage-stages.ts';
import { checkpoints } from './recognise.ts';
import { Qwen3TtsEngine } from './speak.ts';
import { Talker, TextEmbedding, talkerName, textEmbeddingName } from './talker.ts';
import { TalkerMemory } from './talker-memory.ts';

export interface LoadQwen3TtsOptions extends ReadingOptions {
  voicePrompts: VoicePrompts;
}

/**
 * Reads a model: its components are in host memory, nothing is on the device yet. Whether all weights are numbers turns
 * out later (`sound`), at the latest before the first sound.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`, `checkpoint_mismatch`, `weights_not_finite` (codebooks),
 *   `cancelled`; NativeError for files that are no checkpoints
 */
export async function loadQwen3Tts(
  options: LoadQwen3TtsOptions,
  context: ModelLoadContext,
): Promise<LoadedParts<Qwen3TtsEngine>> {
  const { folder } = options.model;
  const config = await readQwen3TtsConfig(folder);
  const tokenizer = await readQwen2Tokenizer(folder);
  const clones = config.model.tts_model_type === 'base';
  const reader = new ModelReader(options, context, clones ? 6 : 4);
  try {
    const stages = await loadStages(config, reader, options, context);
    const voices = await loadVoicePreparer(config, reader, options, context);
    const sound = reader.finite();
    const dispose = () => reader.giveBack();
    const value = new Qwen3TtsEngine({ config, tokenizer, stages, voices, sound, dispose });
    const { handles, caches } = reader;
    return { value, handles, caches, sound, unload: () => value.unload() };
  } catch (error) {
    await reader.giveBack();
    for (const handle of reader.handles) await handle.dispose();
    throw error;
  }
}

/** Talker, code predictor and codec decoder: what every model speaks with. */
async function loadStages(
  config: Qwen3TtsConfig,
  reader: ModelReader,
  { addon }: LoadQwen3TtsOptions,
  { book, devices }: ModelLoadContext,
): Promise<PassageStages> {
  const { device, arena } = book;
  const { talker_config: talkerConfig } = config.model;
  const weights = { checkpoint: await reader.open(checkpoints.model) };
  const talker = await reader.component('talker', new Talker(talkerConfig), {
    ...weights,
    kind: 'sequence',
    rename: talkerName,
  });
  const codePredictor = new CodePredictor(talkerConfig);
  const predictor = await reader.component('code predictor', codePredictor, {
    ...weights,
    kind: 'sequence',
    rename: codePredictorName,
    // Each of its layers runs fifteen times a frame, each of the talker's once.
    marks: new Map(codePredictor.memoryUnits().map((unit) => [unit, 'hot'])),
  });
  const embedding = new TextEmbedding(talkerConfig);
  // A third of a small model's bytes, of which a request reads a few rows: from the memory map, wherever the talker is.
  const processor = await devices.pinToCpu(embedding);
  const table = await reader.component('text embedding', embedding, {
    ...weights,
    kind: 'oneshot',
    rename: textEmbeddingName,
    checkFinite: false,
  });
  const codec = await reader.open(checkpoints.codec);
  const decoder = await reader.component(
    'codec decoder',
    await withCodebooks(codec, (tensors) => new CodecDecoder(config.codec.decoder_config, tensors)),
    { kind: 'oneshot', checkpoint: codec, rename: codecDecoderName },
  );
  const networks = { talker: talker.module, predictor: predictor.module };
  const text = reader.own(new TextTable(addon, processor.device, table.module));
  const generator = (kvCache: KVCacheKind) =>
    new FrameGenerator(addon, device, { ...networks, ids: talkerConfig, arena, kvCache });
  const embedder = reader.own(new PromptEmbedder(addon, device, { ...networks, text, arena }));
  const decoding = reader.own(new CodecDecoding({ addon, device, module: decoder.module, arena }));
  reader.keep(embedder.kept);
  reader.keep({
    get ioBytes() {
      return decoding.keptBytes;
    },
    drop: () => decoding.trim(),
  });
  return new PassageStages({
    talker: talker.handle,
    predictor: predictor.handle,
    decoder: decoder.handle,
    embedder,
    generators: { dynamic: generator('dynamic'), static: generator('static') },
    memory: new TalkerMemory(addon, device, networks),
    decoding,
    sampleRate: config.codec.output_sample_rate,
  });
}
