import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { InstalledModel } from '../../../models/types.ts';
import { EcapaTdnn } from '../../../nn/blocks/ecapa-tdnn.ts';
import { toBFloat16 } from '../../../nn/half.ts';
import type { Module } from '../../../nn/module.ts';
import type { Parameter } from '../../../nn/parameter.ts';
import { Random } from '../../../nn/random.ts';
import { type TensorFile, writeSafetensors } from '../../../nn/testing/safetensors.ts';
import type { ModelSource } from '../../../runtime/model-source.ts';
import type { Engine, TinyModel } from '../../engine.ts';
import { artificialReference } from '../../plain-task.ts';
import { CodePredictor } from '../code-predictor.ts';
import { type ModelConfig, readQwen3TtsConfig } from '../config.ts';
import { Talker, TextEmbedding } from '../talker.ts';
import { type TinyKind, taskOf, tinyFolder } from './engine-rig.ts';

type Source = (model: Pick<InstalledModel, 'id' | 'name' | 'folder' | 'version'>) => ModelSource<Engine>;

/** Enough that layers stream: several units of 64 KiB in the talker and in the code predictor. */
const larger = {
  hidden_size: 96,
  intermediate_size: 192,
  num_hidden_layers: 3,
  head_dim: 32,
  text_hidden_size: 64,
};
const largerPredictor = { hidden_size: 64, intermediate_size: 128, num_hidden_layers: 3, head_dim: 32 };

/** The tiny checkpoints with a larger talker, whose weights are drawn here: one for each way that has stages of its own. */
export async function tinyModels(folder: string, source: Source): Promise<TinyModel[]> {
  const model = async (kind: TinyKind): Promise<ModelSource<Engine>> => {
    const own = path.join(folder, kind);
    await writeCheckpoint(kind, own);
    return source({
      id: `qwen3-tts:tiny-${kind}`,
      name: `Qwen3-TTS tiny ${kind}`,
      folder: own,
      version: '1',
    });
  };
  const named = await model('custom_voice');
  const clone = await model('base');
  const { samples, sampleRate } = artificialReference();
  const reference = {
    samples: samples.slice(0, 0.3 * sampleRate),
    sampleRate,
    text: 'the king',
    hash: 'tiny',
    voice: null,
  };
  return [
    { name: 'named speaker', model: named, task: taskOf(named.id, { voice: 'eric', instruct: 'sad' }) },
    { name: 'cloning', model: clone, task: taskOf(clone.id, { reference }) },
  ];
}

async function writeCheckpoint(kind: TinyKind, folder: string): Promise<void> {
  cpSync(path.join(tinyFolder, kind), folder, { recursive: true });
  change(path.join(folder, 'generation_config.json'), (generation) => ({
    ...generation,
    max_new_tokens: 20,
  }));
  change(path.join(folder, 'config.json'), (config) => {
    const talker = config.talker_config as Record<string, object>;
    const code_predictor_config = { ...talker.code_predictor_config, ...largerPredictor };
    const speaker = config.speaker_encoder_config as object | undefined;
    return {
      ...config,
      talker_config: { ...talker, ...larger, code_predictor_config },
      ...(speaker && { speaker_encoder_config: { ...speaker, enc_dim: larger.hidden_size } }),
    };
  });
  const { model } = await readQwen3TtsConfig(folder);
  writeSafetensors(path.join(folder, 'model.safetensors'), drawn(model));
}

/** Every tensor of `model.safetensors` under its published name. */
function drawn(model: ModelConfig): Record<string, TensorFile> {
  const { talker_config: talker } = model;
  const parts: [prefix: string, module: Module][] = [
    ['talker.', new Talker(talker)],
    ['talker.code_predictor.', new CodePredictor(talker)],
    ['talker.model.text_embedding.', new TextEmbedding(talker)],
  ];
  if (model.tts_model_type === 'base') {
    parts.push(['speaker_encoder.', new EcapaTdnn(model.speaker_encoder_config)]);
  }
  const random = new Random(1);
  return Object.fromEntries(
    parts.flatMap(([prefix, module]) =>
      [...module.namedParameters()].map(({ name, parameter }) => {
        const full = prefix + name;
        const data = toBFloat16(values(parameter, random.fork(full)));
        return [full, { dtype: 'BF16', shape: [...parameter.shape], data }];
      }),
    ),
  );
}

function values(parameter: Parameter, random: Random): Float32Array {
  const data = new Float32Array(parameter.elements);
  if (parameter.shape.length === 1) return random.fillNormal(data, parameter.init === 'ones' ? 1 : 0, 0.2);
  if (parameter.readBy === 'rows') return random.fillNormal(data, 0, 1);
  return random.fillNormal(data, 0, 1.2 / Math.sqrt(parameter.elements / parameter.shape[0]!));
}

function change(file: string, by: (value: Record<string, unknown>) => unknown): void {
  writeFileSync(file, JSON.stringify(by(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>)));
}
