import type { TokenTable } from './token-table.ts';

/**
 * Which two tokens become one, the most frequent pairs first (Sennrich et al. 2016): a hash table from the pair to its
 * rank and its token.
 */
export class Merges {
  /** Left, right, rank, token of each slot; a left of -1 is free. */
  #slots: Int32Array;
  #count = 0;

  /** @param count expected number of pairs */
  constructor(count: number) {
    this.#slots = freeSlots(2 ** Math.ceil(Math.log2(2 * Math.max(count, 1) + 1)));
  }

  /** Pairs added. */
  get count(): number {
    return this.#count;
  }

  /** Ranks follow the order of adding; of a pair that comes twice the later rank holds. */
  add(left: number, right: number, token: number): void {
    const at = this.#find(left, right);
    this.#slots[at] = left;
    this.#slots[at + 1] = right;
    this.#slots[at + 2] = this.#count;
    this.#slots[at + 3] = token;
    this.#count += 1;
    if (8 * this.#count > this.#slots.length) this.#grow();
  }

  /** Where `rank` and `token` find the pair; -1: it does not merge. */
  find(left: number, right: number): number {
    const at = this.#find(left, right);
    return this.#slots[at] === -1 ? -1 : at;
  }

  rank(found: number): number {
    return this.#slots[found + 2]!;
  }

  token(found: number): number {
    return this.#slots[found + 3]!;
  }

  #find(left: number, right: number): number {
    const mask = this.#slots.length / 4 - 1;
    let slot = mixed(left, right) & mask;
    for (;;) {
      const found = this.#slots[4 * slot]!;
      if (found === -1 || (found === left && this.#slots[4 * slot + 1] === right)) return 4 * slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = freeSlots(old.length / 2);
    for (let at = 0; at < old.length; at += 4) {
      if (old[at] !== -1) this.#slots.set(old.subarray(at, at + 4), this.#find(old[at]!, old[at + 1]!));
    }
  }
}

function freeSlots(count: number): Int32Array {
  return new Int32Array(4 * count).fill(-1);
}

function mixed(left: number, right: number): number {
  const value = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
  return value ^ (value >>> 15);
}

/** What byte-level vocabularies write for a byte (GPT-2): printable characters for themselves, others from U+0100 on. */
const characterOf: readonly string[] = (() => {
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const plain = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCharCode(plain ? byte : others++);
  });
})();

/** The bytes of words to tokens: the pair of the lowest rank merges first, of equal ones the leftmost. */
export class ByteLevelBpe {
  readonly #merges: Merges;
  /** Token of each single byte; -1: the vocabulary has none, and the byte says nothing. */
  readonly #byteTokens: Int32Array;

  constructor(tokens: TokenTable, merges: Merges) {
    this.#merges = merges;
    this.#byteTokens = Int32Array.from(characterOf, (character) => tokens.idOf(character) ?? -1);
  }

  /** Appends the tokens of one word to `into`. */
  encode(word: string, into: number[]): void {
    const bytes = encoder.encode(word);
    const length = bytes.length;
    const tokens = Int32Array.from(bytes, (byte) => this.#byteTokens[byte]!);
    // A list: the neighbours of each token that is left.
    const next = Int32Array.from(bytes, (_, i) => i + 1);
    const previous = Int32Array.from(bytes, (_, i) => i - 1);
    const queue = new PairQueue();
    const offer = (at: number): void => {
      if (at < 0 || next[at]! >= length) return;
      const found = this.#merges.find(tokens[at]!, tokens[next[at]!]!);
      if (found >= 0) queue.push(this.#merges.rank(found), at);
    };
    for (let at = 0; at < length; at++) offer(at);
    while (queue.pop()) {
      const { rank, at } = queue;
      // Merged away, or beside another token by now.
      if (next[at]! === gone || next[at]! >= length) continue;
      const right = next[at]!;
      const found = this.#merges.find(tokens[at]!, tokens[right]!);
      if (found < 0 || this.#merges.rank(found) !== rank) continue;
      tokens[at] = this.#merges.token(found);
      const after = next[right]!;
      next[at] = after;
      next[right] = gone;
      if (after < length) previous[after] = at;
      offer(previous[at]!);
      offer(at);
    }
    for (let at = 0; at < length; at = next[at]!) if (tokens[at]! >= 0) into.push(tokens[at]!);
  }
}

const encoder = new TextEncoder();
/** `next` of a token that was merged into the one before it. */
const gone = -1;
/** Positions within a word; ranks stand above them in a number that is exact. */
const mostPositions = 2 ** 31;

/** Pairs by rank, then by position: a binary heap of single numbers. */
class PairQueue {
  rank = 0;
  at = 0;
  readonly #heap: number[] = [];

  push(rank: number, at: number): void {
    const heap = this.#heap;
    const key = rank * mostPositions + at;
    let place = heap.length;
    heap.push(key);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (heap[parent]! <= key) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = key;
  }

  /** False: it is empty. Otherwise `rank` and `at` are the first pair's. */
  pop(): boolean {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return false;
    this.rank = Math.floor(first / mostPositions);
    this.at = first % mostPositions;
    if (heap.length > 0) this.#sink(last);
    return true;
  }

  #sink(key: number): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child += 1;
      if (heap[child]! >= key) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = key;
  }
}
