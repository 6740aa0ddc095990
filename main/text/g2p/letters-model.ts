/**
 * Spelling to sound for words that no dictionary knows: a joint-sequence n-gram model (Bisani and Ney, 2008) over
 * "graphones", pieces of one or two letters with their phones. training/ makes it from the CMU dictionary.
 */
import { isVowel, parse, stressOf, withStress } from '../arpabet.ts';
import { damagedAsset } from '../assets.ts';

export const letterModelFormat = 'mizuoto-letters/1';
/** Steps of the packed logarithms (natural). */
export const logStep = 0.2;
/** Symbols 0 and 1 are the start and the end of a word; graphones follow. */
const startSymbol = 0;
const endSymbol = 1;

const beamWidth = 24;
const beamRange = 9;
/** Nobody pronounces more in one breath; longer strings are cut before they come here. */
export const longestWord = 60;

interface Hypothesis {
  node: number;
  score: number;
  primary: boolean;
  symbol: number;
  back: Hypothesis | undefined;
}

export class LetterModel {
  readonly nodes: number;
  readonly #order: number;
  readonly #phones: string[][] = [[], []];
  /** Graphone symbols by the letters that they spell. */
  readonly #byLetters = new Map<string, number[]>();
  readonly #firstChild: Uint32Array;
  readonly #childCount: Uint32Array;
  readonly #symbol: Uint16Array;
  readonly #probability: Float32Array;
  readonly #backoff: Float32Array;
  readonly #suffix: Uint32Array;
  readonly #depth: Uint8Array;

  constructor(bytes: Uint8Array) {
    const end = bytes.indexOf(0x0a);
    const header = new TextDecoder().decode(bytes.subarray(0, Math.max(0, end))).split('\t');
    const [format, order, nodes, ...graphones] = header;
    if (format !== letterModelFormat) throw damagedAsset('letters.gz', 'Its first line is not ours.');
    this.#order = Number(order);
    this.nodes = Number(nodes);
    for (const graphone of graphones) {
      const [letters = '', phones = ''] = graphone.split('|');
      const symbol = this.#phones.length;
      this.#phones.push(phones === '' ? [] : parse(phones));
      const same = this.#byLetters.get(letters);
      if (same) same.push(symbol);
      else this.#byLetters.set(letters, [symbol]);
    }
    const n = this.nodes;
    this.#firstChild = new Uint32Array(n);
    this.#childCount = new Uint32Array(n);
    this.#symbol = new Uint16Array(n);
    this.#probability = new Float32Array(n);
    this.#backoff = new Float32Array(n);
    this.#suffix = new Uint32Array(n);
    this.#depth = new Uint8Array(n);
    this.#unpack(bytes, end + 1);
  }

  /** Phones of a word of the letters a-z, with exactly one primary stress where it has a vowel. */
  pronounce(word: string): string[] {
    if (!/^[a-z]+$/.test(word)) throw new RangeError(`"${word}" is not a word of the letters a to z.`);
    if (word.length > longestWord) {
      return [...this.pronounce(word.slice(0, longestWord)), ...this.pronounce(word.slice(longestWord))];
    }
    const beams: Map<number, Hypothesis>[] = Array.from({ length: word.length + 1 }, () => new Map());
    const start = this.#step(0, startSymbol)?.node ?? 0;
    beams[0]!.set(start * 2, { node: start, score: 0, primary: false, symbol: startSymbol, back: undefined });
    for (let i = 0; i < word.length; i++) {
      const hypotheses = [...beams[i]!.values()].sort((a, b) => b.score - a.score).slice(0, beamWidth);
      const floor = (hypotheses[0]?.score ?? 0) - beamRange;
      for (const hypothesis of hypotheses) {
        if (hypothesis.score < floor) break;
        for (const length of [1, 2]) {
          if (i + length > word.length) continue;
          for (const symbol of this.#byLetters.get(word.slice(i, i + length)) ?? []) {
            this.#extend(hypothesis, symbol, beams[i + length]!);
          }
        }
      }
    }
    return this.#read(beams[word.length]!);
  }

  #extend(from: Hypothesis, symbol: number, beam: Map<number, Hypothesis>): void {
    const stressed = this.#phones[symbol]!.some((phone) => stressOf(phone) === 1);
    if (stressed && from.primary) return;
    const { node, score } = this.#step(from.node, symbol);
    const primary = from.primary || stressed;
    const key = node * 2 + (primary ? 1 : 0);
    const total = from.score + score;
    const rival = beam.get(key);
    if (!rival || rival.score < total) beam.set(key, { node, score: total, primary, symbol, back: from });
  }

  /** The best complete hypothesis; one without a primary stress only where there is no other. */
  #read(beam: Map<number, Hypothesis>): string[] {
    let best: Hypothesis | undefined;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const hypothesis of beam.values()) {
      const score =
        hypothesis.score + this.#step(hypothesis.node, endSymbol).score - (hypothesis.primary ? 0 : 12);
      if (score > bestScore) {
        best = hypothesis;
        bestScore = score;
      }
    }
    const parts: string[][] = [];
    for (let at = best; at?.back; at = at.back) parts.push(this.#phones[at.symbol]!);
    const phones = parts.reverse().flat();
    if (!phones.some((phone) => stressOf(phone) === 1)) {
      const first = phones.findIndex(isVowel);
      if (first >= 0) phones[first] = withStress(phones[first]!, 1);
    }
    return phones;
  }

  /** ln p(symbol | history) and the next history, with back-off. */
  #step(history: number, symbol: number): { node: number; score: number } {
    let node = history;
    let score = 0;
    for (;;) {
      const child = this.#child(node, symbol);
      if (child > 0) {
        let next = child;
        // A history that nothing follows says no more than its suffix.
        while (next > 0 && (this.#childCount[next] === 0 || this.#depth[next]! >= this.#order))
          next = this.#suffix[next]!;
        return { node: next, score: score + this.#probability[child]! };
      }
      if (node === 0) return { node: 0, score: score - 20 };
      score += this.#backoff[node]!;
      node = this.#suffix[node]!;
    }
  }

  #child(node: number, symbol: number): number {
    let low = this.#firstChild[node]!;
    let high = low + this.#childCount[node]! - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const value = this.#symbol[middle]!;
      if (value === symbol) return middle;
      if (value < symbol) low = middle + 1;
      else high = middle - 1;
    }
    return 0;
  }

  /** Columns after the header: child counts, symbols (steps between siblings), probabilities, back-offs. */
  #unpack(bytes: Uint8Array, start: number): void {
    const n = this.nodes;
    let at = start;
    const varint = () => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++];
        if (byte === undefined) throw damagedAsset('letters.gz', 'It ends too early.');
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
      }
    };
    let next = 1;
    for (let i = 0; i < n; i++) {
      const count = varint();
      this.#firstChild[i] = next;
      this.#childCount[i] = count;
      next += count;
    }
    if (next !== n) throw damagedAsset('letters.gz', 'Its counts do not add up.');
    for (let i = 0; i < n; i++) {
      const first = this.#firstChild[i]!;
      let value = 0;
      for (let c = 0; c < this.#childCount[i]!; c++) {
        value += varint();
        this.#symbol[first + c] = value;
        this.#depth[first + c] = this.#depth[i]! + 1;
      }
    }
    for (let i = 1; i < n; i++) this.#probability[i] = -bytes[at++]! * logStep;
    for (let i = 0; i < n; i++)
      if (this.#childCount[i]! > 0) this.#backoff[i] = (bytes[at++]! - 200) * logStep;
    if (at !== bytes.length) throw damagedAsset('letters.gz', 'Its length is not what its header says.');
    for (let i = 0; i < n; i++) {
      const first = this.#firstChild[i]!;
      for (let c = first; c < first + this.#childCount[i]!; c++) {
        this.#suffix[c] = i === 0 ? 0 : this.#child(this.#suffix[i]!, this.#symbol[c]!);
      }
    }
  }
}
