/** A quantity over the requests done: how fast it grows once it is warm. */
export class Trend {
  readonly #points: [number, number][] = [];

  add(done: number, value: number): void {
    this.#points.push([done, value]);
  }

  /** Growth per hundred requests in the second half: median of the slopes between all pairs (Theil-Sen). */
  get perHundred(): number {
    const late = this.#points.slice(Math.floor(this.#points.length / 2));
    const slopes = late.flatMap(([x, y], i) =>
      late.slice(i + 1).map(([later, value]) => ((value - y) / (later - x)) * 100),
    );
    if (slopes.length === 0) return 0;
    slopes.sort((a, b) => a - b);
    const middle = slopes.length >> 1;
    return slopes.length % 2 ? slopes[middle]! : (slopes[middle - 1]! + slopes[middle]!) / 2;
  }

  text(unit: string): string {
    const values = this.#points.map(([, value]) => value);
    const middle = values[Math.floor(values.length / 2)] ?? Number.NaN;
    const shown = [values[0] ?? Number.NaN, middle, values.at(-1) ?? Number.NaN].map((value) =>
      value.toFixed(1),
    );
    return `${shown.join(' -> ')} ${unit} (first, half-way, last), ${this.perHundred.toFixed(2)} ${unit} per 100 requests`;
  }
}
