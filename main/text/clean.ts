import { StudioError } from '../contract/errors.ts';
import { type Said, type SaidCode, say } from '../contract/said.ts';
import { isHighSurrogate, isLineEnd, isLowSurrogate } from './characters.ts';

export interface CleanText {
  /** As long as the original, so that offsets stay true. */
  text: string;
  /** One per kind of repair, with the number of places. */
  warnings: Said[];
}

/** More NUL characters than this, or more undecodable ones than a tenth, and it was no text. */
const maxNulls = 8;

/**
 * Replaces what no text should hold by spaces: control characters, lone surrogates, byte order marks,
 * noncharacters. Tabs and line ends stay. Throws `text_malformed` for what looks like a binary file or a text read
 * in the wrong encoding.
 */
export function cleanText(text: string): CleanText {
  let nulls = 0;
  let controls = 0;
  let surrogates = 0;
  let undecodable = 0;
  const parts: string[] = [];
  let kept = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x20 && code < 0x7f) continue;
    if (code === 9 || isLineEnd(code)) continue;
    let drop = false;
    if (code < 0xa0) {
      drop = true;
      if (code === 0) nulls++;
      else controls++;
    } else if (isHighSurrogate(code) && isLowSurrogate(text.charCodeAt(i + 1))) {
      i++;
    } else if (code >= 0xd800 && code <= 0xdfff) {
      drop = true;
      surrogates++;
    } else if (code === 0xfffd) {
      drop = true;
      undecodable++;
    } else if (code === 0xfeff || code >= 0xfffe || (code >= 0xfdd0 && code <= 0xfdef)) {
      drop = true;
      if (!(code === 0xfeff && i === 0)) controls++;
    }
    if (!drop) continue;
    parts.push(text.slice(kept, i), ' ');
    kept = i + 1;
  }
  if (nulls > maxNulls) {
    throw new StudioError(
      'text_malformed',
      `The text holds ${nulls} NUL characters, so it is probably a binary file or UTF-16 read as another encoding. Save it as UTF-8 text and try again.`,
      { params: { reason: 'it holds NUL characters', count: nulls } },
    );
  }
  if (undecodable >= 4 && undecodable * 10 > text.trim().length) {
    throw new StudioError(
      'text_malformed',
      `${undecodable} of ${text.length} characters could not be decoded, so the text was read in the wrong encoding. Save it as UTF-8 and try again.`,
      { params: { reason: 'it holds characters that cannot be decoded', count: undecodable } },
    );
  }
  const repairs: [SaidCode, number][] = [
    ['text_controls', nulls + controls],
    ['text_surrogates', surrogates],
    ['text_undecodable', undecodable],
  ];
  const warnings = repairs.filter(([, count]) => count > 0).map(([code, count]) => say(code, { count }));
  parts.push(text.slice(kept));
  return { text: parts.length === 1 ? text : parts.join(''), warnings };
}
