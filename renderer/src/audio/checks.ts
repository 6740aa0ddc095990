/** What a listener would complain of; times are seconds from the start. */
export type Finding =
  | { kind: 'all_silent' }
  | { kind: 'silence'; at: number; seconds: number }
  | { kind: 'clipping'; at: number; count: number }
  | { kind: 'not_finite'; at: number; count: number }
  | { kind: 'short'; seconds: number; expected: number }
  | { kind: 'long'; seconds: number; expected: number };

const windowSeconds = 0.02;
/** -60 dB of full scale. */
const silent = 1e-3;
/** A pause between paragraphs is shorter; a dropped sentence is longer. */
const longestPause = 2.5;
const fullScale = 0.999;
/** Runs at full scale shorter than this are peaks, not clipping. */
const clippedRun = 3;

/** Listens along while chunks arrive, in constant memory. */
export class AudioChecks {
  readonly #sampleRate: number;
  readonly #window: number;
  #frames = 0;
  #peak = 0;
  #energy = 0;
  #filled = 0;
  #quietSince: number | null = null;
  #longestQuiet = { at: 0, frames: 0 };
  #run = 0;
  #clipped = { at: 0, count: 0 };
  #notFinite = { at: 0, count: 0 };

  constructor(sampleRate: number) {
    this.#sampleRate = sampleRate;
    this.#window = Math.max(1, Math.round(sampleRate * windowSeconds));
  }

  append(samples: Float32Array): void {
    for (let i = 0; i < samples.length; i++) {
      const value = samples[i]!;
      const frame = this.#frames++;
      if (!Number.isFinite(value)) {
        if (this.#notFinite.count++ === 0) this.#notFinite.at = frame;
        this.#run = 0;
      } else {
        const magnitude = Math.abs(value);
        if (magnitude > this.#peak) this.#peak = magnitude;
        this.#energy += value * value;
        this.#run = magnitude >= fullScale ? this.#run + 1 : 0;
        if (this.#run === clippedRun && this.#clipped.count++ === 0)
          this.#clipped.at = frame - clippedRun + 1;
      }
      if (++this.#filled === this.#window) this.#closeWindow();
    }
  }

  #closeWindow(): void {
    const quiet = Math.sqrt(this.#energy / this.#filled) < silent;
    const start = this.#frames - this.#filled;
    if (quiet) {
      this.#quietSince ??= start;
      const frames = this.#frames - this.#quietSince;
      if (frames > this.#longestQuiet.frames) this.#longestQuiet = { at: this.#quietSince, frames };
    } else {
      this.#quietSince = null;
    }
    this.#energy = 0;
    this.#filled = 0;
  }

  /** `expectedSeconds`: what a text of this length takes to say; absent when unknown. */
  findings(expectedSeconds?: number): Finding[] {
    const found: Finding[] = [];
    const seconds = this.#frames / this.#sampleRate;
    if (this.#notFinite.count > 0) {
      found.push({
        kind: 'not_finite',
        at: this.#notFinite.at / this.#sampleRate,
        count: this.#notFinite.count,
      });
    }
    if (this.#frames > 0 && this.#peak < silent) found.push({ kind: 'all_silent' });
    else if (this.#longestQuiet.frames / this.#sampleRate > longestPause) {
      found.push({
        kind: 'silence',
        at: this.#longestQuiet.at / this.#sampleRate,
        seconds: this.#longestQuiet.frames / this.#sampleRate,
      });
    }
    if (this.#clipped.count > 0) {
      found.push({ kind: 'clipping', at: this.#clipped.at / this.#sampleRate, count: this.#clipped.count });
    }
    // Estimates of short texts are too rough to judge by.
    if (expectedSeconds !== undefined && expectedSeconds > 2) {
      if (seconds < expectedSeconds / 3) found.push({ kind: 'short', seconds, expected: expectedSeconds });
      if (seconds > expectedSeconds * 3) found.push({ kind: 'long', seconds, expected: expectedSeconds });
    }
    return found;
  }
}
