/** For tests of this folder. */
import { readAsset } from './assets.ts';
import { Dictionary } from './g2p/dictionary.ts';

let dictionary: Dictionary | undefined;

/** The words of the packed dictionary. */
export function isWord(word: string): boolean {
  dictionary ??= new Dictionary(readAsset('dictionary.gz'));
  return dictionary.has(word);
}

/** Processor time that `run` takes, in milliseconds: other work on the machine does not count. */
export function processorTime(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
