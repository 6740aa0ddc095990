/** The CMU dictionary as the npm package holds it, and its split into training and held-out words. */
import { dictionary } from 'cmu-pronouncing-dictionary';
import { isSymbol } from '../arpabet.ts';

/** Word -> readings, the usual one first. Comments ("# place, dutch") are dropped. */
export function readCorpus(): Map<string, string[][]> {
  const entries = new Map<string, string[][]>();
  for (const [key, value] of Object.entries(dictionary)) {
    const variant = /^(.+)\((\d)\)$/.exec(key);
    const word = variant ? variant[1]! : key;
    const phones = value.split('#')[0]!.trim().split(' ');
    const bad = phones.find((phone) => !isSymbol(phone));
    if (bad) throw new Error(`${key}: "${bad}" is no ARPAbet symbol.`);
    const readings = entries.get(word) ?? [];
    readings[variant ? Number(variant[2]) - 1 : 0] = phones;
    entries.set(word, readings);
  }
  for (const [word, readings] of entries) entries.set(word, readings.filter(Boolean));
  return entries;
}

/** Every twentieth word, by a hash of its spelling: the words that the letter model never sees. */
export function isHeldOut(word: string): boolean {
  let hash = 2166136261;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 16777619) >>> 0;
  hash ^= hash >>> 15;
  return hash % 20 === 0;
}

export function isSpelling(word: string): boolean {
  return /^[a-z]{2,}$/.test(word);
}
