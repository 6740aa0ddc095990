import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Checkpoint, TensorData } from '../../../native/addon.ts';
import { addon } from './devices.ts';

/** One case of fixtures/layers.json. */
export interface LayerCase {
  name: string;
  layer: string;
  args: Record<string, unknown>;
  inputs: string[];
  outputs: string[];
  causal?: boolean;
}

const folder = new URL('../fixtures/', import.meta.url);

export const layerCases: LayerCase[] = Object.entries(
  JSON.parse(readFileSync(new URL('layers.json', folder), 'utf8')) as Record<string, Omit<LayerCase, 'name'>>,
).map(([name, entry]) => ({ name, ...entry }));

export function openFixtures(): Promise<Checkpoint> {
  return addon.openCheckpoint([fileURLToPath(new URL('layers.safetensors', folder))]);
}

export interface Fixture {
  shape: number[];
  dtype: 'f32' | 'i32';
  data: Float32Array | Int32Array;
}

/** An input or output of a case. */
export function fixture(checkpoint: Checkpoint, name: string): Fixture {
  const tensor = checkpoint.tensors.find((entry) => entry.name === name);
  if (tensor === undefined) throw new Error(`The fixtures hold no tensor "${name}".`);
  if (tensor.dtype === 'i32') {
    return {
      shape: tensor.shape,
      dtype: 'i32',
      data: new Int32Array(checkpoint.readBytes(name).slice().buffer),
    };
  }
  return { shape: tensor.shape, dtype: 'f32', data: checkpoint.readFloat32(name) };
}

/** Largest absolute difference; NaN counts as infinite. */
export function largestDifference(actual: TensorData, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let largest = 0;
  for (let index = 0; index < expected.length; index += 1) {
    const difference = Math.abs(Number(actual[index]) - expected[index]!);
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return largest;
}
