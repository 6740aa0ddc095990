import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';

/** A driver may round what a unit takes otherwise than its size was computed; no weight is this small. */
const maxPadding = 1024;

/**
 * Throws where a device holds weights that no component knows of, or fewer than they think.
 *
 * @param freed unregistered, and not yet gone from their devices: as long as something moves there is nothing to compare
 */
export function checkWeights(
  book: DeviceBook,
  handles: Iterable<ModelHandle>,
  freed: Iterable<ModelHandle>,
): void {
  const own = [...handles].filter(({ device }) => device === book.device);
  if ([...own, ...freed].some((one) => one.moving || one.disposed)) return;
  const known = own.reduce((bytes, handle) => bytes + handle.loadedBytes, 0);
  const { weights } = book.device.memory().held;
  const parts = own.reduce((count, handle) => count + handle.placementOrder.length + 1, 0);
  if (Math.abs(known - weights) <= parts * maxPadding) return;
  throw new Error(
    `${book.id} holds ${weights} bytes of weights, and its components know of ${known} (${own.map(({ id, loadedBytes }) => `${id} ${loadedBytes}`).join(', ')}).`,
  );
}
