import { titles } from './abbreviation-lists.ts';
import { isDigit, isHighSurrogate, isIdeograph, isSpace } from './characters.ts';

/** What stands at the end of a piece: a break inside a sentence, its end, or the end of its paragraph. */
export type Boundary = 'words' | 'clause' | 'sentence' | 'paragraph';

export interface Piece {
  /** The characters `start` (included) to `end` (excluded) of the original text. */
  text: string;
  start: number;
  end: number;
  boundary: Boundary;
}

/** The built-in voice was trained on utterances of up to 8.2 s: about this many units. */
export const defaultLimit = 120;

/** A chunk without spaces longer than this is no word, number or address any more: it may be cut anywhere. */
const longestChunk = 400;

/**
 * How long a character takes to say, in units of one letter of running text (about a fifteenth of a second):
 * a digit becomes a word, so does a sign such as & or %.
 */
export function spokenLength(code: number): number {
  if (isDigit(code)) return 5;
  if (code < 128) return '#$%&+=@~^'.includes(String.fromCharCode(code)) ? 7 : 1;
  if (isIdeograph(code)) return 3.5;
  return code >= 0xa2 && code <= 0xbe ? 7 : 1;
}

const conjunctions = new Set(
  `and but or nor so yet because although though while whereas if unless until when where which who whose that than as since after before`.split(
    ' ',
  ),
);
const prepositions = new Set(
  'in on at by for with from to of into onto over under through between during without within about against across along around'.split(
    ' ',
  ),
);
/** A break right after one of these tears a phrase apart. */
const binding = new Set(
  'a an the my your his her its our their this that these those of to in on at by for with from and or but no not very more most some any each every'.split(
    ' ',
  ),
);

/** Cuts a sentence into pieces of at most `limit` units. The last piece keeps the boundary of the sentence. */
export function* splitLong(sentence: Piece, limit = defaultLimit): Generator<Piece> {
  const { text } = sentence;
  let rest = 0;
  for (let i = 0; i < text.length; i++) rest += spokenLength(text.charCodeAt(i));
  let start = 0;
  while (rest > limit) {
    const cut = bestCut(text, start, rest, limit);
    if (!cut) break;
    let end = cut.at;
    while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
    yield {
      text: text.slice(start, end),
      start: sentence.start + start,
      end: sentence.start + end,
      boundary: cut.clause ? 'clause' : 'words',
    };
    let next = cut.at;
    while (next < text.length && isSpace(text.charCodeAt(next))) next++;
    for (let i = start; i < next; i++) rest -= spokenLength(text.charCodeAt(i));
    start = next;
  }
  if (start < text.length) {
    yield {
      text: text.slice(start),
      start: sentence.start + start,
      end: sentence.end,
      boundary: sentence.boundary,
    };
  }
}

interface Cut {
  at: number;
  clause: boolean;
}

/** The best place to cut within the first `limit` units after `start`; undefined where there is none at all. */
function bestCut(text: string, start: number, rest: number, limit: number): Cut | undefined {
  const target = rest / Math.ceil(rest / limit);
  let best: Cut | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  let length = 0;
  let chunkStart = start;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    length += spokenLength(code);
    // Past the limit the first place of any kind will do.
    if (length > limit && best) return best;
    const space = isSpace(code);
    if (space || isIdeograph(code) || isWideMark(code)) {
      const value = space ? valueOfSpace(text, chunkStart, i) : isWideMark(code) ? 0.5 : -0.1;
      const score = value - Math.abs(length - target) / target;
      if (score > bestScore && i > start) {
        best = { at: i + 1, clause: value >= 0.4 };
        bestScore = score;
      }
      chunkStart = i + 1;
    } else if (i - chunkStart >= longestChunk && !isHighSurrogate(code)) {
      return { at: i + 1, clause: false };
    }
  }
  return best && best.at < text.length ? best : undefined;
}

function isWideMark(code: number): boolean {
  return code === 0xff0c || code === 0x3001 || code === 0xff1b || code === 0xff1a;
}

/** How good a break at the space `at` is; the chunk before it begins at `chunkStart`. */
function valueOfSpace(text: string, chunkStart: number, at: number): number {
  let next = at;
  while (next < text.length && isSpace(text.charCodeAt(next))) next++;
  const last = text[at - 1] ?? '';
  const before = text.slice(chunkStart, at);
  if (before === '–' || before === '—' || before === '-' || last === ';' || last === '—') return 0.65;
  if (last === ':') return 0.6;
  if (last === ',' || last === ')') return 0.5;
  if ('—–(-'.includes(text[next] ?? ' ')) return 0.5;
  const word = /^[a-z']+/.exec(text.slice(next, next + 12).toLowerCase())?.[0] ?? '';
  return /\d$/.test(before) ? torn : valueBetween(before, word);
}

const torn = -0.35;

/** How good a break between two words is where there is no mark: best before a conjunction, bad after an article. */
export function valueBetween(before: string, after: string): number {
  const own = before.toLowerCase();
  if (binding.has(own) || titles.has(own.replace(/\.$/, '')) || /^[a-z]\.$/.test(own)) return torn;
  const next = after.toLowerCase();
  if (conjunctions.has(next)) return 0.25;
  return prepositions.has(next) ? 0.15 : 0;
}
