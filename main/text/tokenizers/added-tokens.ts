/** A token that stands beside the vocabulary; names as in transformers' `added_tokens_decoder`. */
export interface AddedToken {
  id: number;
  content: string;
  /** It swallows the spaces before or after it. */
  lstrip: boolean;
  rstrip: boolean;
  /** It is looked for in text that is normalised. */
  normalized: boolean;
}

/** Finds added tokens in a text: the leftmost first, of those that begin together the longest. */
export class AddedTokens {
  readonly #byContent: ReadonlyMap<string, AddedToken>;
  readonly #plain: RegExp | null;
  readonly #normalized: RegExp | null;

  constructor(tokens: readonly AddedToken[]) {
    this.#byContent = new Map(tokens.map((token) => [token.content, token]));
    this.#plain = anyOf(tokens.filter(({ normalized }) => !normalized));
    this.#normalized = anyOf(tokens.filter(({ normalized }) => normalized));
  }

  id(content: string): number | undefined {
    return this.#byContent.get(content)?.id;
  }

  /** The ids of added tokens, and the text between them in NFC. */
  *split(text: string): Generator<number | string> {
    for (const part of this.#cut(text, this.#plain)) {
      if (typeof part === 'number') yield part;
      else yield* this.#cut(part.normalize('NFC'), this.#normalized);
    }
  }

  *#cut(text: string, pattern: RegExp | null): Generator<number | string> {
    let begin = 0;
    for (const { 0: content, index } of pattern === null ? [] : text.matchAll(pattern)) {
      const { id, lstrip, rstrip } = this.#byContent.get(content)!;
      const before = text.slice(begin, index);
      const left = lstrip ? before.trimEnd() : before;
      if (left !== '') yield left;
      yield id;
      begin = index + content.length;
      if (rstrip) begin = text.length - text.slice(begin).trimStart().length;
    }
    if (begin < text.length) yield text.slice(begin);
  }
}

function anyOf(tokens: readonly AddedToken[]): RegExp | null {
  if (tokens.length === 0) return null;
  const longest = tokens.map(({ content }) => content).sort((a, b) => b.length - a.length);
  return new RegExp(
    longest.map((content) => content.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'),
    'g',
  );
}
