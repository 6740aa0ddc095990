import type { Calibration } from './calibration.ts';
import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';
import { unitStats } from './store-stats.ts';

/**
 * Measures one stage: its working memory (the peak above placed weights and slots, minus what it leaves behind on
 * purpose), the rate of its copies, and the compute time of its units.
 */
export class StageMeasurement {
  readonly book: DeviceBook;
  readonly #handles: readonly ModelHandle[];
  readonly #profiled: readonly ModelHandle[];
  readonly #keptBefore: number;
  readonly #arenaBefore: number;
  readonly #copiesBefore: { bytes: number; seconds: number };
  readonly #streamedBefore: number;
  readonly #start = performance.now();

  /** Make it when everything is placed. `profiled`: components whose unit times are wanted. */
  constructor(book: DeviceBook, handles: readonly ModelHandle[], profiled: readonly ModelHandle[]) {
    this.book = book;
    this.#handles = handles;
    this.#profiled = profiled;
    const { held } = book.device.memory();
    this.#keptBefore = held.io + held.state;
    this.#arenaBefore = book.arenaBytes;
    this.#copiesBefore = copies(handles);
    this.#streamedBefore = book.device.streamerStats().streamedBytes;
    book.device.resetPeak();
    book.profile(profiled.length > 0);
  }

  get elapsedMs(): number {
    return performance.now() - this.#start;
  }

  /** Working memory, and what stays of it; null where another stage (`disturbed`) or a larger scratch memory hides it. */
  end(calibration: Calibration, disturbed: boolean): { bytes: number; keptBytes: number } | null {
    const { book } = this;
    book.profile(false);
    this.#noteCopies(calibration);
    this.#noteStreamed();
    for (const handle of this.#profiled) noteUnitTimes(handle, calibration, book.key);
    if (disturbed) return null;
    const grew = book.arenaBytes > this.#arenaBefore || this.#arenaBefore === 0;
    if (!grew) return null;
    const { held, peakWorkingBytes } = book.device.memory();
    const keptBytes = Math.max(0, held.io + held.state - this.#keptBefore);
    return { bytes: Math.max(0, peakWorkingBytes - this.#keptBefore - keptBytes), keptBytes };
  }

  /** By the bytes that each has to stream in a pass. */
  #noteStreamed(): void {
    const bytes = this.book.device.streamerStats().streamedBytes - this.#streamedBefore;
    const missing = this.#handles.map((handle) => handle.sizeBytes - handle.loadedBytes);
    const total = missing.reduce((sum, part) => sum + part, 0);
    if (bytes <= 0 || total <= 0) return;
    for (const [index, handle] of this.#handles.entries())
      handle.noteStreamed((bytes * missing[index]!) / total);
  }

  #noteCopies(calibration: Calibration): void {
    const now = copies(this.#handles);
    const bytes = now.bytes - this.#copiesBefore.bytes;
    if (bytes <= 0) return;
    this.book.noteCopies(bytes, now.seconds - this.#copiesBefore.seconds);
    const rate = this.book.copyRate;
    if (rate !== null) calibration.noteCopyRate(this.book.key, rate);
  }
}

function copies(handles: readonly ModelHandle[]): { bytes: number; seconds: number } {
  let bytes = 0;
  let seconds = 0;
  for (const { store, unitCount } of handles) {
    for (let unit = -1; unit < unitCount; unit++) {
      const stats = unitStats(store, unit);
      bytes += stats.copiedBytes;
      seconds += stats.copySeconds;
    }
  }
  return { bytes, seconds };
}

function noteUnitTimes(handle: ModelHandle, calibration: Calibration, deviceKey: string): void {
  const times: number[] = [];
  for (let unit = 0; unit < handle.unitCount; unit++) {
    const { runs, computeSeconds } = unitStats(handle.store, unit);
    if (runs === 0) return;
    times.push((computeSeconds / runs) * 1000);
  }
  if (times.length > 0) calibration.noteUnitTimes(deviceKey, handle.calibrationKey, handle.unitBytes, times);
}
