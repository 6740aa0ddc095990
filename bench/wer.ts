/**
 * How well an offline recogniser understands the built-in voice, from plain text through the command line:
 * `npm run bench -- wer [--limit N] [--sentences FILE.tsv] [--goal PERCENT] [--seed N]`.
 * Fails above the goal (10 %). For comparison: the voice's source 5.9 %, the network from reference phones 6.9 %.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readWavFile } from '../main/audio/wav.ts';
import { measure, root } from './lib/harness.ts';
import { missingRecogniser, recognise } from './wer/recogniser.ts';
import { align, scoredWords, showErrors, total } from './wer/score.ts';

const { values: options } = parseArgs({
  options: {
    sentences: {
      type: 'string',
      default: join(root, 'app', 'resources', 'mini-voice', 'recipe', 'heldout.tsv'),
    },
    limit: { type: 'string', default: '1000' },
    goal: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});

const missing = missingRecogniser();
if (missing) {
  process.stderr.write(`${missing}\n`);
  process.exit(2);
}

const sentences = readFileSync(options.sentences, 'utf8')
  .split('\n')
  .filter((line) => line.includes('\t'))
  .slice(0, Number(options.limit))
  .map((line) => {
    const [id = '', text = ''] = line.split('\t');
    return { id, text };
  });

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-wer-'));
try {
  const clips = [];
  for (const { id, text } of sentences) {
    const file = join(folder, `${id}.wav`);
    const cli = join(root, 'dist', 'main', 'cli.mjs');
    await measure(process.execPath, [cli, 'say', text, '--out', file, '--seed', options.seed, '--json']);
    const { samples, sampleRate } = await readWavFile(file);
    clips.push({ samples: samples[0]!, sampleRate });
    if (process.stderr.isTTY) process.stderr.write(`\r${clips.length} of ${sentences.length} spoken`);
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  const heard = recognise(clips);
  const results = sentences.map(({ id, text }, i) => {
    const words = scoredWords(text);
    return { id, words: words.length, alignment: align(words, scoredWords(heard[i]!)) };
  });
  for (const { id, words, alignment } of results) {
    const edits = alignment.substitutions + alignment.deletions + alignment.insertions;
    const rate = ((100 * edits) / Math.max(1, words)).toFixed(0).padStart(3);
    process.stdout.write(`${id.padEnd(6)}${rate} %  ${showErrors(alignment)}\n`);
  }
  const score = total(results);
  const percent = 100 * score.rate;
  process.stdout.write(
    `word error rate ${percent.toFixed(1)} % of ${score.words} words in ${results.length} sentences: ` +
      `${score.substitutions} exchanged, ${score.deletions} missing, ${score.insertions} added (goal: at most ${options.goal} %)\n`,
  );
  if (percent > Number(options.goal)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
