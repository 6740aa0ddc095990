import { StudioError } from '../contract/errors.ts';
import { showShape } from './shapes.ts';

/** How a checkpoint fits a network; names are the network's. */
export interface LoadReport {
  /** Parameters found in the checkpoint. */
  loaded: number;
  missing: string[];
  unexpected: string[];
  misshaped: { name: string; expected: number[]; found: number[] }[];
  /** Tensors of a type that no weight of this network can have on the device. */
  unusable: { name: string; dtype: string }[];
}

const shown = 3;

/** Null where the checkpoint fits. */
export function mismatchError(
  report: LoadReport,
  component: string,
  files: readonly string[],
): StudioError | null {
  const found = differences(report);
  if (found === null) return null;
  return new StudioError(
    'checkpoint_mismatch',
    `The checkpoint does not fit the network "${component}": ${found}. ` +
      'It belongs to another model or another version of it; choose the files named in the catalog.',
    {
      params: { component, file: files[0] ?? '', ...counts(report) },
      detail: JSON.stringify(report),
    },
  );
}

/** The same of all networks of a file, found by its header alone: `file` in `folder` is not what its configuration says. */
export function weightsError(
  report: LoadReport,
  { file, folder, configuration }: { file: string; folder: string; configuration: string },
): StudioError | null {
  const found = differences(report);
  if (found === null) return null;
  return new StudioError(
    'checkpoint_mismatch',
    `The weights in "${file}" are not those that "${configuration}" describes: ${found}. ` +
      `The files in "${folder}" belong to different models, or were changed; download all of them again from one place.`,
    {
      params: { file, path: folder, configuration, ...counts(report) },
      detail: JSON.stringify(report).slice(0, 100_000),
    },
  );
}

/** The first few differences of each kind and how many there are; null: none. */
function differences({ missing, unexpected, misshaped, unusable }: LoadReport): string | null {
  const parts = [
    part(missing, 'missing'),
    part(
      misshaped.map(
        ({ name, expected, found }) => `${name} is ${showShape(found)} instead of ${showShape(expected)}`,
      ),
      'of another shape',
    ),
    part(
      unusable.map(({ name, dtype }) => `${name} is ${dtype}`),
      'of a type that no device can use',
    ),
    part(unexpected, 'unknown to it'),
  ].filter((text) => text !== null);
  return parts.length === 0 ? null : parts.join('; ');
}

function counts(report: LoadReport): Record<string, number | string> {
  const { missing, unexpected, misshaped, unusable } = report;
  const names = [
    ...missing,
    ...misshaped.map(({ name }) => name),
    ...unusable.map(({ name }) => name),
    ...unexpected,
  ];
  return {
    loaded: report.loaded,
    missing: missing.length,
    unexpected: unexpected.length,
    misshaped: misshaped.length,
    unusable: unusable.length,
    first: names[0] ?? '',
    examples: `${names.slice(0, shown).join(', ')}${names.length > shown ? ', ...' : ''}`,
  };
}

function part(items: readonly string[], what: string): string | null {
  if (items.length === 0) return null;
  const rest = items.length > shown ? `, and ${items.length - shown} more` : '';
  return `${items.length} ${items.length === 1 ? 'tensor is' : 'tensors are'} ${what} (${items.slice(0, shown).join(', ')}${rest})`;
}
