import { firstCode, symbols } from '../arpabet.ts';
import { damagedAsset } from '../assets.ts';

/** First line of the packed dictionary; the symbols follow on the same line. */
export const dictionaryFormat = 'mizuoto-dictionary/1';

const newline = 0x0a;
const tab = 0x09;
const space = 0x20;

/**
 * A pronouncing dictionary in one byte array: lines `word TAB phones[ phones...]`, sorted by byte, one byte per
 * phone. Looking up is a binary search over the bytes: no table of 126,000 strings is ever built, so that loading
 * takes some 20 ms and 2.6 MB (bytes plus line starts).
 */
export class Dictionary {
  readonly size: number;
  readonly #bytes: Uint8Array;
  readonly #starts: Uint32Array;

  constructor(bytes: Uint8Array) {
    const end = bytes.indexOf(newline);
    const header = latin(bytes, 0, Math.max(0, end));
    if (header !== `${dictionaryFormat} ${symbols.join(' ')}`) {
      throw damagedAsset('dictionary.gz', `Its first line is "${header.slice(0, 40)}".`);
    }
    const starts = new Uint32Array(countLines(bytes));
    let lines = 0;
    for (let at = end + 1; at < bytes.length; ) {
      starts[lines++] = at;
      const next = bytes.indexOf(newline, at);
      at = next < 0 ? bytes.length : next + 1;
    }
    this.#bytes = bytes;
    this.#starts = starts.subarray(0, lines);
    this.size = lines;
  }

  /** Every pronunciation of a lower-case word, the usual one first; undefined where the word is unknown. */
  lookup(word: string): string[][] | undefined {
    const found = this.#find(word);
    if (found < 0) return undefined;
    const out: string[][] = [[]];
    for (let i = found; i < this.#bytes.length; i++) {
      const byte = this.#bytes[i]!;
      if (byte === newline) break;
      if (byte === space) out.push([]);
      else out[out.length - 1]!.push(symbols[byte - firstCode]!);
    }
    return out;
  }

  has(word: string): boolean {
    return this.#find(word) >= 0;
  }

  /** Entry number `index` in sorted order (for tests and training). */
  word(index: number): string {
    const start = this.#starts[index];
    if (start === undefined)
      throw new RangeError(`The dictionary has ${this.size} words; ${index} is not one.`);
    return latin(this.#bytes, start, this.#bytes.indexOf(tab, start));
  }

  /** Index of the first phone of a word, or -1. */
  #find(word: string): number {
    const { length } = word;
    if (length === 0) return -1;
    let low = 0;
    let high = this.size - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const start = this.#starts[middle]!;
      let order = 0;
      let i = 0;
      for (; i < length && order === 0; i++) order = word.charCodeAt(i) - this.#bytes[start + i]!;
      if (order === 0) {
        if (this.#bytes[start + i] === tab) return start + i + 1;
        order = -1;
      }
      if (order < 0) high = middle - 1;
      else low = middle + 1;
    }
    return -1;
  }
}

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = 0; at >= 0; lines++) {
    const next = bytes.indexOf(newline, at);
    if (next < 0) break;
    at = next + 1;
  }
  return lines;
}

function latin(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, Math.min(end, start + 4096)));
}
