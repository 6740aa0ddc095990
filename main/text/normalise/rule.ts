/**
 * Normalisation rules. A rule looks at one place of a text and, where it applies, says how far it reads and what is
 * spoken there. Rules are tried in order at the start of each token, so the first that applies wins.
 */

export interface Context {
  /** The text with wide forms, quotation marks and dashes folded; as long as the original. */
  text: string;
  /** Does a pronouncing dictionary know this lower-case word? */
  isWord(word: string): boolean;
  /** Most of the text is in capitals, so that capitals mean nothing. */
  shouting: boolean;
  /** The chunk of letters or digits spoken last, '' at the start or after an end mark. */
  before: string;
}

export interface Match {
  end: number;
  /**
   * What is spoken: words with spaces between them. A single capital letter is the name of the letter (`F B I's` with
   * its plural), a mark (, ; : . ? ! …) is a pause.
   */
  say: string;
}

export type Rule = (context: Context, at: number) => Match | undefined;

/** A regular expression that matches at one place only. */
export function sticky(source: string, flags = ''): (text: string, at: number) => RegExpExecArray | null {
  const pattern = new RegExp(source, `y${flags}`);
  return (text, at) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
}

/** A sticky pattern and what it says; `say` may decline by answering undefined. */
export function rule(
  source: string,
  flags: string,
  say: (match: RegExpExecArray, context: Context, end: number) => string | undefined,
): Rule {
  const match = sticky(source, flags);
  return (context, at) => {
    const found = match(context.text, at);
    if (!found) return undefined;
    const end = at + found[0].length;
    const spoken = say(found, context, end);
    return spoken === undefined ? undefined : { end, say: spoken };
  };
}

/** No letter or digit follows: the end of a token. */
export const tokenEnd = '(?![\\p{L}\\p{N}])';

/** The period of an abbreviation that ends the text also ends the sentence. */
export function finalDot(context: Context, end: number): string {
  return context.text[end - 1] === '.' &&
    /^["')\]\s]*$/.test(context.text.slice(end, end + 12)) &&
    end + 12 >= context.text.length
    ? ' .'
    : '';
}

/** Letter by letter: `FBI` -> `F B I`. */
export function spell(letters: string): string {
  return [...letters.toUpperCase()].join(' ');
}

/** What follows at `end`, after at most one space; used by rules that look at their right neighbour. */
export function nextWord(context: Context, end: number): string {
  return /^\s?([\p{L}\p{N}]+)/u.exec(context.text.slice(end, end + 32))?.[1] ?? '';
}
