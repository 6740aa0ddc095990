import type { CheckpointDType, CheckpointTensor } from '../../native/addon.ts';
import type { StoredTensor } from '../models/safetensors-header.ts';
import type { ExpectedWeights } from '../models/types.ts';
import { compareCheckpoint, type LoadOptions } from '../nn/checkpoint.ts';
import { type LoadReport, weightsError } from '../nn/load-report.ts';
import type { Module } from '../nn/module.ts';
import { sameShape } from '../nn/shapes.ts';

/** A network whose weights are in a file: the arguments with which it is loaded. */
export interface ExpectedNetwork
  extends Pick<LoadOptions, 'rename' | 'allowMissing' | 'allowUnexpected' | 'dtype'> {
  /** Built from the configuration; it needs no weights. */
  module: Module;
  /** What the checkpoint's names have before the network's, for messages. */
  prefix?: string;
}

/** A tensor that is read beside the networks: what an engine computes with before it builds them. */
export type ReadApart = Pick<StoredTensor, 'name' | 'shape'>;

interface Contents {
  networks: readonly ExpectedNetwork[];
  readApart?: readonly ReadApart[];
  /** Tensors by the checkpoint's name that may be there and are not read. */
  ignored?: (name: string) => boolean;
  /** The file that describes them; default `config.json`. */
  configuration?: string;
}

/** Every type that some device computes with; the device of a request widens what it has not. */
const anyDevice = { supportsDType: () => true };

/**
 * The weights of one file by the networks that read it. Besides what loading compares, tensors that no network reads are
 * told: weights of another kind of model under this one's configuration.
 */
export function expectedWeights(file: string, contents: Contents): ExpectedWeights {
  const { networks, readApart = [], ignored = () => false, configuration = 'config.json' } = contents;
  return {
    file,
    problem: (stored, folder) => {
      const tensors = stored.map(checkpointTensor);
      const reports = networks.map((network) => reportOf(network, tensors));
      const apart = new Set(readApart.map(({ name }) => name));
      const known = ({ name }: StoredTensor) =>
        apart.has(name) ||
        ignored(name) ||
        networks.some(({ rename }) => (rename ? rename(name) : name) !== null);
      const report = joined([...reports, apartReport(readApart, stored)]);
      report.unexpected.push(...stored.filter((tensor) => !known(tensor)).map(({ name }) => name));
      return weightsError(report, { file, folder, configuration });
    },
  };
}

function reportOf(
  { module, prefix = '', ...options }: ExpectedNetwork,
  tensors: CheckpointTensor[],
): LoadReport {
  const report = compareCheckpoint(module, { tensors }, { ...options, device: anyDevice });
  const full = <T extends { name: string }>(item: T): T => ({ ...item, name: `${prefix}${item.name}` });
  return {
    loaded: report.loaded,
    missing: report.missing.map((name) => `${prefix}${name}`),
    unexpected: report.unexpected.map((name) => `${prefix}${name}`),
    misshaped: report.misshaped.map(full),
    unusable: report.unusable.map(full),
  };
}

function apartReport(wanted: readonly ReadApart[], stored: readonly StoredTensor[]): LoadReport {
  const report: LoadReport = { loaded: 0, missing: [], unexpected: [], misshaped: [], unusable: [] };
  const byName = new Map(stored.map((tensor) => [tensor.name, tensor]));
  for (const { name, shape } of wanted) {
    const found = byName.get(name);
    if (found === undefined) report.missing.push(name);
    else if (!sameShape(found.shape, shape)) {
      report.misshaped.push({ name, expected: shape, found: found.shape });
    } else if (!readable(found)) report.unusable.push({ name, dtype: found.dtype });
    else report.loaded += 1;
  }
  return report;
}

/** What `Checkpoint.readFloat32` makes numbers of. */
function readable({ dtype }: StoredTensor): boolean {
  return ['f64', 'f32', 'f16', 'bf16', 'f8_e4m3', 'f8_e5m2'].includes(dtype);
}

function joined(reports: readonly LoadReport[]): LoadReport {
  return {
    loaded: reports.reduce((sum, { loaded }) => sum + loaded, 0),
    missing: reports.flatMap(({ missing }) => missing),
    unexpected: reports.flatMap(({ unexpected }) => unexpected),
    misshaped: reports.flatMap(({ misshaped }) => misshaped),
    unusable: reports.flatMap(({ unusable }) => unusable),
  };
}

const types: readonly string[] = [
  'f64',
  'f32',
  'f16',
  'bf16',
  'f8_e4m3',
  'f8_e5m2',
  'i64',
  'i32',
  'i16',
  'i8',
  'u8',
  'bool',
] satisfies CheckpointDType[];

function checkpointTensor({ name, dtype, shape }: StoredTensor): CheckpointTensor {
  const known = types.includes(dtype) ? (dtype as CheckpointDType) : 'other';
  return { name, shape, dtype: known, bytes: 0, file: 0 };
}
