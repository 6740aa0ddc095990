import type { Recording } from './recording.ts';

/**
 * Recordings of this run by job. Holds at most `budget` bytes: the ones that were longest unused go first and are
 * fetched from the host again when someone plays them. The one in use always stays.
 */
export class AudioLibrary {
  readonly #recordings = new Map<string, Recording>();
  readonly #budget: number;

  constructor(budget = 1024 ** 3) {
    this.#budget = budget;
  }

  get(jobId: string): Recording | undefined {
    const recording = this.#recordings.get(jobId);
    if (recording === undefined) return undefined;
    // Map order is order of use.
    this.#recordings.delete(jobId);
    this.#recordings.set(jobId, recording);
    return recording;
  }

  peek(jobId: string): Recording | undefined {
    return this.#recordings.get(jobId);
  }

  set(jobId: string, recording: Recording): void {
    this.#recordings.delete(jobId);
    this.#recordings.set(jobId, recording);
    this.trim();
  }

  delete(jobId: string): void {
    this.#recordings.delete(jobId);
  }

  /** Called when a recording has grown to its end. */
  trim(): void {
    let held = [...this.#recordings.values()].reduce((sum, recording) => sum + recording.bytes, 0);
    const oldest = [...this.#recordings].slice(0, -1);
    for (const [jobId, recording] of oldest) {
      if (held <= this.#budget) return;
      // One that still grows has nothing on the host yet to be fetched from.
      if (!recording.isComplete) continue;
      this.#recordings.delete(jobId);
      held -= recording.bytes;
    }
  }
}
