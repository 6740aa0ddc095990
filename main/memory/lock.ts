/** Runs one body at a time, in the order of asking. */
export class Lock {
  #tail: Promise<void> = Promise.resolve();

  async run<T>(body: () => Promise<T>): Promise<T> {
    const before = this.#tail;
    let open!: () => void;
    this.#tail = new Promise((resolve) => {
      open = resolve;
    });
    await before;
    try {
      return await body();
    } finally {
      open();
    }
  }
}
