/**
 * Overlap-add in constant memory: frames go in, samples that no later frame touches come out, divided by the
 * overlap-added squared window.
 */
export class OverlapAdd {
  readonly #sum: Float64Array;
  /** 1 / divisor of `hop` samples once every sample lies under as many frames as it ever will. */
  readonly #steady: Float64Array;
  #frames = 0;

  /**
   * @param window the synthesis window, applied here
   * @param hop samples between frames, at most the window's length
   * @param floor least divisor: where less window than this lies over a sample, it is not blown up
   */
  constructor(
    private readonly window: Float64Array,
    private readonly hop: number,
    private readonly floor = 1e-11,
  ) {
    if (hop < 1 || hop > window.length) throw new RangeError(`hop ${hop} with a window of ${window.length}`);
    this.#sum = new Float64Array(window.length);
    this.#steady = Float64Array.from({ length: hop }, (_, n) => 1 / this.#divisor(n, window.length));
  }

  /** Add the next frame (`window.length` samples) and put `hop` finished samples into `out`; returns how many. */
  add(frame: Float64Array, out: Float64Array): number {
    const { window, hop } = this;
    const sum = this.#sum;
    for (let n = 0; n < window.length; n++) sum[n]! += frame[n]! * window[n]!;
    this.#frames++;
    if (this.#frames * hop >= window.length) {
      for (let n = 0; n < hop; n++) out[n] = sum[n]! * this.#steady[n]!;
    } else {
      for (let n = 0; n < hop; n++) out[n] = sum[n]! / this.#divisor(n, n + this.#frames * hop);
    }
    sum.copyWithin(0, hop);
    sum.fill(0, window.length - hop);
    return hop;
  }

  /** The samples behind the last frame's hop: `window.length - hop` of them. The object is then as new. */
  flush(out: Float64Array): number {
    const { window, hop } = this;
    const count = window.length - hop;
    for (let n = 0; n < count; n++) {
      out[n] = this.#sum[n]! / this.#divisor(n + hop, n + hop + this.#frames * hop);
    }
    this.#sum.fill(0);
    this.#frames = 0;
    return count;
  }

  /** Squared window over a sample that lies at `start` of its newest frame, at `start + hop` of the one before, ... */
  #divisor(start: number, end: number): number {
    const { window, hop } = this;
    let total = 0;
    for (let n = start; n < Math.min(end, window.length); n += hop) total += window[n]! * window[n]!;
    return Math.max(total, this.floor);
  }
}
