import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { LetterModel } from '../g2p/letters-model.ts';
import { align, type Example, type Graphone, graphoneOf } from './align.ts';
import { isHeldOut, isSpelling, readCorpus } from './corpus.ts';
import { scoreLetters } from './evaluate.ts';
import { trainNGram } from './ngram.ts';
import { gzip, packDictionary, packLetterModel } from './pack.ts';

/** Longest n-gram and number of n-grams of the shipped letter model. */
const order = 7;
const keepNodes = 360_000;

export function buildAssets(folder: string, parts: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  const wants = (part: string) => parts.length === 0 || parts.includes(part);
  const corpus = readCorpus();
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if (wants('dictionary')) {
    const packed = gzip(packDictionary(corpus));
    writeFileSync(join(folder, 'dictionary.gz'), packed);
    say(`dictionary.gz: ${corpus.size} words, ${packed.length} bytes`);
  }
  const file = join(folder, 'letters.gz');
  if (wants('letters')) {
    const packed = gzip(trainLetters(corpus));
    writeFileSync(file, packed);
    say(`letters.gz: ${packed.length} bytes`);
  }
  if (wants('evaluate')) {
    const model = new LetterModel(gunzipSync(readFileSync(file)));
    const heldOut = [...corpus].filter(([word]) => isSpelling(word) && isHeldOut(word));
    const score = scoreLetters(
      heldOut.map(([word, readings]) => ({ word, readings })),
      (word) => model.pronounce(word),
    );
    const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
    say(
      `held out: ${score.words} words, phone error ${percent(score.phoneError)} ` +
        `(${percent(score.phoneErrorNoStress)} without stress), word error ${percent(score.wordError)}`,
    );
  }
}

function trainLetters(corpus: ReadonlyMap<string, string[][]>): Uint8Array {
  const examples: Example[] = [];
  for (const [word, readings] of corpus) {
    if (!isSpelling(word) || isHeldOut(word)) continue;
    for (const phones of readings) examples.push({ word, phones });
  }
  const { paths } = align(examples);
  const symbolOf = new Map<number, number>();
  const graphones: Graphone[] = [];
  const aligned = paths.filter((path) => path !== undefined);
  // Frequent graphones get small numbers: the packed file is smaller.
  const often = new Map<number, number>();
  for (const key of aligned.flat()) often.set(key, (often.get(key) ?? 0) + 1);
  for (const [key] of [...often].sort((a, b) => b[1] - a[1] || a[0] - b[0])) {
    symbolOf.set(key, 2 + graphones.length);
    graphones.push(graphoneOf(key));
  }
  const model = trainNGram(
    aligned.map((path) => path.map((key) => symbolOf.get(key)!)),
    order,
    keepNodes,
  );
  process.stdout.write(
    `${aligned.length} of ${examples.length} readings aligned, ${graphones.length} graphones\n`,
  );
  return packLetterModel(model, graphones);
}
