import type { DeviceMemory, StreamerStats } from '../../native/addon.ts';
import type { Calibration } from './calibration.ts';
import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';
import { MiB } from './policy.ts';

/** Fewer streamed bytes say nothing of a rate. */
const enoughToMeasure = 4 * MiB;

/**
 * Measures one stage: its working memory (the peak above placed weights and slots, minus what it leaves behind on
 * purpose), the rate of its copies, and the compute time of its units.
 */
export class StageMeasurement {
  readonly book: DeviceBook;
  readonly #profiled: readonly ModelHandle[];
  readonly #keptBefore: number;
  readonly #roomBefore: number;
  readonly #foreignBefore: number;
  readonly #arenaBefore: number;
  readonly #cachedBefore: number;
  readonly #streamedBefore: StreamerStats;
  readonly #start = performance.now();

  /** Make it when everything is placed. `profiled`: components whose unit times are wanted. */
  constructor(book: DeviceBook, profiled: readonly ModelHandle[]) {
    this.book = book;
    this.#profiled = profiled;
    const memory = book.device.memory();
    const { held } = memory;
    this.#keptBefore = held.io + held.state;
    this.#arenaBefore = book.arenaBytes;
    this.#cachedBefore = book.cachedBytes;
    this.#roomBefore = memory.freeBytes + book.arenaBytes;
    this.#foreignBefore = foreignBytes(memory);
    this.#streamedBefore = book.device.streamerStats();
    book.device.resetPeak();
    book.profile(profiled.length > 0);
  }

  get elapsedMs(): number {
    return performance.now() - this.#start;
  }

  /** Scratch memory that its graphs took, where it grew for them, and what they left in graphs that are kept. */
  left(): { scratch: number | null; graphs: number } {
    const { arenaBytes, cachedBytes } = this.book;
    return {
      scratch: arenaBytes > this.#arenaBefore ? arenaBytes : null,
      graphs: Math.max(0, cachedBytes - this.#cachedBefore),
    };
  }

  /** What its working memory could have grown to, its peak so far, and what other programs took meanwhile. */
  soFar(): { room: number; peak: number; foreignGrowth: number } {
    const memory = this.book.device.memory();
    return {
      room: this.#roomBefore,
      peak: Math.max(0, memory.peakWorkingBytes - this.#keptBefore),
      foreignGrowth: Math.max(0, foreignBytes(memory) - this.#foreignBefore),
    };
  }

  /**
   * Working memory, and what stays of it; null where another stage (`disturbed`) or a larger scratch memory hides it.
   * @param pinned whether everything that streamed came from pinned memory (true) or nothing (false)
   */
  end(
    calibration: Calibration,
    disturbed: boolean,
    pinned: boolean | null = null,
  ): { bytes: number; keptBytes: number } | null {
    const { book } = this;
    book.profile(false);
    this.#noteCopies(calibration, disturbed ? null : pinned);
    for (const handle of this.#profiled) noteUnitTimes(handle, calibration, book.key);
    if (disturbed) return null;
    const grew = book.arenaBytes > this.#arenaBefore || this.#arenaBefore === 0;
    if (!grew) return null;
    const { held, peakWorkingBytes } = book.device.memory();
    const keptBytes = Math.max(0, held.io + held.state - this.#keptBefore);
    return { bytes: Math.max(0, peakWorkingBytes - this.#keptBefore - keptBytes), keptBytes };
  }

  /** What streamed; copies of placing are noted where they are made. */
  #noteCopies(calibration: Calibration, pinned: boolean | null): void {
    const { copiedBytes, copySeconds } = this.book.device.streamerStats();
    const before = this.#streamedBefore;
    const [bytes, seconds] = [copiedBytes - before.copiedBytes, copySeconds - before.copySeconds];
    this.book.noteCopies(bytes, seconds);
    if (pinned !== null && bytes >= enoughToMeasure && seconds > 0) {
      calibration.noteSourceRate(this.book.key, pinned, bytes / seconds / 1000);
    }
    const rate = this.book.copyRate;
    if (rate !== null) calibration.noteCopyRate(this.book.key, rate);
  }
}

function foreignBytes({ totalBytes, freeBytes, held }: DeviceMemory): number {
  return totalBytes - freeBytes - Object.values(held).reduce((sum, bytes) => sum + bytes, 0);
}

function noteUnitTimes(handle: ModelHandle, calibration: Calibration, deviceKey: string): void {
  const times: number[] = [];
  for (let unit = 0; unit < handle.unitCount; unit++) {
    const { runs, computeSeconds } = handle.store.unitStats(unit);
    if (runs === 0) return;
    times.push((computeSeconds / runs) * 1000);
  }
  if (times.length > 0) calibration.noteUnitTimes(deviceKey, handle.calibrationKey, handle.unitBytes, times);
}
