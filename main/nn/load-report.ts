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
  const { missing, unexpected, misshaped, unusable } = report;
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
      'of a type that the device cannot use',
    ),
    part(unexpected, 'unknown to it'),
  ].filter((text) => text !== null);
  if (parts.length === 0) return null;
  return new StudioError(
    'checkpoint_mismatch',
    `The checkpoint does not fit the network "${component}": ${parts.join('; ')}. ` +
      'It belongs to another model or another version of it; choose the files named in the catalog.',
    {
      params: {
        component,
        file: files[0] ?? '',
        loaded: report.loaded,
        missing: missing.length,
        unexpected: unexpected.length,
        misshaped: misshaped.length,
        unusable: unusable.length,
        first:
          [
            ...missing,
            ...misshaped.map(({ name }) => name),
            ...unusable.map(({ name }) => name),
            ...unexpected,
          ][0] ?? '',
      },
      detail: JSON.stringify(report),
    },
  );
}

function part(items: readonly string[], what: string): string | null {
  if (items.length === 0) return null;
  const rest = items.length > shown ? `, and ${items.length - shown} more` : '';
  return `${items.length} ${items.length === 1 ? 'tensor is' : 'tensors are'} ${what} (${items.slice(0, shown).join(', ')}${rest})`;
}
