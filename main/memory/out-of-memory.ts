import type { ModelHandle } from './model-handle.ts';

export function isOutOfDeviceMemory(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'OutOfDeviceMemory';
}

/** At most half of what the component had, until it leaves the device. */
export function halveCap(handle: ModelHandle): void {
  const had = handle.loadedBytes > 0 ? handle.loadedBytes : handle.sizeBytes;
  handle.capBytes = Math.floor(Math.min(handle.capBytes ?? had, had) / 2);
}
