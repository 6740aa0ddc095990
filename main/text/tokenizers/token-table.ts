/**
 * Tokens and their ids, found by the UTF-8 bytes of their spelling: one hash table over one buffer, because objects for
 * 150,000 strings take as long to make as a model's weights to load.
 */
export class TokenTable {
  /** Spellings, one after the other. */
  #bytes: Uint8Array;
  #used = 0;
  /** Where entry `n` begins; it ends where the next one does. */
  #starts = new Int32Array(1024);
  #ids = new Int32Array(1024);
  /** Entries by hash, counted from 1; 0: free. */
  #slots = new Int32Array(2048);
  #size = 0;

  /** @param bytes expected length of all spellings together */
  constructor(bytes: number) {
    this.#bytes = new Uint8Array(bytes);
  }

  /** Tokens, each once. */
  get size(): number {
    return this.#size;
  }

  /** Ids in the order in which tokens were first added. */
  get ids(): Int32Array {
    return this.#ids.subarray(0, this.#size);
  }

  /** The spelling `source[from..to]`; one that is known already takes the new id. */
  set(source: Uint8Array, from: number, to: number, id: number): void {
    const slot = this.#slot(source, from, to);
    const known = this.#slots[slot]!;
    if (known > 0) {
      this.#ids[known - 1] = id;
      return;
    }
    this.#makeRoom(to - from);
    // Spellings are short: a view of each would take longer than its bytes.
    for (let i = from; i < to; i++) this.#bytes[this.#used++] = source[i]!;
    this.#ids[this.#size] = id;
    this.#size += 1;
    this.#starts[this.#size] = this.#used;
    this.#slots[slot] = this.#size;
    if (2 * this.#size > this.#slots.length) this.#rehash();
  }

  /** The id of the spelling `source[from..to]`; -1: there is none. */
  find(source: Uint8Array, from: number, to: number): number {
    const entry = this.#slots[this.#slot(source, from, to)]!;
    return entry === 0 ? -1 : this.#ids[entry - 1]!;
  }

  idOf(token: string): number | undefined {
    const bytes = encoder.encode(token);
    const id = this.find(bytes, 0, bytes.length);
    return id < 0 ? undefined : id;
  }

  /** Where the spelling is, or would be. */
  #slot(source: Uint8Array, from: number, to: number): number {
    const slots = this.#slots;
    const starts = this.#starts;
    const mask = slots.length - 1;
    let slot = hash(source, from, to) & mask;
    for (;;) {
      const entry = slots[slot]!;
      if (entry === 0) return slot;
      const start = starts[entry - 1]!;
      if (starts[entry]! - start === to - from && equal(this.#bytes, start, source, from, to)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #makeRoom(length: number): void {
    if (this.#used + length > this.#bytes.length) {
      this.#bytes = longer(this.#bytes, new Uint8Array(2 * (this.#bytes.length + length)));
    }
    if (this.#size + 2 > this.#starts.length) {
      this.#starts = longer(this.#starts, new Int32Array(2 * this.#starts.length));
      this.#ids = longer(this.#ids, new Int32Array(2 * this.#ids.length));
    }
  }

  #rehash(): void {
    this.#slots = new Int32Array(4 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let entry = 0; entry < this.#size; entry++) {
      let slot = hash(this.#bytes, this.#starts[entry]!, this.#starts[entry + 1]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = entry + 1;
    }
  }
}

const encoder = new TextEncoder();

function equal(one: Uint8Array, start: number, other: Uint8Array, from: number, to: number): boolean {
  for (let i = from, k = start; i < to; i++, k++) if (one[k] !== other[i]) return false;
  return true;
}

/** FNV-1a, its bits mixed once more because only the low ones are used. */
function hash(source: Uint8Array, from: number, to: number): number {
  let value = 0x811c9dc5;
  for (let i = from; i < to; i++) value = Math.imul(value ^ source[i]!, 0x01000193);
  return value ^ (value >>> 15);
}

function longer<T extends Uint8Array | Int32Array>(old: T, target: T): T {
  target.set(old);
  return target;
}
