/**
 * Letter-to-phone alignment by expectation maximisation over "graphones": one letter with none, one or two phones,
 * or two letters with one phone (after Bisani and Ney, "Joint-sequence models for grapheme-to-phoneme conversion",
 * 2008, with the sizes of many-to-many alignment).
 */
import { symbols } from '../arpabet.ts';

export interface Example {
  word: string;
  phones: string[];
}

/** One unit of an aligned word. `phones` is empty for a silent letter. */
export interface Graphone {
  letters: string;
  phones: string[];
}

const phoneCount = symbols.length;
const phoneIndex = new Map(symbols.map((symbol, i) => [symbol, i]));
/** Phone side: 0 = none, 1.. = one phone, then pairs. */
const phoneSides = 1 + phoneCount + phoneCount * phoneCount;
const letterSides = 26 + 26 * 26;
const sizes: readonly (readonly [letters: number, phones: number])[] = [
  [1, 1],
  [1, 0],
  [1, 2],
  [2, 1],
];

interface Encoded {
  letters: Uint8Array;
  phones: Uint8Array;
}

function encode({ word, phones }: Example): Encoded {
  return {
    letters: Uint8Array.from(word, (letter) => letter.charCodeAt(0) - 97),
    phones: Uint8Array.from(phones, (phone) => phoneIndex.get(phone)!),
  };
}

function keyOf(e: Encoded, i: number, letters: number, j: number, phones: number): number {
  const l = letters === 1 ? e.letters[i]! : 26 + e.letters[i]! * 26 + e.letters[i + 1]!;
  let p = 0;
  if (phones === 1) p = 1 + e.phones[j]!;
  else if (phones === 2) p = 1 + phoneCount + e.phones[j]! * phoneCount + e.phones[j + 1]!;
  return l * phoneSides + p;
}

export function graphoneOf(key: number): Graphone {
  const l = Math.floor(key / phoneSides);
  const p = key % phoneSides;
  const letter = (i: number) => String.fromCharCode(97 + i);
  const letters = l < 26 ? letter(l) : letter(Math.floor((l - 26) / 26)) + letter((l - 26) % 26);
  if (p === 0) return { letters, phones: [] };
  if (p <= phoneCount) return { letters, phones: [symbols[p - 1]!] };
  const pair = p - 1 - phoneCount;
  return { letters, phones: [symbols[Math.floor(pair / phoneCount)]!, symbols[pair % phoneCount]!] };
}

export interface Alignment {
  /** Graphone keys of each example that could be aligned; undefined for the others. */
  paths: (number[] | undefined)[];
}

/**
 * Aligns all examples. Graphones that explain fewer than `minimum` places are dropped after training, and with
 * them the examples that need one (letters read by name, foreign spellings).
 */
export function align(examples: readonly Example[], iterations = 8, minimum = 4): Alignment {
  const encoded = examples.map(encode);
  let probability = new Float64Array(letterSides * phoneSides).fill(1e-3);
  for (let round = 0; round < iterations; round++) {
    const counts = new Float64Array(letterSides * phoneSides);
    for (const e of encoded) collect(e, probability, counts);
    let total = 0;
    for (const c of counts) total += c;
    probability = counts.map((c) => c / total);
  }
  const used = new Map<number, number>();
  for (const e of encoded)
    for (const key of best(e, probability) ?? []) used.set(key, (used.get(key) ?? 0) + 1);
  for (let key = 0; key < probability.length; key++) {
    if ((used.get(key) ?? 0) < minimum) probability[key] = 0;
  }
  return { paths: encoded.map((e) => best(e, probability)) };
}

/** Forward-backward over the lattice of one word; adds expected counts. */
function collect(e: Encoded, probability: Float64Array, counts: Float64Array): void {
  const n = e.letters.length;
  const m = e.phones.length;
  const width = m + 1;
  const forward = new Float64Array((n + 1) * width);
  const backward = new Float64Array((n + 1) * width);
  forward[0] = 1;
  for (let i = 0; i <= n; i++) {
    for (let j = 0; j <= m; j++) {
      const here = forward[i * width + j]!;
      if (here === 0) continue;
      for (const [a, b] of sizes) {
        if (i + a > n || j + b > m) continue;
        forward[(i + a) * width + j + b]! += here * probability[keyOf(e, i, a, j, b)]!;
      }
    }
  }
  const total = forward[n * width + m]!;
  if (!(total > 0)) return;
  backward[n * width + m] = 1;
  for (let i = n; i >= 0; i--) {
    for (let j = m; j >= 0; j--) {
      for (const [a, b] of sizes) {
        if (i + a > n || j + b > m) continue;
        const key = keyOf(e, i, a, j, b);
        const after = backward[(i + a) * width + j + b]! * probability[key]!;
        if (after === 0) continue;
        backward[i * width + j]! += after;
        counts[key]! += (forward[i * width + j]! * after) / total;
      }
    }
  }
}

/** The most probable path, as graphone keys. */
function best(e: Encoded, probability: Float64Array): number[] | undefined {
  const n = e.letters.length;
  const m = e.phones.length;
  const width = m + 1;
  const score = new Float64Array((n + 1) * width).fill(Number.NEGATIVE_INFINITY);
  const from = new Int32Array((n + 1) * width).fill(-1);
  score[0] = 0;
  for (let i = 0; i <= n; i++) {
    for (let j = 0; j <= m; j++) {
      const here = score[i * width + j]!;
      if (here === Number.NEGATIVE_INFINITY) continue;
      sizes.forEach(([a, b], s) => {
        if (i + a > n || j + b > m) return;
        const p = probability[keyOf(e, i, a, j, b)]!;
        const to = (i + a) * width + j + b;
        if (p > 0 && here + Math.log(p) > score[to]!) {
          score[to] = here + Math.log(p);
          from[to] = s;
        }
      });
    }
  }
  if (score[n * width + m] === Number.NEGATIVE_INFINITY) return undefined;
  const path: number[] = [];
  for (let i = n, j = m; i > 0 || j > 0; ) {
    const [a, b] = sizes[from[i * width + j]!]!;
    i -= a;
    j -= b;
    path.push(keyOf(e, i, a, j, b));
  }
  return path.reverse();
}
