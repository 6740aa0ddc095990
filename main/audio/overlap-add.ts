/**
 * Overlap-add in constant memory: frames go in, samples that no later frame touches come out, divided by the
 * overlap-added squared window.
 */
export class OverlapAdd {
  readonly #sum: Float64Array;
  readonly #weight: Float64Array;
  readonly #squared: Float64Array;

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
    this.#weight = new Float64Array(window.length);
    this.#squared = window.map((value) => value * value);
  }

  /** Add the next frame (`window.length` samples) and put `hop` finished samples into `out`; returns how many. */
  add(frame: Float64Array, out: Float64Array): number {
    const { window, hop } = this;
    const sum = this.#sum;
    const weight = this.#weight;
    for (let n = 0; n < window.length; n++) {
      sum[n]! += frame[n]! * window[n]!;
      weight[n]! += this.#squared[n]!;
    }
    this.#take(out, hop);
    sum.copyWithin(0, hop);
    weight.copyWithin(0, hop);
    sum.fill(0, window.length - hop);
    weight.fill(0, window.length - hop);
    return hop;
  }

  /** The samples behind the last frame's hop: `window.length - hop` of them. The object is then as new. */
  flush(out: Float64Array): number {
    const count = this.window.length - this.hop;
    this.#take(out, count);
    this.#sum.fill(0);
    this.#weight.fill(0);
    return count;
  }

  #take(out: Float64Array, count: number): void {
    for (let n = 0; n < count; n++) out[n] = this.#sum[n]! / Math.max(this.#weight[n]!, this.floor);
  }
}
