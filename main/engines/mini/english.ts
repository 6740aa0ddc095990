import path from 'node:path';
import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';
import { cleanText } from '../../text/clean.ts';
import type { Piece } from '../../text/pieces.ts';
import { checkSpeakable } from '../../text/scripts.ts';
import { sentences } from '../../text/sentences.ts';
import { readJson } from './config.ts';
import { PhoneMapper, type Utterance as PhoneRun, type PhoneTable } from './phones.ts';
import type { Ending } from './prosody.ts';
import type { ReadText, TextReader, Utterance } from './utterances.ts';

/**
 * Longest sentence spoken as one utterance, in the units of `spokenLength`: a minute and a half. It only bounds the
 * memory; the networks see 36 phones around each.
 */
const longestSentence = 1400;

const speaker = {
  voice: 'Mizuoto Mini',
  scripts: ['Latin'],
  speaks: 'English text (letters a to z, digits and common signs)',
};

const phoneTableSchema = z.object({
  pause: z.string(),
  ids: z.record(z.string(), z.number().int().nonnegative()),
  from_cmudict: z.record(z.string(), z.string()),
});

/**
 * The reader of English text for a voice's table of phones.
 *
 * @param file phones.json
 * @param phones rows of the network's embedding: no id may lie beyond
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`
 */
export async function englishReader(file: string, phones: number): Promise<TextReader> {
  const parsed = phoneTableSchema.safeParse(await readJson(file));
  const table: PhoneTable | null = parsed.success ? parsed.data : null;
  if (table === null || Object.values(table.ids).some((id) => id >= phones)) {
    throw new StudioError(
      'checkpoint_invalid',
      `"${path.basename(file)}" does not hold the phones of this voice. Install the voice again.`,
      { params: { path: file, unfit: file } },
    );
  }
  const mapper = new PhoneMapper(table);
  return (text) => readEnglish(text, mapper, table.ids[table.pause]!);
}

function readEnglish(text: string, mapper: PhoneMapper, pause: number): ReadText {
  const clean = cleanText(text);
  const warnings = [...clean.warnings, ...checkSpeakable(clean.text, speaker)];
  return {
    warnings,
    *utterances(): Iterable<Utterance> {
      // What cannot be said is passed over, but the progress bar and the next pause see it.
      let from = 0;
      for (const piece of sentences(clean.text, longestSentence)) {
        const to = piece.end / clean.text.length;
        const utterance = utteranceOf(piece, mapper.toPhones(piece.text, piece.start), pause);
        if (utterance === null) continue;
        yield { ...utterance, progress: { from, to } };
        from = to;
      }
    },
  };
}

/** All runs of a sentence as one, with one pause where two of them meet; null where nothing in it can be said. */
function utteranceOf(
  piece: Piece,
  runs: readonly PhoneRun[],
  pause: number,
): Omit<Utterance, 'progress'> | null {
  const last = runs.at(-1);
  if (last === undefined) return null;
  const ids: number[] = [];
  const wordStarts: number[] = [];
  for (const run of runs) {
    const skip = ids.at(-1) === pause && run.ids[0] === pause ? 1 : 0;
    ids.push(...run.ids.subarray(skip));
    wordStarts.push(...run.wordStart.subarray(skip));
  }
  return {
    text: piece.text,
    ids: Int32Array.from(ids),
    wordStarts: Int32Array.from(wordStarts),
    ending: last.isQuestion ? questionKind(runs[0]!) : 'statement',
    boundary: piece.boundary,
  };
}

const questionWords = new Set(
  'who whom whose what which when where why how whats whos wheres hows whys'.split(' '),
);
/** May stand before the question word: "and why not?" */
const openers = new Set('and but so or then well oh ok okay now'.split(' '));

function questionKind(run: PhoneRun): Ending {
  const words = run.words.map(({ text }) => text.toLowerCase().replaceAll(/['’]s?$/g, ''));
  const first = words.find((word) => !openers.has(word)) ?? '';
  return questionWords.has(first) ? 'wh_question' : 'question';
}
