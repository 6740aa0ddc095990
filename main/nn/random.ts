/** State of a generator: plain data, so that a retried stage can replay the same numbers. */
export interface RandomState {
  readonly words: readonly [number, number, number, number];
  /** Second value of the last pair of normal deviates, if not yet used. */
  readonly spare: number | null;
}

const golden = 0x9e3779b9;

/** A bijection of 32-bit words that spreads every bit over all of them. */
function mix(word: number): number {
  let mixed = (word + golden) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}

/**
 * A seeded generator whose numbers are the same on every platform: xoshiro128** (Blackman and Vigna 2018) over
 * 32-bit words, seeded through a 32-bit integer hash; uniforms take 53 bits; normal deviates come from Marsaglia's polar method in
 * float64. Not for cryptography.
 */
export class Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;
  #spare: number | null = null;

  /** @param seed any whole number from 0 to 2^53 - 1. */
  constructor(seed: number) {
    if (!Number.isSafeInteger(seed) || seed < 0) {
      throw new RangeError(`A seed is a whole number from 0 to 2^53 - 1; ${seed} is not.`);
    }
    const low = seed | 0;
    const high = Math.floor(seed / 2 ** 32);
    this.#seed([low, low + golden, high + 2 * golden, high + 3 * golden]);
  }

  #seed(words: readonly number[]): void {
    [this.#a, this.#b, this.#c, this.#d] = words.map(mix) as [number, number, number, number];
    this.#spare = null;
    // All zeros is the one state that xoshiro never leaves.
    if ((this.#a | this.#b | this.#c | this.#d) === 0) this.#d = 1;
  }

  save(): RandomState {
    return {
      words: [this.#a >>> 0, this.#b >>> 0, this.#c >>> 0, this.#d >>> 0],
      spare: this.#spare,
    };
  }

  restore(state: RandomState): void {
    [this.#a, this.#b, this.#c, this.#d] = state.words.map((word) => word | 0) as [
      number,
      number,
      number,
      number,
    ];
    this.#spare = state.spare;
  }

  /** A generator of its own for a named purpose; does not advance this one. */
  fork(label: string): Random {
    let hash = 0x811c9dc5;
    for (let index = 0; index < label.length; index += 1) {
      hash = Math.imul(hash ^ label.charCodeAt(index), 0x01000193);
    }
    const child = new Random(0);
    child.#seed([this.#a ^ hash, this.#b + hash, this.#c ^ mix(hash), this.#d + mix(hash)]);
    return child;
  }

  /** Uniform over 0 .. 2^32 - 1. */
  uint32(): number {
    const product = Math.imul(this.#b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9);
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result >>> 0;
  }

  /** Uniform over [0, 1), 53 bits. */
  uniform(): number {
    const high = this.uint32() >>> 5;
    return (high * 67108864 + (this.uint32() >>> 6)) / 9007199254740992;
  }

  /** Uniform over 0 .. `bound` - 1, without bias; `bound` from 1 to 2^32. */
  integer(bound: number): number {
    if (!Number.isInteger(bound) || bound < 1 || bound > 2 ** 32) {
      throw new RangeError(`A bound is a whole number from 1 to 2^32; ${bound} is not.`);
    }
    const limit = 2 ** 32 - (2 ** 32 % bound);
    let word = this.uint32();
    while (word >= limit) word = this.uint32();
    return word % bound;
  }

  /** Mean 0, variance 1. */
  normal(): number {
    if (this.#spare !== null) {
      const value = this.#spare;
      this.#spare = null;
      return value;
    }
    let x = 0;
    let y = 0;
    let square = 0;
    do {
      x = 2 * this.uniform() - 1;
      y = 2 * this.uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square === 0);
    const factor = Math.sqrt((-2 * Math.log(square)) / square);
    this.#spare = y * factor;
    return x * factor;
  }

  /** Standard Gumbel: `argmax(logits + gumbel)` samples from `softmax(logits)`. */
  gumbel(): number {
    return -Math.log(-Math.log(this.uniform() + 2 ** -54));
  }

  /** Rounded to float32, so `maximum` itself can occur. */
  fillUniform(target: Float32Array, minimum = 0, maximum = 1): Float32Array {
    for (let index = 0; index < target.length; index += 1) {
      target[index] = minimum + (maximum - minimum) * this.uniform();
    }
    return target;
  }

  fillNormal(target: Float32Array, mean = 0, deviation = 1): Float32Array {
    for (let index = 0; index < target.length; index += 1) target[index] = mean + deviation * this.normal();
    return target;
  }

  fillGumbel(target: Float32Array): Float32Array {
    for (let index = 0; index < target.length; index += 1) target[index] = this.gumbel();
    return target;
  }
}
