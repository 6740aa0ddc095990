import type { GenerationEnd } from './generate.ts';

/** Draws frames from the first on; the same ones each time it is called. */
export type DrawFrames = () => AsyncGenerator<Int32Array, GenerationEnd>;

/**
 * The frames of one passage, drawn stretch by stretch. A stretch may be asked for again: what is drawn is kept, and
 * after a failure (which gives the talker's cache back) everything is drawn anew, up to where it was.
 */
export class FrameStream {
  /** Drawn so far. */
  readonly frames: Int32Array[] = [];
  /** Null while more may come. */
  end: GenerationEnd | null = null;
  readonly #draw: DrawFrames;
  #source: AsyncGenerator<Int32Array, GenerationEnd> | null = null;
  /** Frames that the source has drawn. */
  #position = 0;

  constructor(draw: DrawFrames) {
    this.#draw = draw;
  }

  /** It holds the talker's cache. */
  get open(): boolean {
    return this.#source !== null;
  }

  /** Draws until there are `count` frames, or no more come. */
  async drawTo(count: number): Promise<void> {
    try {
      while (this.end === null && this.frames.length < count) await this.#next();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #next(): Promise<void> {
    if (this.#source === null) {
      this.#source = this.#draw();
      this.#position = 0;
    }
    const { value, done } = await this.#source.next();
    if (done) {
      this.end = value;
      return;
    }
    if (this.#position === this.frames.length) this.frames.push(value);
    this.#position += 1;
  }

  /** Gives back what the source holds on the device. */
  async close(): Promise<void> {
    const source = this.#source;
    this.#source = null;
    // A source that failed has given everything back already.
    await source?.return('limit');
  }
}
