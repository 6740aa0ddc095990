/**
 * Text side of the built-in voice: a sentence becomes the phone ids and word starts that the acoustic network expects
 * (MODEL_CARD.md, "What the model expects"): one `pau` at each end, one for each mark of punctuation between words,
 * little words as the training data had them.
 */

import { englishG2p, type G2p, type SpokenMark, type SpokenWord } from '../../text/g2p/g2p.ts';
import { valueBetween } from '../../text/pieces.ts';

/** What this module reads of phones.json. */
export interface PhoneTable {
  pause: string;
  ids: Record<string, number>;
  from_cmudict: Record<string, string>;
}

interface UtteranceWord {
  text: string;
  /** Characters of the original text. */
  start: number;
  end: number;
  /** Phones of the word: `firstPhone` (included) to `lastPhone` (excluded). */
  firstPhone: number;
  lastPhone: number;
}

/** One run of the network: [phones] ids and word starts, `pau` first and last. */
export interface Utterance {
  ids: Int32Array;
  /** 1 for the first phone of a word, else 0. */
  wordStart: Int32Array;
  phones: string[];
  isQuestion: boolean;
  words: UtteranceWord[];
  start: number;
  end: number;
}

/** The training utterances lasted up to 8.2 s at 11.2 phones a second. */
const maxPhones = 96;

/** As Festival said them in the training data. */
const littleWords: Record<string, string> = {
  the: 'dh ax0',
  a: 'ax0',
  an: 'ae1 n',
  to: 't ax0',
  and: 'ae1 n d',
  of: 'ah1 v',
  for: 'f ao1 r',
  in: 'ih0 n',
  into: 'ih0 n t uw1',
  you: 'y uw1',
  your: 'y ao1 r',
  are: 'aa1 r',
  was: 'w aa1 z',
  were: 'w er0',
  her: 'hh er0',
  or: 'ao1 r',
  before: 'b iy0 f ao1 r',
  here: 'hh ih1 r',
  hear: 'hh ih1 r',
  bought: 'b ao1 t',
  wanted: 'w aa1 n t ax0 d',
  poor: 'p uh1 r',
  office: 'ao1 f ax0 s',
  even: 'iy1 v ax0 n',
  cannot: 'k ae0 n aa1 t',
  can: 'k ae1 n',
  with: 'w ih1 dh',
  from: 'f r ah1 m',
  "you're": 'y uw1 r',
  "didn't": 'd ih1 d n t',
  "doesn't": 'd ah1 z n t',
  "couldn't": 'k uh1 d n t',
  "wouldn't": 'w uh1 d n t',
  "shouldn't": 'sh uh1 d n t',
  "isn't": 'ih1 z n t',
  "wasn't": 'w aa1 z n t',
  "hasn't": 'hh ae1 z n t',
  "hadn't": 'hh ae1 d n t',
  "haven't": 'hh ae1 v n t',
};

interface Unit {
  /** Absent for a pause. */
  word?: SpokenWord;
  /** Mapped phones of each part of the word; none for a pause. */
  parts: string[][];
  length: number;
  question: boolean;
}

export class PhoneMapper {
  readonly #table: PhoneTable;
  readonly #g2p: G2p;
  readonly #little: ReadonlyMap<string, string[]>;

  constructor(table: PhoneTable, g2p: G2p = englishG2p()) {
    this.#table = table;
    this.#g2p = g2p;
    this.#little = new Map(Object.entries(littleWords).map(([word, phones]) => [word, phones.split(' ')]));
    for (const phone of [
      table.pause,
      ...[...this.#little.values()].flat(),
      ...Object.values(table.from_cmudict),
    ]) {
      if (table.ids[phone] === undefined) throw new Error(`phones.json has no id for the phone "${phone}".`);
    }
  }

  /**
   * Utterances of one sentence: none where nothing in it can be said, several where it is longer than the network
   * was trained for. `offset` is the place of the sentence in the whole text.
   */
  toPhones(sentence: string, offset = 0): Utterance[] {
    const units: Unit[] = [];
    for (const spoken of this.#g2p.speak(sentence, offset)) {
      const unit = spoken.kind === 'mark' ? pauseOf(spoken) : this.#unitOf(spoken);
      if (unit) units.push(unit);
    }
    return splitUnits(units).map((run) => this.#assemble(run));
  }

  #unitOf(word: SpokenWord): Unit | undefined {
    const little = word.source === 'letter' ? undefined : this.#little.get(word.text.toLowerCase());
    const parts = little
      ? [little]
      : word.parts.map((part) => this.#map(part, word)).filter((part) => part.length > 0);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return length === 0 ? undefined : { word, parts, length, question: false };
  }

  /**
   * By the table, but for what Festival's dictionary does otherwise throughout: unstressed where CMUdict has the
   * secondary stress of "inside" and "thirty", a schwa in "waited".
   */
  #map(part: readonly string[], word: SpokenWord): string[] {
    const stressed = part.findIndex((phone) => phone.endsWith('1'));
    const dental = /[td]ed$/i.test(word.text);
    return part.map((phone, i) => {
      if (i === 0 && stressed > 0 && (phone === 'IH2' || phone === 'EH2'))
        return this.#table.from_cmudict[`${phone.slice(0, 2)}0`]!;
      if (phone === 'IY2' && i === part.length - 1) return this.#table.from_cmudict.IY0!;
      if (phone === 'IH0' && dental && i === part.length - 2) return this.#table.from_cmudict.AH0!;
      return this.#table.from_cmudict[phone]!;
    });
  }

  #assemble(units: readonly Unit[]): Utterance {
    const { pause, ids } = this.#table;
    const phones = [pause];
    const starts = [0];
    const words: UtteranceWord[] = [];
    let isQuestion = false;
    for (const unit of units) {
      isQuestion = unit.question;
      if (!unit.word) {
        if (phones[phones.length - 1] === pause) continue;
        phones.push(pause);
        starts.push(0);
        continue;
      }
      const firstPhone = phones.length;
      for (const part of unit.parts) {
        part.forEach((phone, i) => {
          phones.push(phone);
          starts.push(i === 0 ? 1 : 0);
        });
      }
      const { text, start, end } = unit.word;
      words.push({ text, start, end, firstPhone, lastPhone: phones.length });
    }
    if (phones[phones.length - 1] !== pause) {
      phones.push(pause);
      starts.push(0);
    }
    return {
      ids: Int32Array.from(phones, (phone) => ids[phone]!),
      wordStart: Int32Array.from(starts),
      phones,
      isQuestion,
      words,
      start: words[0]!.start,
      end: words[words.length - 1]!.end,
    };
  }
}

function pauseOf(mark: SpokenMark): Unit {
  return { parts: [], length: 1, question: mark.text === '?' };
}

/** Runs of at most `maxPhones` phones, of like length, cut at a pause where one is near, else between words. */
function splitUnits(units: readonly Unit[]): Unit[][] {
  const runs: Unit[][] = [];
  let rest = units.reduce((sum, unit) => sum + unit.length, 0);
  let from = 0;
  while (from < units.length) {
    let cut = units.length;
    if (rest > maxPhones) cut = bestCut(units, from, rest);
    const run = units.slice(from, cut);
    if (run.some(({ word }) => word)) runs.push(run);
    else if (run.some(({ question }) => question) && runs.length > 0) runs[runs.length - 1]!.push(...run);
    rest -= run.reduce((sum, unit) => sum + unit.length, 0);
    from = cut;
  }
  return runs;
}

/** Index after the last unit of the next run: at least one unit, at most `maxPhones` phones where that is possible. */
function bestCut(units: readonly Unit[], from: number, rest: number): number {
  const target = rest / Math.ceil(rest / maxPhones);
  let best = from + 1;
  let bestScore = Number.NEGATIVE_INFINITY;
  let length = 0;
  for (let i = from; i < units.length; i++) {
    length += units[i]!.length;
    if (length > maxPhones && i > from) break;
    const score = valueAfter(units, i) - Math.abs(length - target) / target;
    if (score > bestScore) {
      best = i + 1;
      bestScore = score;
    }
  }
  return best;
}

/** How good a cut after a unit is. */
function valueAfter(units: readonly Unit[], at: number): number {
  const here = units[at]!.word;
  const next = units[at + 1]?.word;
  if (!here) return 0.5;
  return next ? valueBetween(here.text, next.text) : 0;
}
