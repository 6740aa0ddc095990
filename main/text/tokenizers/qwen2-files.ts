import { Merges } from './byte-level-bpe.ts';
import { TokenTable } from './token-table.ts';

/** Longest time between two turns of the event loop. */
const patienceMs = 8;

/** Lets others run when it has been a while. */
class Breath {
  #last = performance.now();

  async take(): Promise<void> {
    if (performance.now() - this.#last < patienceMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#last = performance.now();
  }
}

/** Entries or lines between two looks at the clock. */
const stride = 1024;

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const newline = 0x0a;
const [zero, nine] = [0x30, 0x39];
const mostId = 2 ** 31 - 1;

/**
 * `vocab.json`: an object from spelling to id. Read byte by byte, a piece at a time.
 *
 * @returns the tokens, or what is wrong with the file
 */
export async function parseTokens(bytes: Uint8Array): Promise<TokenTable | string> {
  const tokens = new TokenTable(bytes.length);
  const breath = new Breath();
  const entries = new VocabularyEntries(bytes);
  for (let count = 0; entries.next(); count++) {
    if (entries.escaped) {
      const spelling = unescaped(bytes.subarray(entries.from, entries.to));
      if (spelling === null) return notJson;
      tokens.set(spelling, 0, spelling.length, entries.id);
    } else {
      tokens.set(bytes, entries.from, entries.to, entries.id);
    }
    if (count % stride === stride - 1) await breath.take();
  }
  if (entries.complete) return tokens;
  try {
    JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  } catch {
    return notJson;
  }
  return 'the file: holds something else than the ids of tokens';
}

const notJson = 'it is not JSON';

/** UTF-8 of what stands between quotes; null where its escapes are none. */
function unescaped(bytes: Uint8Array): Uint8Array | null {
  try {
    return new TextEncoder().encode(JSON.parse(`"${new TextDecoder().decode(bytes)}"`));
  } catch {
    return null;
  }
}

/** Walks over `{"spelling": id, ...}`; stops at the end or at whatever else it meets. */
class VocabularyEntries {
  /** The spelling, between its quotes. */
  from = 0;
  to = 0;
  id = 0;
  /** The spelling has escapes. */
  escaped = false;
  /** The end was reached, and nothing else met. */
  complete = false;
  readonly #bytes: Uint8Array;
  #at = 0;
  #first = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  next(): boolean {
    if (this.#first ? !this.#take('{') : !this.#take(',')) return this.#end(!this.#first);
    const only = this.#first;
    this.#first = false;
    if (!this.#spelling()) return this.#end(only);
    return this.#take(':') && this.#number();
  }

  #end(allowed: boolean): false {
    this.complete = allowed && this.#take('}') && this.#skip() === this.#bytes.length;
    return false;
  }

  #spelling(): boolean {
    if (!this.#take('"')) return false;
    const bytes = this.#bytes;
    this.from = this.#at;
    this.escaped = false;
    for (; ; this.#at++) {
      const byte = bytes[this.#at];
      if (byte === undefined || byte < space) return false;
      if (byte === quote) break;
      if (byte === backslash) {
        this.escaped = true;
        this.#at += 1;
      }
    }
    this.to = this.#at;
    this.#at += 1;
    return true;
  }

  #number(): boolean {
    this.#skip();
    const begin = this.#at;
    let value = 0;
    for (let byte = this.#bytes[begin]; byte !== undefined && byte >= zero && byte <= nine; ) {
      value = 10 * value + byte - zero;
      this.#at += 1;
      byte = this.#bytes[this.#at];
    }
    this.id = value;
    const plain = this.#at === begin + 1 || this.#bytes[begin] !== zero;
    return this.#at > begin && plain && value <= mostId;
  }

  #take(character: string): boolean {
    if (this.#bytes[this.#skip()] !== character.charCodeAt(0)) return false;
    this.#at += 1;
    return true;
  }

  /** Past JSON's blanks. */
  #skip(): number {
    const bytes = this.#bytes;
    for (;;) {
      const byte = bytes[this.#at];
      if (byte !== space && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return this.#at;
      this.#at += 1;
    }
  }
}

/**
 * `merges.txt`: a pair of tokens on each line, the most frequent first.
 *
 * @returns the pairs, or what is wrong with the file
 */
export async function parseMerges(bytes: Uint8Array, tokens: TokenTable): Promise<Merges | string> {
  const merges = new Merges(tokens.size);
  const breath = new Breath();
  const version = new TextEncoder().encode('#version');
  // Both tokens side by side.
  let whole = new Uint8Array(256);
  for (let from = 0, line = 0; from < bytes.length; line++) {
    let to = indexOf(bytes, newline, from, bytes.length);
    const next = to + 1;
    if (to > from && bytes[to - 1] === 0x0d) to -= 1;
    const begin = from;
    from = next;
    if (to === begin || (line === 0 && version.every((byte, i) => bytes[begin + i] === byte))) continue;
    const gap = indexOf(bytes, space, begin, to);
    const second = gap + 1;
    if (gap === begin || second >= to || indexOf(bytes, space, second, to) < to)
      return `"${shown(bytes, begin, to)}" is no pair of tokens`;
    const length = to - begin - 1;
    if (whole.length < length) whole = new Uint8Array(2 * length);
    for (let i = begin, k = 0; i < to; i++) if (i !== gap) whole[k++] = bytes[i]!;
    const token = tokens.find(whole, 0, length);
    const left = tokens.find(bytes, begin, gap);
    const right = tokens.find(bytes, second, to);
    if (token < 0 || left < 0 || right < 0) {
      return `its pair "${shown(bytes, begin, to)}" makes no token of vocab.json`;
    }
    merges.add(left, right, token);
    if (line % stride === stride - 1) await breath.take();
  }
  return merges.count > 0 ? merges : 'it holds no pairs of tokens';
}

function shown(bytes: Uint8Array, from: number, to: number): string {
  return new TextDecoder().decode(bytes.subarray(from, to)).slice(0, 40);
}

/** `to` where there is none. */
function indexOf(bytes: Uint8Array, byte: number, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== byte) at++;
  return at;
}
