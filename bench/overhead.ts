/**
 * Our execution of a resident graph against the same graph in plain C++ ggml, in turn; goal: at most 2 % over.
 * `npm run bench -- overhead [--rounds N] [--threads N]`. Each contender is a process of its own that prints the median
 * of many runs; input and output copies count on both sides.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAddon } from '../native/load.ts';
import { compare, measure, option, root } from './lib/harness.ts';

const shape = { blocks: 12, width: 256, rows: 64 };
const runs = 200;
const threads = Number(option('threads', String(availableParallelism())));

/** The sequence of plain_graph.cc. */
class Sequence {
  #state = 7;
  fill(length: number, scale: number): Float32Array {
    return Float32Array.from({ length }, () => {
      this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
      const unit = Math.fround(Math.fround((this.#state >>> 8) / 16777216) - 0.5);
      return Math.fround(unit * Math.fround(scale));
    });
  }
}

/** One contender's process: ours. */
async function worker(): Promise<void> {
  const addon = loadAddon();
  const device = await addon.openDevice({ name: 'CPU', threads, fixedThreads: true });
  const sequence = new Sequence();
  const { blocks, width, rows } = shape;
  const hidden = 4 * width;
  const specs = Array.from({ length: blocks }, (_, i) => [
    {
      name: `up${i}`,
      shape: [hidden, width],
      dtype: 'f32' as const,
      unit: i,
      source: { data: sequence.fill(hidden * width, 0.1) },
    },
    {
      name: `down${i}`,
      shape: [width, hidden],
      dtype: 'f32' as const,
      unit: i,
      source: { data: sequence.fill(hidden * width, 0.1) },
    },
  ]).flat();
  const store = addon.createWeightStore('bench', specs);
  store.bind(device);
  const recorder = addon.createRecorder();
  const input = recorder.input('f32', [rows, width]);
  let x = input;
  for (let i = 0; i < blocks; i++) {
    recorder.setUnit(store, i);
    const h = recorder.op('norm', [x], [1e-5]);
    const up = recorder.op('gelu_erf', [recorder.op('mul_mat', [recorder.weight(store, `up${i}`), h])]);
    x = recorder.op('add', [x, recorder.op('mul_mat', [recorder.weight(store, `down${i}`), up])]);
  }
  recorder.setUnit(null, -1);
  recorder.output(x);
  const graph = recorder.compile(device, device.createArena());
  const data = sequence.fill(rows * width, 2);
  const seconds: number[] = [];
  let output = new Float32Array();
  for (let run = -3; run < runs; run++) {
    const start = process.hrtime.bigint();
    const [result] = await graph.run({ inputs: [[input, data]] });
    const spent = Number(process.hrtime.bigint() - start) / 1e9;
    if (run >= 0) seconds.push(spent);
    output = result as Float32Array<ArrayBuffer>;
  }
  seconds.sort((a, b) => a - b);
  const checksum = output.reduce((sum, value) => sum + value, 0);
  process.stdout.write(`${JSON.stringify({ seconds_per_run: seconds[runs >> 1], checksum })}\n`);
  graph.dispose();
  await store.dispose();
  await device.close();
}

function buildPeer(): string {
  const build = join(root, 'native', 'build');
  execFileSync('cmake', ['-S', join(root, 'native'), '-B', build, '-DMIZUOTO_BENCH=ON'], { stdio: 'ignore' });
  execFileSync('cmake', ['--build', build, '--target', 'plain_graph', '--config', 'Release'], {
    stdio: 'ignore',
  });
  return join(build, process.platform === 'win32' ? 'Release/plain_graph.exe' : 'plain_graph');
}

if (process.argv.includes('--worker')) {
  await worker();
} else {
  const peer = buildPeer();
  const folder = join(root, 'native', 'out');
  const { blocks, width, rows } = shape;
  const checksums = new Set<string>();
  const figures = async (command: string, args: string[]) => {
    const { stdout } = await measure(command, args);
    const result = JSON.parse(stdout) as { seconds_per_run: number; checksum: number };
    checksums.add(result.checksum.toFixed(3));
    return { 'microseconds per run': result.seconds_per_run * 1e6 };
  };
  const self = fileURLToPath(import.meta.url);
  await compare(
    `Resident graph: ${blocks} blocks of ${width}, ${rows} rows, ${threads} threads`,
    [
      {
        name: 'mizuoto',
        run: () => figures(process.execPath, [self, '--worker', '--threads', String(threads)]),
      },
      {
        name: 'plain ggml',
        run: () => figures(peer, [folder, ...[blocks, width, rows, threads, runs].map(String)]),
      },
    ],
    Number(option('rounds', '7')),
  );
  if (checksums.size !== 1)
    throw new Error(`The contenders computed different things: ${[...checksums].join(' ')}`);
}
