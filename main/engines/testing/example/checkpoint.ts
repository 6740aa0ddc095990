import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Module } from '../../../nn/module.ts';
import { type TensorFile, writeSafetensors } from '../../../nn/testing/safetensors.ts';
import { Decoder, type ExampleConfig, Talker, Vocoder } from './networks.ts';

export const exampleConfig: ExampleConfig = {
  sample_rate: 24_000,
  hop_length: 120,
  letters: ' abcdefghijklmnopqrstuvwxyz',
  codebook_size: 64,
  hidden_size: 96,
  intermediate_size: 192,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  decoder_layers: 3,
  vocoder_layers: 3,
};

/** Weights by formula, so that the reference in `make_fixture.py` computes the same without a file of weights. */
export function writeExampleCheckpoint(folder: string): void {
  const tensors: Record<string, TensorFile> = {};
  const modules: Record<string, Module> = {
    talker: new Talker(exampleConfig),
    decoder: new Decoder(exampleConfig),
    vocoder: new Vocoder(exampleConfig),
  };
  for (const [component, module] of Object.entries(modules)) {
    for (const { name, parameter } of module.namedParameters()) {
      const full = `${component}.${name}`;
      const shape = [...parameter.shape];
      tensors[full] = { dtype: 'F32', shape, data: values(full, shape) };
    }
  }
  writeSafetensors(path.join(folder, 'model.safetensors'), tensors);
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ engine: 'example', ...exampleConfig }));
}

/** `sin(seed + 2.39 i)`, scaled by the fan-in; scales of norms lie around 1. */
function values(name: string, shape: readonly number[]): Float32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  const seed = [...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  const isScale = shape.length === 1 && !name.endsWith('bias');
  const scale = shape.length === 1 ? 0.1 : Math.sqrt((2 * shape[0]!) / count);
  return Float32Array.from(
    { length: count },
    (_, at) => Number(isScale) + scale * Math.sin(seed + 2.39 * at),
  );
}
