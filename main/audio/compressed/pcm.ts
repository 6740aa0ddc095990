/** Longest time that decoding keeps messages, a cancel for example, waiting, ms. */
export const patienceMs = 5;

/** Audio of a compressed file; integers, because that is what WAV files of references hold. */
export interface DecodedAudio {
  sampleRate: number;
  channels: number;
  bits: 16 | 24;
  /** Interleaved, little-endian. */
  pcm: Uint8Array;
  /** What was wrong but could be read all the same. */
  warnings: string[];
}

/** What a file may become: a few kilobytes of it can stand for hours. */
export interface DecodeLimits {
  /** Of `pcm`. */
  bytes: number;
}

/** Why a file cannot be decoded; fits after "it is an MP3 file, but ". */
export class DecodeError extends Error {}

/** More than the limit: the file is no reference, whatever follows. */
export class TooLong extends Error {
  constructor(
    /** Of the part that was decoded. */
    readonly seconds: number,
  ) {
    super('too long');
  }
}

/** Collects samples block by block; memory never goes far beyond the limit. */
export class PcmCollector {
  readonly #blocks: Uint8Array[] = [];
  #bytes = 0;

  constructor(
    readonly format: Pick<DecodedAudio, 'sampleRate' | 'channels' | 'bits'>,
    private readonly limits: DecodeLimits,
  ) {}

  get frames(): number {
    return this.#bytes / (this.format.channels * (this.format.bits / 8));
  }

  /**
   * @param block one array per channel, whole numbers of the format's bits
   * @throws TooLong
   */
  addIntegers(block: readonly Int32Array[], frames: number): void {
    const { bits, channels } = this.format;
    const step = bits / 8;
    const bytes = new Uint8Array(frames * channels * step);
    const view = new DataView(bytes.buffer);
    let at = 0;
    for (let n = 0; n < frames; n++) {
      for (let channel = 0; channel < channels; channel++, at += step) {
        const value = block[channel]![n]!;
        view.setUint8(at, value & 0xff);
        if (step === 2) view.setInt8(at + 1, value >> 8);
        else view.setInt16(at + 1, value >> 8, true);
      }
    }
    this.#add(bytes);
  }

  /** @param block one array per channel, -1..1; what is beyond is cut. @throws TooLong */
  addFloats(block: readonly Float32Array[], from: number, to: number): void {
    const { channels } = this.format;
    const values = new Int16Array((to - from) * channels);
    let at = 0;
    for (let n = from; n < to; n++) {
      for (let channel = 0; channel < channels; channel++) {
        const value = Math.round((block[channel]![n] ?? 0) * 32_768);
        // What is no number becomes silence.
        values[at++] = Math.max(-32_768, Math.min(32_767, value || 0));
      }
    }
    this.#add(littleEndian(values));
  }

  /** @param values interleaved. @throws TooLong */
  addInterleaved(values: Int16Array): void {
    this.#add(littleEndian(values.slice()));
  }

  finish(warnings: string[]): DecodedAudio {
    const pcm = new Uint8Array(this.#bytes);
    let at = 0;
    for (const block of this.#blocks.splice(0)) {
      pcm.set(block, at);
      at += block.length;
    }
    return { ...this.format, pcm, warnings };
  }

  #add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > this.limits.bytes) throw new TooLong(this.frames / this.format.sampleRate);
    this.#blocks.push(bytes);
  }
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

function littleEndian(values: Int16Array): Uint8Array {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  if (!isLittleEndian) {
    for (let at = 0; at < bytes.length; at += 2) bytes.subarray(at, at + 2).reverse();
  }
  return bytes;
}
