import { StudioError } from '../../contract/errors.ts';
import { sentences } from '../../text/sentences.ts';

/** A stretch of text that is spoken in one go: whole sentences. */
export interface Passage {
  text: string;
  /** Share of the whole text at which it begins and ends, 0..1. */
  progress: { from: number; to: number };
}

/**
 * Text tokens of one passage: about a minute. Memory is reserved for sixteen frames of each; and in longer ones voices
 * drift.
 */
const longestPassage = 256;
/** Longest piece of a text without sentence ends, in the units of `spokenLength`: about as long. */
const longestSentence = 1000;

/**
 * The passages of a text, one by one. A text up to the limit is one passage, as written.
 *
 * @param count text tokens
 * @param limit text tokens of a passage; infinite: the text is not cut
 * @throws StudioError `text_not_speakable` where nothing in the text has a sound
 */
export function* passages(
  untrimmed: string,
  count: (text: string) => number,
  limit = longestPassage,
): Generator<Passage> {
  const text = untrimmed.trim();
  if (!hasSound(text)) throw nothingToSay();
  const short = limit === Number.POSITIVE_INFINITY || (text.length <= 8 * limit && count(text) <= limit);
  if (short) {
    yield { text, progress: { from: 0, to: 1 } };
    return;
  }
  let from = 0;
  let group = { start: 0, end: 0, tokens: 0 };
  for (const { start, end } of sentences(text, longestSentence)) {
    const tokens = count(text.slice(group.end, end));
    if (group.tokens + tokens <= limit) {
      group = { start: group.tokens > 0 ? group.start : start, end, tokens: group.tokens + tokens };
      continue;
    }
    yield* close(group);
    group = { start, end, tokens };
  }
  yield* close(group);

  function* close({ start, end }: { start: number; end: number }): Generator<Passage> {
    const passage = text.slice(start, end);
    if (!hasSound(passage)) return;
    yield { text: passage, progress: { from, to: end / text.length } };
    from = end / text.length;
  }
}

/** Letters, digits, and the signs that are read as words. */
function hasSound(text: string): boolean {
  return /[\p{L}\p{N}%&+=@$€£¥]/u.test(text);
}

function nothingToSay(): StudioError {
  return new StudioError(
    'text_not_speakable',
    'Nothing in the text can be said aloud: it has no letter and no digit. Write at least one word.',
    { params: { script: 'symbols', share: 100, speaks: 'text with letters or digits' } },
  );
}
