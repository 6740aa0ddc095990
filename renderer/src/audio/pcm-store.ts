/** Samples of one sealed block: about 11 s at 24 kHz. */
const blockFrames = 2 ** 18;

/**
 * Mono samples of a recording of any length. Sealed blocks are 16-bit Blobs, which the browser keeps outside the
 * page's heap and moves to disk when there are many: ten hours of audio leave the page as light as ten seconds.
 * What is heard equals a 16-bit WAV file; saving a file never reads from here, the host writes it.
 */
export class PcmStore {
  #sealed: Blob[] = [];
  #open = new Int16Array(blockFrames);
  #filled = 0;
  /** The block that was read last, so that playing through it decodes it once. */
  #recent: { index: number; samples: Int16Array } | null = null;

  get frames(): number {
    return this.#sealed.length * blockFrames + this.#filled;
  }

  get bytes(): number {
    return this.frames * 2;
  }

  append(samples: Float32Array): void {
    let at = 0;
    while (at < samples.length) {
      const count = Math.min(samples.length - at, blockFrames - this.#filled);
      for (let i = 0; i < count; i++) this.#open[this.#filled + i] = toInt16(samples[at + i]!);
      this.#filled += count;
      at += count;
      if (this.#filled === blockFrames) {
        this.#sealed.push(new Blob([this.#open]));
        this.#open = new Int16Array(blockFrames);
        this.#filled = 0;
      }
    }
  }

  /** Frames `start` to `start + count`, fewer at the end; -1..1. */
  async read(start: number, count: number): Promise<Float32Array<ArrayBuffer>> {
    const first = Math.max(0, Math.min(start, this.frames));
    const out = new Float32Array(Math.max(0, Math.min(count, this.frames - first)));
    let written = 0;
    while (written < out.length) {
      const frame = first + written;
      const index = Math.floor(frame / blockFrames);
      const block = await this.#block(index);
      const offset = frame - index * blockFrames;
      const take = Math.min(out.length - written, blockFrames - offset);
      for (let i = 0; i < take; i++) out[written + i] = block[offset + i]! / 32768;
      written += take;
    }
    return out;
  }

  async #block(index: number): Promise<Int16Array> {
    const blob = this.#sealed[index];
    if (blob === undefined) return this.#open;
    if (this.#recent?.index === index) return this.#recent.samples;
    const samples = new Int16Array(await blob.arrayBuffer());
    this.#recent = { index, samples };
    return samples;
  }
}

function toInt16(value: number): number {
  if (!(value >= -1)) return value < -1 ? -32768 : 0;
  return value >= 1 ? 32767 : Math.max(-32768, Math.min(32767, Math.round(value * 32768)));
}
