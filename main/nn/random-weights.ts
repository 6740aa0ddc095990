import type { Addon, DType, TensorData, WeightSpec, WeightStore } from '../../native/addon.ts';
import { toBFloat16, toFloat16 } from './half.ts';
import type { Module } from './module.ts';
import type { Parameter } from './parameter.ts';
import { Random } from './random.ts';
import { attachWeights, type BoundWeight } from './units.ts';

export interface RandomWeightsOptions {
  component: string;
  seed: number;
  /** Type of what is read by matrix products and look-ups; default `f32`. Elementwise weights are float32. */
  dtype?: 'f32' | 'f16' | 'bf16';
  unitOf?: ReadonlyMap<Parameter, number>;
  unitModules?: readonly Module[];
}

/**
 * Binds a tree to random weights: matrices of variance 1 / fan-in, vectors near their initial value, so that
 * activations stay in range through any depth. Each parameter's values depend on seed and name alone.
 */
export function randomWeights(addon: Addon, root: Module, options: RandomWeightsOptions): WeightStore {
  const random = new Random(options.seed);
  const specs: WeightSpec[] = [];
  const weights = new Map<Parameter, BoundWeight>();
  for (const { name, parameter } of root.namedParameters()) {
    const dtype: DType = parameter.readBy === 'elementwise' ? 'f32' : (options.dtype ?? 'f32');
    const data = parameter.value ?? pack(values(parameter, random.fork(name)), dtype);
    const unit = options.unitOf?.get(parameter) ?? -1;
    specs.push({ name, shape: parameter.storedShape, dtype, unit, source: { data } });
    weights.set(parameter, { name, dtype });
  }
  const store = addon.createWeightStore(options.component, specs);
  attachWeights(root, store, weights, options.unitOf, options.unitModules);
  return store;
}

function values(parameter: Parameter, random: Random): Float32Array {
  const data = new Float32Array(parameter.elements);
  if (parameter.init === 'normal') {
    const fanIn = parameter.elements / (parameter.shape[0] ?? 1);
    return random.fillNormal(data, 0, 1 / Math.sqrt(fanIn));
  }
  return random.fillNormal(data, parameter.init === 'ones' ? 1 : 0, 0.1);
}

function pack(data: Float32Array, dtype: DType): TensorData {
  if (dtype === 'f16') return toFloat16(data);
  return dtype === 'bf16' ? toBFloat16(data) : data;
}
