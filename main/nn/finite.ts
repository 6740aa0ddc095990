import type { Checkpoint, CheckpointTensor } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';

/** Throws `weights_not_finite`, naming the tensor, where a checkpoint holds NaN or infinity. */
export async function checkFinite(checkpoint: Checkpoint, { name, dtype }: CheckpointTensor): Promise<void> {
  // A type that nobody can read holds no values; using it is refused elsewhere.
  if (dtype === 'other') return;
  const index = await checkpoint.firstNonFinite(name);
  if (index !== null) throw notFinite(name, index);
}

export function notFinite(tensor: string, element: number): StudioError {
  return new StudioError(
    'weights_not_finite',
    `The weights are damaged: tensor "${tensor}" holds a value that is not a finite number (at element ${element}). ` +
      'Download or export the checkpoint again.',
    { params: { tensor, element } },
  );
}
