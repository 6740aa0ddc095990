import { stat } from 'node:fs/promises';
import type { Checkpoint, CheckpointTensor } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';

/** Files whose tensors were looked at in this process: each as it was then, with the tensors that are sound. */
const looked = new Map<string, Set<string>>();
const mostFiles = 64;
/** Asked for ahead, so that no tensor waits for this thread; few, because a program that ends waits for them. */
const atOnce = 4;

/**
 * Looks for NaN and infinity in these tensors, beside the JavaScript thread; each tensor of a file once as long as the
 * file stays as it is.
 *
 * @throws StudioError `weights_not_finite`, naming the first damaged tensor
 */
export async function checkFinite(
  checkpoint: Checkpoint,
  tensors: readonly CheckpointTensor[],
): Promise<void> {
  const files = await Promise.all(checkpoint.files.map(soundTensors));
  const unknown = tensors.filter(
    // A type that nobody can read holds no values; using it is refused elsewhere.
    ({ name, file, dtype }) => dtype !== 'other' && !files[file]!.has(name),
  );
  const found = Array<number | null>(unknown.length).fill(null);
  let next = 0;
  const ask = async (): Promise<void> => {
    for (let index = next++; index < unknown.length; index = next++) {
      const { name, file } = unknown[index]!;
      found[index] = await checkpoint.firstNonFinite(name);
      if (found[index] === null) files[file]!.add(name);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  const first = found.findIndex((element) => element !== null);
  if (first >= 0) throw notFinite(unknown[first]!.name, found[first]!);
}

async function soundTensors(file: string): Promise<Set<string>> {
  const now = await stat(file, { bigint: true }).catch(() => null);
  // Files that are gone by now are reported by whoever reads them.
  if (now === null) return new Set();
  // The time of change, too: that of writing can be set back.
  const key = [file, now.dev, now.ino, now.size, now.mtimeNs, now.ctimeNs].join('\n');
  const known = looked.get(key) ?? new Set();
  looked.delete(key);
  looked.set(key, known);
  if (looked.size > mostFiles) looked.delete(looked.keys().next().value!);
  return known;
}

export function notFinite(tensor: string, element: number): StudioError {
  return new StudioError(
    'weights_not_finite',
    `The weights are damaged: tensor "${tensor}" holds a value that is not a finite number (at element ${element}). ` +
      'Download or export the checkpoint again.',
    { params: { tensor, element } },
  );
}
