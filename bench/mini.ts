/**
 * The built-in voice against the recipe's PyTorch reference on the same phones, in turn:
 * `npm run bench -- mini [--rounds N] [--threads N] [--python PYTHON]` (a Python with torch and numpy).
 * RTF = compute seconds / audio seconds, without process start and load.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PhoneMapper } from '../main/engines/mini/phones.ts';
import { wholeSentences } from '../main/text/sentences.ts';
import { compare, measure, option, root } from './lib/harness.ts';

const voice = join(root, 'app', 'resources', 'mini-voice');
const rounds = Number(option('rounds', '5'));
const threads = Number(option('threads', String(availableParallelism())));
const python = option('python', 'python3');

const text = readFileSync(join(voice, 'recipe', 'heldout.tsv'), 'utf8')
  .split('\n')
  .map((line) => line.split('\t')[1] ?? '')
  .filter((line) => line !== '')
  .join(' ');
const mapper = new PhoneMapper(JSON.parse(readFileSync(join(voice, 'phones.json'), 'utf8')));
const pieces = [...wholeSentences(text)].flatMap((piece) =>
  mapper.toPhones(text.slice(piece.start, piece.end)).map(({ ids, wordStart }) => ({
    ids: [...ids],
    word_start: [...wordStart],
  })),
);

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-bench-'));
try {
  const file = join(folder, 'text.txt');
  writeFileSync(file, text);
  const ours = async () => {
    const cli = join(root, 'dist', 'main', 'cli.mjs');
    const args = ['say', '--file', file, '--out', join(folder, 'out.wav'), '--seed', '1', '--json'];
    const run = await measure(process.execPath, [cli, ...args, '--setting', `compute.threads=${threads}`]);
    const result = JSON.parse(run.stdout) as {
      seconds: number;
      rtf: number;
      meta: { first_audio_seconds: number };
    };
    return {
      RTF: result.rtf,
      'audio seconds': result.seconds,
      'wall seconds': run.wallSeconds,
      'first audio seconds': result.meta.first_audio_seconds,
      'peak RSS MiB': run.peakMib,
    };
  };
  const peer = async () => {
    const request = JSON.stringify({ voice, pieces, threads });
    const run = await measure(python, [join(root, 'bench', 'peers', 'mini_torch.py')], request);
    const result = JSON.parse(run.stdout) as { compute_seconds: number; audio_seconds: number };
    return {
      RTF: result.compute_seconds / result.audio_seconds,
      'audio seconds': result.audio_seconds,
      'wall seconds': run.wallSeconds,
      'peak RSS MiB': run.peakMib,
    };
  };
  await compare(
    `Built-in voice, ${threads} threads`,
    [
      { name: 'mizuoto', run: ours },
      { name: 'PyTorch reference', run: peer },
    ],
    rounds,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
