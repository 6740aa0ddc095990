import { Turns } from '../../turns.ts';
import { Merges } from './byte-level-bpe.ts';
import { TokenTable } from './token-table.ts';

/** Longest time between two turns of the event loop. */
const patienceMs = 8;

/** Entries or lines between two looks at the clock. */
const stride = 1024;

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const newline = 0x0a;
const carriageReturn = 0x0d;
const [zero, nine] = [0x30, 0x39];
const mostId = 2 ** 31 - 1;

/**
 * `vocab.json`: an object from spelling to id. Read byte by byte, a piece at a time.
 *
 * @returns the tokens, or what is wrong with the file
 */
export async function parseTokens(bytes: Uint8Array): Promise<TokenTable | string> {
  const tokens = new TokenTable(bytes.length);
  const turns = new Turns(patienceMs);
  const entries = new VocabularyEntries(bytes);
  for (let count = 0; entries.next(); count++) {
    if (entries.escaped) {
      const spelling = unescaped(bytes.subarray(entries.from, entries.to));
      if (spelling === null) return notJson;
      tokens.set(spelling, 0, spelling.length, entries.id);
    } else {
      tokens.set(bytes, entries.from, entries.to, entries.id);
    }
    if (count % stride === stride - 1) await turns.take();
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
  const turns = new Turns(patienceMs);
  const lines = new MergeLines(bytes, tokens);
  for (let more = true; more; ) {
    for (let count = 0; count < stride && more; count++) {
      more = lines.next();
      if (more) merges.add(lines.left, lines.right, lines.token);
    }
    await turns.take();
  }
  if (lines.wrong !== null) return lines.wrong;
  return merges.count > 0 ? merges : 'it holds no pairs of tokens';
}

/** Walks over the lines of `merges.txt`; stops at the end or at what is wrong. */
class MergeLines {
  left = 0;
  right = 0;
  /** What the two become. */
  token = 0;
  wrong: string | null = null;
  readonly #bytes: Uint8Array;
  readonly #tokens: TokenTable;
  #at: number;
  /** Both tokens side by side. */
  #whole = new Uint8Array(256);

  constructor(bytes: Uint8Array, tokens: TokenTable) {
    this.#bytes = bytes;
    this.#tokens = tokens;
    const version = new TextEncoder().encode('#version');
    this.#at = version.every((byte, i) => bytes[i] === byte) ? endOfLine(bytes, 0) + 1 : 0;
  }

  next(): boolean {
    const bytes = this.#bytes;
    for (;;) {
      const from = this.#at;
      if (from >= bytes.length) return false;
      const end = endOfLine(bytes, from);
      this.#at = end + 1;
      const to = end > from && bytes[end - 1] === carriageReturn ? end - 1 : end;
      if (to > from) return this.#pair(from, to);
    }
  }

  #pair(from: number, to: number): boolean {
    const bytes = this.#bytes;
    let gap = from;
    while (gap < to && bytes[gap] !== space) gap++;
    let second = gap + 1;
    while (second < to && bytes[second] !== space) second++;
    if (gap === from || gap + 1 >= to || second < to) return this.#stop(from, to, 'is no pair of tokens', '');
    if (this.#whole.length < to - from) this.#whole = new Uint8Array(2 * (to - from));
    const whole = this.#whole;
    let length = 0;
    for (let i = from; i < to; i++) if (i !== gap) whole[length++] = bytes[i]!;
    this.token = this.#tokens.find(whole, 0, length);
    this.left = this.#tokens.find(bytes, from, gap);
    this.right = this.#tokens.find(bytes, gap + 1, to);
    if (this.token >= 0 && this.left >= 0 && this.right >= 0) return true;
    return this.#stop(from, to, 'makes no token of vocab.json', 'its pair ');
  }

  #stop(from: number, to: number, why: string, before: string): false {
    const line = new TextDecoder().decode(this.#bytes.subarray(from, to)).slice(0, 40);
    this.wrong = `${before}"${line}" ${why}`;
    return false;
  }
}

/** Position of the next line end, or the length. */
function endOfLine(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== newline) at++;
  return at;
}
