import { DecodeError } from './pcm.ts';

/** How long the block of an audio packet is, and what its neighbours are. */
interface Block {
  long: boolean;
  /** Of a long block: whether the one before and the one after are long as well. */
  before: boolean;
  after: boolean;
}

const modeBits = 1 + 16 + 16 + 8;

/**
 * Reads the kinds of blocks of a Vorbis stream (Vorbis I, section 4.2.4 and 4.3.1): they are described at the very end of
 * the setup header, behind tables that only a decoder understands, so that they are read backwards.
 */
export class VorbisBlocks {
  readonly #long: boolean[];
  readonly #numberBits: number;

  /** @throws DecodeError */
  constructor(setup: Uint8Array) {
    const end = lastBit(setup);
    const counts = Array.from({ length: 64 }, (_, index) => index + 1).filter((count) => {
      const start = end - count * modeBits;
      // Their types are reserved: zeros.
      const zeros = (index: number) => bitsAt(setup, start + index * modeBits + 1, 32) === 0;
      return start >= 6 && bitsAt(setup, start - 6, 6) === count - 1 && rangeOf(count).every(zeros);
    });
    const count = counts.at(-1);
    if (count === undefined) throw new DecodeError('its description of blocks is damaged');
    this.#long = rangeOf(count).map((index) => bitsAt(setup, end - (count - index) * modeBits, 1) === 1);
    this.#numberBits = count === 1 ? 0 : 32 - Math.clz32(count - 1);
  }

  /** Decoding may begin with packet `b` behind packet `a`: both are alike, so that their halves overlap in full. */
  alike(a: Uint8Array, b: Uint8Array): boolean {
    const [first, second] = [this.#block(a), this.#block(b)];
    if (first === null || second === null || first.long !== second.long) return false;
    return !first.long || (first.after && second.before);
  }

  /** Null for what is no packet of audio. */
  #block(packet: Uint8Array): Block | null {
    if (packet.length < 2 || (packet[0]! & 1) !== 0) return null;
    const long = this.#long[bitsAt(packet, 1, this.#numberBits)];
    if (long === undefined) return null;
    const at = 1 + this.#numberBits;
    return { long, before: bitsAt(packet, at, 1) === 1, after: bitsAt(packet, at + 1, 1) === 1 };
  }
}

const rangeOf = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Position of the highest bit that is set: the one that ends the header. */
function lastBit(bytes: Uint8Array): number {
  let at = bytes.length - 1;
  while (at > 0 && bytes[at] === 0) at -= 1;
  return at * 8 + 31 - Math.clz32(bytes[at] ?? 0);
}

/** Vorbis fills bytes from the lowest bit. Beyond the end: zeros. */
function bitsAt(bytes: Uint8Array, position: number, count: number): number {
  let value = 0;
  for (let bit = 0; bit < count; bit++) {
    const at = position + bit;
    if ((((bytes[at >> 3] ?? 0) >> (at & 7)) & 1) === 1) value += 2 ** bit;
  }
  return value;
}
