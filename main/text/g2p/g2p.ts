/** From text to phones: normalisation, then for each word the dictionary, its parts, or its letters. */
import { isVowel, withS } from '../arpabet.ts';
import { readAsset } from '../assets.ts';
import { normaliseTokens, type Spoken } from '../normalise/normalise.ts';
import { Dictionary } from './dictionary.ts';
import { exceptions, letterNames } from './exceptions.ts';
import { heteronym } from './heteronyms.ts';
import { LetterModel, longestWord } from './letters-model.ts';
import { fromCompound, fromParts, withClitic } from './morphology.ts';

/** How a pronunciation was found, from surest to least sure. */
export type Source = 'letter' | 'dictionary' | 'parts' | 'model';

export interface SpokenWord {
  kind: 'word';
  text: string;
  start: number;
  end: number;
  /** ARPAbet with stress. A hyphenated word has several parts, each the start of a word. */
  parts: string[][];
  source: Source;
}

export interface SpokenMark {
  kind: 'mark';
  /** One of , ; : . ? ! … */
  text: string;
  start: number;
  end: number;
}

interface Found {
  phones: string[];
  source: Source;
}

const cacheSize = 20_000;

export class G2p {
  readonly #dictionary: Dictionary;
  readonly #loadModel: () => LetterModel;
  readonly #cache = new Map<string, Found>();
  #model: LetterModel | undefined;

  /** The letter model is loaded when the first unknown word comes. */
  constructor(dictionary: Dictionary, loadModel: () => LetterModel) {
    this.#dictionary = dictionary;
    this.#loadModel = loadModel;
  }

  readonly isWord = (word: string): boolean => exceptions.has(word) || this.#dictionary.has(word);

  /** Words with their phones and marks of a text; `offset` is its place in a longer one. */
  speak(text: string, offset = 0): (SpokenWord | SpokenMark)[] {
    const tokens = normaliseTokens(text, { isWord: this.isWord, offset });
    const words = new Set(tokens.map((token) => token.text.toLowerCase()));
    return tokens.map((token, i) => {
      const { start, end } = token;
      if (token.kind === 'mark') return { kind: 'mark', text: token.text, start, end };
      const { parts, source } =
        token.kind === 'letter' ? spellLetter(token.text) : this.#word(tokens, i, words);
      return { kind: 'word', text: token.text, start, end, parts, source };
    });
  }

  /** Phones of one word out of context, any case. */
  pronounce(word: string): string[] {
    return this.#find(word.toLowerCase()).phones;
  }

  #word(
    tokens: readonly Spoken[],
    at: number,
    all: ReadonlySet<string>,
  ): { parts: string[][]; source: Source } {
    const { text } = tokens[at]!;
    const word = text.toLowerCase();
    const near = (step: number) => {
      const token = tokens[at + step];
      return token && token.kind !== 'mark' ? token.text.toLowerCase() : '';
    };
    if (word === 'the') {
      const next = tokens[at + 1];
      return { parts: [this.#beginsWithVowel(next) ? ['DH', 'IY0'] : ['DH', 'AH0']], source: 'dictionary' };
    }
    const n = {
      word: text,
      before: near(-1),
      before2: near(-2),
      after: near(1),
      has: (w: string) => all.has(w),
    };
    const inContext = heteronym(word, n);
    if (inContext) return { parts: [inContext], source: 'dictionary' };
    if (word.includes('-')) {
      const whole =
        exceptions.get(word) ??
        this.#dictionary.lookup(word)?.[0] ??
        this.#dictionary.lookup(word.replaceAll('-', ''))?.[0];
      if (whole) return { parts: [whole], source: 'dictionary' };
      const found = word
        .split('-')
        .filter((part) => part !== '')
        .map((part) => this.#find(part));
      return { parts: found.map(({ phones }) => phones), source: leastSure(found) };
    }
    const { phones, source } = this.#find(word);
    return { parts: [phones], source };
  }

  #beginsWithVowel(token: Spoken | undefined): boolean {
    if (!token || token.kind === 'mark') return false;
    const first =
      token.kind === 'letter'
        ? spellLetter(token.text).parts[0]?.[0]
        : this.#find(token.text.toLowerCase().split('-')[0]!).phones[0];
    return first !== undefined && isVowel(first);
  }

  #find(word: string): Found {
    const known = this.#cache.get(word);
    if (known) return known;
    const found = this.#search(word);
    if (this.#cache.size >= cacheSize) this.#cache.clear();
    this.#cache.set(word, found);
    return found;
  }

  #lookup(word: string): string[] | undefined {
    return exceptions.get(word) ?? this.#dictionary.lookup(word)?.[0];
  }

  #search(word: string): Found {
    const listed = this.#lookup(word);
    if (listed) return { phones: listed, source: 'dictionary' };
    if (word.includes("'")) return this.#withApostrophe(word);
    if (word.includes('-')) {
      const found = word
        .split('-')
        .filter((part) => part !== '')
        .map((part) => this.#find(part));
      return { phones: found.flatMap(({ phones }) => phones), source: leastSure(found) };
    }
    if (!/^[a-z]+$/.test(word)) return { phones: [], source: 'model' };
    if (word.length === 1 || (word.length <= 5 && !/[aeiouy]/.test(word))) return spellWord(word);
    const stems = { lookup: (stem: string) => this.#lookup(stem), has: this.isWord };
    const parts =
      word.length > longestWord ? undefined : (fromParts(word, stems) ?? fromCompound(word, stems));
    if (parts) return { phones: parts, source: 'parts' };
    this.#model ??= this.#loadModel();
    return { phones: this.#model.pronounce(word), source: 'model' };
  }

  #withApostrophe(word: string): Found {
    const plain = word.replace(/^'+|'+$/g, '');
    if (plain !== word && plain !== '') return this.#find(plain);
    const phones = withClitic(word, (stem) =>
      stem.includes("'") ? this.#lookup(stem) : this.#find(stem).phones,
    );
    if (phones) return { phones, source: 'parts' };
    // "rock'n'roll", "o'brien": the pieces one after another, or the word without its apostrophe.
    const joined = word.replaceAll("'", '');
    const whole = this.#lookup(joined);
    if (whole) return { phones: whole, source: 'dictionary' };
    const pieces = word.split("'").filter((piece) => piece !== '');
    if (pieces.every((piece) => piece.length > 1 || piece === 'n' || piece === 'o')) {
      const found = pieces.map((piece) =>
        piece === 'n' ? { phones: ['AH0', 'N'], source: 'dictionary' as const } : this.#find(piece),
      );
      return { phones: found.flatMap((part) => part.phones), source: leastSure(found) };
    }
    return joined === '' ? { phones: [], source: 'model' } : this.#find(joined);
  }
}

function leastSure(found: readonly Found[]): Source {
  const order: Source[] = ['letter', 'dictionary', 'parts', 'model'];
  return order[Math.max(0, ...found.map(({ source }) => order.indexOf(source)))]!;
}

/** `B` or `B's`. */
function spellLetter(text: string): { parts: string[][]; source: Source } {
  const name = letterNames.get(text[0]!.toUpperCase()) ?? [];
  return { parts: [text.length > 1 ? withS(name) : [...name]], source: 'letter' };
}

function spellWord(word: string): Found {
  return { phones: [...word.toUpperCase()].flatMap((letter) => letterNames.get(letter)!), source: 'letter' };
}

let shared: G2p | undefined;

/** The one English front end of the process, with the packed dictionary and letter model. */
export function englishG2p(): G2p {
  shared ??= new G2p(
    new Dictionary(readAsset('dictionary.gz')),
    () => new LetterModel(readAsset('letters.gz')),
  );
  return shared;
}
