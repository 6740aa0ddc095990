/** So many losses of a device within so many minutes are one too many. */
export const lossLimit = 3;
export const lossMinutes = 10;

/** How often each device was lost lately. A key of the caller's own stands for what is no device. */
export class Losses {
  readonly #at = new Map<string, number[]>();

  constructor(private readonly now: () => number = Date.now) {}

  /** True where it was lost as often as it may be. */
  note(device: string): boolean {
    this.#at.set(device, [...this.#recent(device), this.now()]);
    return this.tooOften(device);
  }

  tooOften(device: string): boolean {
    return this.#recent(device).length >= lossLimit;
  }

  forget(): void {
    this.#at.clear();
  }

  #recent(device: string): number[] {
    const since = this.now() - lossMinutes * 60_000;
    return (this.#at.get(device) ?? []).filter((at) => at > since);
  }
}
