import type { MemoryReport, Partial } from '../contract/speech.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import { mebibytes } from '../memory/report.ts';

interface Use {
  streamedBefore: number;
  loadedBytes: number;
  mappedBytes: number;
  partial: Partial | null;
}

/** What a request's stages used, for `meta.memory` of its output. */
export class UsedComponents {
  readonly #book: DeviceBook;
  readonly #uses = new Map<ModelHandle, Use>();
  #peakBytes = 0;

  constructor(book: DeviceBook) {
    this.#book = book;
  }

  /** Before a stage places anything. */
  begin(handles: readonly ModelHandle[]): void {
    for (const handle of handles) {
      if (this.#uses.has(handle)) continue;
      const streamedBefore = handle.streamedBytes;
      this.#uses.set(handle, { streamedBefore, loadedBytes: 0, mappedBytes: 0, partial: null });
    }
  }

  /** While a stage's components are in their places. */
  placed(handles: readonly ModelHandle[]): void {
    for (const handle of handles) {
      const use = this.#uses.get(handle);
      if (use === undefined) continue;
      use.loadedBytes = handle.loadedBytes;
      use.mappedBytes = handle.mappedBytes;
      use.partial = handle.partial;
    }
  }

  /** Before the measurement of a stage is closed. */
  notePeak(): void {
    this.#peakBytes = Math.max(this.#peakBytes, this.#book.device.memory().peakBytes);
  }

  report(): MemoryReport {
    this.notePeak();
    let streamed = 0;
    let loaded = 0;
    let mapped = 0;
    let size = 0;
    const partial: Record<string, Partial> = {};
    for (const [handle, use] of this.#uses) {
      streamed += handle.streamedBytes - use.streamedBefore;
      loaded += use.loadedBytes;
      mapped += use.mappedBytes;
      size += handle.sizeBytes;
      if (use.partial !== null) partial[handle.component] = use.partial;
    }
    return {
      device: this.#book.id,
      streamed_mb: mebibytes(streamed),
      loaded_mb: mebibytes(loaded),
      mapped_mb: mebibytes(mapped),
      size_mb: mebibytes(size),
      peak_mb: mebibytes(this.#peakBytes),
      partial,
    };
  }
}
