import { readAsset } from '../assets.ts';
import { Dictionary } from '../g2p/dictionary.ts';

const dictionary = new Dictionary(readAsset('dictionary.gz'));

/** For tests: the words of the packed dictionary. */
export const isWord = (word: string): boolean => dictionary.has(word);
