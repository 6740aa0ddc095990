import type { ModelHandle } from './model-handle.ts';

export function isOutOfDeviceMemory(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'OutOfDeviceMemory';
}

/** At most half of what the component had, until it leaves the device. */
export function halveCap(handle: ModelHandle): void {
  const had = handle.loadedBytes > 0 ? handle.loadedBytes : handle.sizeBytes;
  handle.capBytes = Math.floor(Math.min(handle.capBytes ?? had, had) / 2);
}

/** A stage whose device refused it memory, as it was then. Bytes. */
export interface RefusedStage {
  /** What was reserved for its working memory. */
  reserved: number;
  /** What its working memory could have grown to when it began: all that was free beside its weights. */
  room: number;
  /** Most that it had. */
  peak: number;
  /** What other programs took since it began. */
  foreignGrowth: number;
  /** Another stage ran beside it: room and peak are not its own. */
  disturbed: boolean;
  /** The stage runs again at once, and is measured then. */
  retried: boolean;
}

/**
 * Working memory that the stage needs at least, now that `error` says what was refused; null where the failure says
 * nothing of the stage: other programs took the memory, or the device makes no buffer of that size however much is free.
 */
export function neededAtLeast(error: unknown, stage: RefusedStage): number | null {
  const { reserved, room, peak, foreignGrowth, disturbed } = stage;
  const { wanted, free, total } = refusalOf(error);
  if (free !== null && total === null) return null;
  if (wanted !== null && free !== null && wanted > free) {
    const missing = wanted - free - foreignGrowth;
    const needed = disturbed ? reserved + missing : Math.max(peak, room + missing);
    return needed > reserved ? needed : null;
  }
  // The driver says that there is room, or nothing: what it gave until then is all that it gives.
  return stage.retried ? null : Math.max(peak, reserved) + (wanted ?? reserved / 2);
}

function refusalOf(error: unknown): Record<'wanted' | 'free' | 'total', number | null> {
  const { details = {} } = error as { details?: Record<string, string | number> };
  const bytes = (name: string): number | null => {
    const value = Number(details[name] ?? Number.NaN);
    return Number.isFinite(value) ? value : null;
  };
  return { wanted: bytes('needed'), free: bytes('available'), total: bytes('total') };
}
