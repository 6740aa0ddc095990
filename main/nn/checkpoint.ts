import type {
  Addon,
  Checkpoint,
  CheckpointTensor,
  Device,
  DType,
  TensorData,
  WeightSpec,
  WeightStore,
} from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import { type DTypePolicy, deviceDType, isQuantised } from './dtypes.ts';
import { checkFinite, notFinite } from './finite.ts';
import { toBFloat16, toFloat16 } from './half.ts';
import { type LoadReport, mismatchError } from './load-report.ts';
import type { Module } from './module.ts';
import type { Parameter } from './parameter.ts';
import { sameShape } from './shapes.ts';
import { keepsLayout, reorder } from './stored.ts';
import { attachWeights, type BoundWeight } from './units.ts';
import { foldWeightNorm, weightNormHalf } from './weight-norm.ts';

export interface LoadOptions {
  /** Name of the component, for errors and reports: `acoustic`. */
  component: string;
  /** Where the weights will run: decides which types are used as they are. */
  device: Pick<Device, 'supportsDType'>;
  /** Default: `keep`. */
  dtype?: DTypePolicy;
  /** The network's name for a checkpoint's tensor; null: leave it out. Default: the same name. */
  rename?: (name: string) => string | null;
  /** Units chosen by the memory manager, and the module of each; see `attachWeights`. */
  unitOf?: ReadonlyMap<Parameter, number>;
  unitModules?: readonly Module[];
  /** Parameters that may be missing; they take their `value`, or zeros. Those with a `value` always may. */
  allowMissing?: (name: string) => boolean;
  /** Tensors of the checkpoint (by the network's name) that may be left over. */
  allowUnexpected?: (name: string) => boolean;
  /**
   * Look at every value for NaN and infinity. `beside`: do not wait for it; whoever uses the weights awaits
   * `LoadedWeights.finite` before anyone sees what they made. Default: true.
   */
  checkFinite?: boolean | 'beside';
}

export interface LoadedWeights {
  store: WeightStore;
  report: LoadReport;
  /** Rejects with `weights_not_finite`; nobody has to listen. */
  finite: Promise<void>;
}

/** Where a weight's values are in the checkpoint. */
type Source =
  | { kind: 'tensor'; tensor: CheckpointTensor }
  | { kind: 'weight-norm'; g: CheckpointTensor; v: CheckpointTensor };

interface Match {
  name: string;
  parameter: Parameter;
  /** Null: the parameter's own value, or zeros. */
  source: Source | null;
  dtype: DType;
}

/**
 * Matches a checkpoint with a tree and binds the tree to a new store. Values are read straight into the type they
 * have on the device, or stay in the memory map where nothing has to change; weight normalisation is folded.
 *
 * @throws StudioError `checkpoint_mismatch` where names, shapes or types do not fit, `weights_not_finite` for NaN
 *   or infinity.
 */
export async function loadWeights(
  addon: Addon,
  root: Module,
  checkpoint: Checkpoint,
  options: LoadOptions,
): Promise<LoadedWeights> {
  const { matches, report } = matchCheckpoint(root, checkpoint, options);
  const failure = mismatchError(report, options.component, checkpoint.files);
  if (failure !== null) throw failure;
  const check = options.checkFinite ?? true;
  const tensors = matches.flatMap(({ source }) => (source?.kind === 'tensor' ? [source.tensor] : []));
  const finite = check === false ? Promise.resolve() : checkFinite(checkpoint, tensors);
  finite.catch(() => {});
  const specs: WeightSpec[] = [];
  const weights = new Map<Parameter, BoundWeight>();
  for (const found of matches) {
    const { name, parameter, dtype } = found;
    const unit = options.unitOf?.get(parameter) ?? -1;
    const source = weightSource(checkpoint, found, check !== false);
    specs.push({ name, shape: parameter.storedShape, dtype, unit, source });
    weights.set(parameter, { name, dtype });
  }
  if (check === true) await finite;
  const store = addon.createWeightStore(options.component, specs);
  attachWeights(root, store, weights, options.unitOf, options.unitModules);
  return { store, report, finite };
}

/** The report of `loadWeights` without loading anything: names, shapes and types alone are looked at. */
export function compareCheckpoint(
  root: Module,
  checkpoint: Pick<Checkpoint, 'tensors'>,
  options: Omit<LoadOptions, 'component'>,
): LoadReport {
  return matchCheckpoint(root, checkpoint, options).report;
}

function matchCheckpoint(
  root: Module,
  checkpoint: Pick<Checkpoint, 'tensors'>,
  options: Omit<LoadOptions, 'component'>,
): { matches: Match[]; report: LoadReport } {
  const aliases = new Map<Parameter, string[]>();
  for (const { name, parameter } of root.parameterUses()) {
    const names = aliases.get(parameter);
    if (names === undefined) aliases.set(parameter, [name]);
    else names.push(name);
  }
  const sources = collectSources(checkpoint, new Set([...aliases.values()].flat()), options.rename);
  const report: LoadReport = { loaded: 0, missing: [], unexpected: [], misshaped: [], unusable: [] };
  const matches: Match[] = [];
  for (const [parameter, names] of aliases) {
    const name = names[0]!;
    const source = names.map((alias) => sources.get(alias)).find((found) => found !== undefined) ?? null;
    for (const alias of names) sources.delete(alias);
    if (source === null) {
      if (parameter.value === null && options.allowMissing?.(name) !== true) report.missing.push(name);
      matches.push({ name, parameter, source, dtype: parameter.readBy === 'index' ? 'i32' : 'f32' });
      continue;
    }
    const tensor = source.kind === 'tensor' ? source.tensor : source.v;
    const dtype = deviceDType(tensor.dtype, parameter.readBy, options.device, options.dtype);
    if (!sameShape(tensor.shape, parameter.shape)) {
      report.misshaped.push({ name, expected: [...parameter.shape], found: tensor.shape });
    } else if (dtype === null) {
      report.unusable.push({ name, dtype: tensor.dtype });
    } else {
      report.loaded += 1;
      matches.push({ name, parameter, source, dtype });
    }
  }
  report.unexpected = [...sources.keys()].filter((name) => options.allowUnexpected?.(name) !== true);
  return { matches, report };
}

/** Sources by the network's names; the halves of a weight norm become one source. */
function collectSources(
  checkpoint: Pick<Checkpoint, 'tensors'>,
  known: ReadonlySet<string>,
  rename: (name: string) => string | null = (name) => name,
): Map<string, Source> {
  const sources = new Map<string, Source>();
  const halves = new Map<string, { g?: CheckpointTensor; v?: CheckpointTensor }>();
  for (const tensor of checkpoint.tensors) {
    const name = rename(tensor.name);
    if (name === null) continue;
    const half = known.has(name) ? null : weightNormHalf(name);
    if (half === null || !known.has(half.weight)) sources.set(name, { kind: 'tensor', tensor });
    else halves.set(half.weight, { ...halves.get(half.weight), [half.half]: tensor });
  }
  for (const [weight, { g, v }] of halves) {
    if (g !== undefined && v !== undefined) sources.set(weight, { kind: 'weight-norm', g, v });
    else sources.set((g ?? v)!.name, { kind: 'tensor', tensor: (g ?? v)! });
  }
  return sources;
}

function weightSource(
  checkpoint: Checkpoint,
  { name, parameter, source, dtype }: Match,
  finite: boolean,
): WeightSpec['source'] {
  const { shape, storedOrder } = parameter;
  if (source === null) return { data: parameter.value ?? new Float32Array(parameter.elements) };
  const order = storedOrder === null || keepsLayout(shape, storedOrder) ? null : storedOrder;
  if (source.kind === 'tensor') {
    const { tensor } = source;
    if (dtype === 'i32' && tensor.dtype !== dtype) return { data: indices(checkpoint, tensor) };
    if (order === null) return { checkpoint, tensor: tensor.name };
    if (!isQuantised(tensor.dtype)) return { checkpoint, tensor: tensor.name, order };
    return { data: packed(ordered(checkpoint.readFloat32(tensor.name), shape, order), dtype) };
  }
  const read = (tensor: CheckpointTensor): FloatTensor => ({
    data: checkpoint.readFloat32(tensor.name),
    shape: tensor.shape,
  });
  const folded = fold(name, read(source.g), read(source.v));
  const bad = finite ? folded.findIndex((value) => !Number.isFinite(value)) : -1;
  if (bad >= 0) throw notFinite(name, bad);
  return { data: packed(order === null ? folded : ordered(folded, shape, order), dtype) };
}

interface FloatTensor {
  data: Float32Array;
  shape: readonly number[];
}

function fold(name: string, g: FloatTensor, v: FloatTensor): Float32Array {
  try {
    return foldWeightNorm(g, v);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new StudioError(
      'checkpoint_mismatch',
      `The checkpoint's weight norm of "${name}" cannot be used: ${error.message}.`,
      { params: { tensor: name }, cause: error },
    );
  }
}

function ordered(values: Float32Array, shape: readonly number[], order: readonly number[]): Float32Array {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return new Float32Array(reorder(bytes, shape, order, 4).buffer);
}

/** Whole numbers as int32, which positions always fit. */
function indices(checkpoint: Checkpoint, { name, dtype }: CheckpointTensor): Int32Array {
  const { buffer } = checkpoint.readBytes(name).slice();
  if (dtype === 'i16') return Int32Array.from(new Int16Array(buffer));
  return Int32Array.from(new BigInt64Array(buffer), Number);
}

function packed(values: Float32Array, dtype: DType): TensorData {
  if (dtype === 'f16') return toFloat16(values);
  if (dtype === 'bf16') return toBFloat16(values);
  if (dtype === 'f32') return values;
  throw new StudioError(
    'checkpoint_mismatch',
    `The checkpoint holds a tensor of type ${dtype} that would have to be rearranged, which quantised types do not allow.`,
    { params: { dtype } },
  );
}
