import { DecodeError } from './pcm.ts';

/** Bits of a byte array, the highest of each byte first. */
export class BitReader {
  /** In bits. */
  position: number;
  readonly #end: number;

  constructor(
    private readonly bytes: Uint8Array,
    from = 0,
  ) {
    this.position = from * 8;
    this.#end = bytes.length * 8;
  }

  get byte(): number {
    return this.position >> 3;
  }

  /** 0 to 32 bits. @throws DecodeError at the end */
  read(count: number): number {
    if (this.position + count > this.#end) throw new DecodeError('it ends in the middle of a block');
    let value = 0;
    let left = count;
    while (left > 0) {
      const offset = this.position & 7;
      const taken = Math.min(8 - offset, left);
      const part = (this.bytes[this.position >> 3]! >> (8 - offset - taken)) & ((1 << taken) - 1);
      value = value * 2 ** taken + part;
      this.position += taken;
      left -= taken;
    }
    return value;
  }

  /** Two's complement. */
  signed(count: number): number {
    if (count === 0) return 0;
    const value = this.read(count);
    return value >= 2 ** (count - 1) ? value - 2 ** count : value;
  }

  /** Zeros before the next one, which is taken as well. */
  unary(): number {
    let zeros = 0;
    while (this.position < this.#end) {
      const offset = this.position & 7;
      const rest = (this.bytes[this.position >> 3]! << (24 + offset)) >>> 0;
      if (rest !== 0) {
        const here = Math.clz32(rest);
        this.position += here + 1;
        return zeros + here;
      }
      zeros += 8 - offset;
      this.position += 8 - offset;
    }
    throw new DecodeError('it ends in the middle of a block');
  }

  align(): void {
    this.position = (this.position + 7) & ~7;
  }
}
