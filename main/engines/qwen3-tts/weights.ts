import type { ModelFolder } from '../../models/model-folder.ts';
import type { ExpectedWeights } from '../../models/types.ts';
import { EcapaTdnn } from '../../nn/blocks/ecapa-tdnn.ts';
import { readQwen2Vocabulary } from '../../text/tokenizers/qwen2-vocabulary.ts';
import { type ExpectedNetwork, expectedWeights, type ReadApart } from '../expected-weights.ts';
import { CodePredictor, codePredictorName } from './code-predictor.ts';
import { CodecDecoder, codecDecoderName } from './codec-decoder.ts';
import { CodecEncoder, codecEncoderName } from './codec-encoder.ts';
import type { CodecTensors } from './codec-tensors.ts';
import { type ModelConfig, type Qwen3TtsConfig, readQwen3TtsConfig } from './config.ts';
import { checkpoints } from './recognise.ts';
import { speakerEncoderName } from './speaker-encoding.ts';
import { Talker, TextEmbedding, talkerName, textEmbeddingName } from './talker.ts';
import { checkVocabulary } from './vocabulary.ts';

/**
 * What the weights of a folder have to be, by its configurations.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`
 */
export async function qwen3TtsWeights(folder: ModelFolder): Promise<ExpectedWeights[]> {
  const config = await readQwen3TtsConfig(folder.path);
  return [
    expectedWeights(checkpoints.model, { networks: modelNetworks(config.model) }),
    codecWeights(config),
  ];
}

/**
 * Reads the vocabulary and compares it with the talker.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`
 */
export async function inspectQwen3Tts({ path }: ModelFolder): Promise<void> {
  const { model } = await readQwen3TtsConfig(path);
  checkVocabulary(model, await readQwen2Vocabulary(path), path);
}

function modelNetworks(config: ModelConfig): ExpectedNetwork[] {
  const { talker_config: talker } = config;
  const networks: ExpectedNetwork[] = [
    { module: new Talker(talker), rename: talkerName, prefix: 'talker.' },
    { module: new CodePredictor(talker), rename: codePredictorName, prefix: 'talker.code_predictor.' },
    {
      module: new TextEmbedding(talker),
      rename: textEmbeddingName,
      prefix: 'talker.model.text_embedding.',
    },
  ];
  if (config.tts_model_type === 'base') {
    const module = new EcapaTdnn(config.speaker_encoder_config);
    networks.push({ module, rename: speakerEncoderName, prefix: 'speaker_encoder.' });
  }
  return networks;
}

/** Only Base models hear: the others do not read the codec's encoder. */
function codecWeights({ model, codec }: Qwen3TtsConfig): ExpectedWeights {
  const apart = new TensorNames();
  const decoder = new CodecDecoder(codec.decoder_config, apart);
  const networks: ExpectedNetwork[] = [{ module: decoder, rename: codecDecoderName, prefix: 'decoder.' }];
  if (model.tts_model_type === 'base') {
    networks.push({ module: new CodecEncoder(codec, apart), rename: codecEncoderName, prefix: 'encoder.' });
  }
  return expectedWeights(checkpoints.codec, {
    networks,
    readApart: apart.tensors,
    // Codebooks beyond those that are used, what only training reads, and an encoder that nobody needs.
    ignored: (name) => name.startsWith('encoder.') || name.startsWith('decoder.quantizer.'),
    configuration: 'speech_tokenizer/config.json',
  });
}

/** Notes what the codec's networks would read; it hands out nothing. */
class TensorNames implements CodecTensors {
  readonly tensors: ReadApart[] = [];

  codebook(path: string, sums: string, size: number, dim: number): Float32Array {
    this.tensors.push({ name: `${path}.${sums}`, shape: [size, dim] });
    this.tensors.push({ name: `${path}.cluster_usage`, shape: [size] });
    return new Float32Array();
  }

  snake(path: string, channels: number): { alpha: Float32Array; beta: Float32Array } {
    this.tensors.push(
      { name: `${path}.alpha`, shape: [channels] },
      { name: `${path}.beta`, shape: [channels] },
    );
    return { alpha: new Float32Array(), beta: new Float32Array() };
  }
}
