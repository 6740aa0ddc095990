import type { Said } from '../../contract/said.ts';
import type { Boundary } from '../../text/pieces.ts';
import type { Ending } from './prosody.ts';

/** What is spoken in one breath line: a sentence, usually. */
export interface Utterance {
  /** As written. */
  text: string;
  /** Phones by their number in phones.json, from pause to pause; `[phones]`. */
  ids: Int32Array;
  /** 1 at the first phone of each word; `[phones]`. */
  wordStarts: Int32Array;
  ending: Ending;
  /** What stands behind it. */
  boundary: Boundary;
  /** Share of the whole text at which it begins and ends, 0..1. */
  progress: { from: number; to: number };
}

/** A text, checked, and its utterances one by one: they are made when they are asked for. */
export interface ReadText {
  warnings: Said[];
  utterances: () => Iterable<Utterance>;
}

/** @throws StudioError `text_empty`, `text_not_speakable`, `text_malformed` */
export type TextReader = (text: string) => ReadText;
