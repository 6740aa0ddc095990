import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';
import { mib, reason } from './planner/reasons.ts';
import type { Trace } from './trace.ts';

/** Every idle component but `except` leaves the device, then the caches. Call it with the book's lock. */
export async function leaveDevice(
  book: DeviceBook,
  handles: readonly ModelHandle[],
  trace: Trace,
  options: { except?: readonly ModelHandle[]; forWhom?: string } = {},
): Promise<number> {
  let freed = 0;
  for (const handle of handles) {
    if (handle.device !== book.device || handle.onHost || handle.inUse || handle.loadedBytes === 0) continue;
    if (options.except?.includes(handle)) continue;
    const bytes = await handle.leave();
    freed += bytes;
    const params = { component: handle.id, device: book.id, bytes: mib(bytes) };
    const { forWhom } = options;
    const why = forWhom === undefined ? undefined : reason('gives_up_oom', { ...params, name: forWhom });
    trace.add({ kind: 'give_up', device: book.id, subject: handle.id, bytes: -bytes, why });
  }
  return freed + (await book.trim());
}
