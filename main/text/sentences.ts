import {
  afterTimes,
  beforeNumbers,
  isAbbreviation,
  letterNames,
  mayEnd,
  speechVerbs,
  starters,
  titles,
  unitAbbreviations,
} from './abbreviation-lists.ts';
import {
  closers,
  enders,
  isDigit,
  isIdeograph,
  isLetter,
  isLineEnd,
  isLower,
  isSpace,
  isUpper,
  openers,
  wideEnders,
} from './characters.ts';
import { type Boundary, defaultLimit, type Piece, splitLong } from './pieces.ts';

interface Token {
  start: number;
  end: number;
}

/**
 * Sentences of a text, lazily, in one pass. A period inside a number, an abbreviation, an initial, a web address or
 * an ellipsis ends nothing; closing quotation marks and brackets belong to the sentence before them; an empty line ends
 * a paragraph; a single line break ends a sentence unless the text was merely wrapped there.
 *
 * A sentence that takes longer to say than `limit` (in the units of `spokenLength`, about a fifteenth of a second)
 * comes as several pieces, cut at clause borders where there are any, else between words.
 */
export function* sentences(text: string, limit = defaultLimit): Generator<Piece> {
  for (const sentence of wholeSentences(text)) yield* splitLong(sentence, limit);
}

/** Sentences of any length. */
export function* wholeSentences(text: string): Generator<Piece> {
  let start = -1;
  let previous: Token | undefined;
  let token = nextToken(text, 0);
  let lineStart = token?.start ?? 0;
  while (token) {
    if (start < 0) start = token.start;
    const next = nextToken(text, token.end);
    // A chunk without spaces may hold several sentences: "你好。再见。", "Really?Yes".
    for (const cut of innerEnds(text, token)) {
      yield piece(text, start, cut, 'sentence');
      start = cut;
    }
    const lines = next ? lineBreaks(text, token.end, next.start) : 2;
    let boundary: Boundary | undefined;
    if (lines >= 2) boundary = 'paragraph';
    else if (lines === 1 && !isWrapped(text, lineStart, token, next!)) boundary = 'sentence';
    else if (next && endsSentence(text, start, previous, token, next)) boundary = 'sentence';
    if (boundary && start < token.end) {
      yield piece(text, start, token.end, boundary);
      start = -1;
    }
    if (lines >= 1 && next) lineStart = next.start;
    previous = start < 0 ? undefined : token;
    token = next;
  }
}

function piece(text: string, start: number, end: number, boundary: Boundary): Piece {
  return { text: text.slice(start, end), start, end, boundary };
}

function nextToken(text: string, from: number): Token | undefined {
  let start = from;
  while (start < text.length && isSpace(text.charCodeAt(start))) start++;
  if (start === text.length) return undefined;
  let end = start + 1;
  while (end < text.length && !isSpace(text.charCodeAt(end))) end++;
  return { start, end };
}

function lineBreaks(text: string, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (!isLineEnd(code)) continue;
    if (code === 10 && text.charCodeAt(i - 1) === 13) continue;
    count += code === 0x2029 || code === 12 ? 2 : 1;
  }
  return count;
}

/** Is this line break mere wrapping of a running text? */
function isWrapped(text: string, lineStart: number, token: Token, next: Token): boolean {
  const last = text[token.end - 1]!;
  if (enders.includes(last) || ':。！？'.includes(last)) return false;
  const first = text[next.start]!;
  if ('-*•#>|+–—'.includes(first) && first !== last) return false;
  if (/^(?:\d{1,3}|[a-zA-Z])[.)]$/.test(text.slice(next.start, Math.min(next.end, next.start + 5))))
    return false;
  if (isLower(first) || ',;-–—/&'.includes(last)) return true;
  return (
    token.end - lineStart >= 50 &&
    (isLetter(first) || isDigit(first.charCodeAt(0)) || openers.includes(first))
  );
}

/** Ends of sentences inside a chunk that has no spaces. */
function* innerEnds(text: string, token: Token): Generator<number> {
  let address: boolean | undefined;
  for (let i = token.start; i < token.end - 1; i++) {
    const char = text[i]!;
    if (!enders.includes(char)) continue;
    let after = i + 1;
    while (after < token.end && (enders.includes(text[after]!) || closers.includes(text[after]!))) after++;
    if (after >= token.end) return;
    if (wideEnders.includes(char)) {
      yield after;
    } else if ('.?!…'.includes(char) && isUpper(text[after]!) && isLower(text[i - 1] ?? '')) {
      address ??= isAddress(text.slice(token.start, Math.min(token.end, token.start + 2000)));
      // "It ended.Then": a forgotten space. "System.Text", "example.Com" stay whole.
      if (!address && (char === '?' || char === '!' || starters.has(wordAt(text, after)))) yield after;
    }
    i = after - 1;
  }
}

function isAddress(chunk: string): boolean {
  return chunk.includes('://') || chunk.includes('@') || /^\W*www\./i.test(chunk) || chunk.includes('/');
}

/** The letters and apostrophes from `at` on, lower case. */
function wordAt(text: string, at: number): string {
  let end = at;
  while (
    end < text.length &&
    end < at + 40 &&
    (isLetter(text[end]!) || text[end] === "'" || text[end] === '’')
  )
    end++;
  return text.slice(at, end).toLowerCase().replaceAll('’', "'");
}

/** Does a sentence end between two neighbouring chunks on one line? */
function endsSentence(
  text: string,
  start: number,
  previous: Token | undefined,
  token: Token,
  next: Token,
): boolean {
  let end = token.end;
  let quoted = false;
  // Footnote signs and closing marks stand between the period and the space.
  for (; end > token.start + 1; end--) {
    const char = text[end - 1]!;
    if (char === ']') {
      const note = /\[\d{1,3}\]$/.exec(text.slice(Math.max(token.start + 1, end - 5), end))?.[0];
      if (note) {
        end -= note.length - 1;
        continue;
      }
    }
    if (!closers.includes(char)) break;
    quoted ||= '"\'”’»)]」』'.includes(char);
  }
  const mark = text[end - 1]!;
  if (!enders.includes(mark)) return false;
  if (wideEnders.includes(mark)) return true;

  let markStart = end - 1;
  while (markStart > token.start && enders.includes(text[markStart - 1]!)) markStart--;
  let first = next.start;
  while (first < next.end - 1 && openers.includes(text[first]!)) first++;
  const char = text[first]!;
  const lower = isLower(char) && !isUpper(text[first + 1] ?? 'a');
  const following = wordAt(text, first);
  if (quoted && isLetter(char) && goesOnAfterQuote(text, following, next)) return false;

  let wordStart = token.start;
  while (wordStart < markStart && openers.includes(text[wordStart]!)) wordStart++;
  const word = text.slice(Math.max(wordStart, markStart - 40), markStart);
  const key = word.toLowerCase();
  const marks = text.slice(markStart, Math.min(end, markStart + 8));
  if (/[!?‽؟]/.test(marks)) {
    if (lower) return !quoted && key !== 'yahoo' && key !== 'jeopardy';
    return true;
  }
  if (marks.length > 1 || mark === '…') return isUpper(char) && !/^i(?:'|$)/.test(following);
  if (lower) return !quoted && isPlainWord(key);
  if (isDigit(char.charCodeAt(0)) || '$€£¥#@+'.includes(char))
    return endsBeforeNumber(key, token.start === start);
  const before = previous ? text.slice(Math.max(previous.start, previous.end - 40), previous.end) : '';
  return endsBeforeCapital(word, before, following, token.start === start);
}

function goesOnAfterQuote(text: string, following: string, next: Token): boolean {
  if (speechVerbs.has(following)) return true;
  const after = nextToken(text, next.end);
  return after !== undefined && after.start - next.end < 3 && speechVerbs.has(wordAt(text, after.start));
}

/** A word that a period followed by a small letter can end, as in texts without capitals. */
function isPlainWord(word: string): boolean {
  if (isAbbreviation(word)) return false;
  return /^[a-z']{3,}$/.test(word) && /[aeiouy]/.test(word);
}

function endsBeforeNumber(word: string, isFirst: boolean): boolean {
  if (isFirst && /^(?:\d{1,3}|[a-z])$/.test(word)) return false;
  if (titles.has(word) || beforeNumbers.has(word)) return false;
  if (/^[a-z]$/.test(word) || word.includes('.')) return false;
  return !mayEnd.has(word) || word === 'etc';
}

/** The word before the period has its own case; `following` is the capitalised word after it, lower case. */
function endsBeforeCapital(word: string, before: string, following: string, isFirst: boolean): boolean {
  const key = word.toLowerCase();
  if (key === '') return true;
  if (isFirst && (/^(?:\d{1,3}|[a-zA-Z])$/.test(word) || /^[ivx]{2,4}$/i.test(word))) return false;
  const starter = starters.has(following);
  if (word.length === 1 && isLetter(word)) {
    if (word === 'I' && /^[a-z]/.test(before)) return true;
    if (!isUpper(word)) return starter;
    return starter || letterNames.has(before.toLowerCase());
  }
  if (unitAbbreviations.has(key) && isDigit(before.charCodeAt(before.length - 1))) return true;
  if (mayEnd.has(key)) {
    if (key === 'st' || key === 'dr') return /^[A-Z]/.test(before) && starter;
    if (key === 'etc') return true;
    if (key === 'a.m' || key === 'p.m' || key === 'am' || key === 'pm') return !afterTimes.has(following);
    return starter;
  }
  if (titles.has(key)) return false;
  // "No. 5" is an abbreviation, "No. I won't." is not.
  if (beforeNumbers.has(key)) return key === 'no' || starter;
  if (/^(?:[a-z]{1,2}\.)+[a-z]{1,2}$/.test(key)) return starter;
  if (!isIdeograph(word.charCodeAt(0)) && /^[A-Z]\.-[A-Z]$/.test(word)) return false;
  return true;
}
