/**
 * Threads that follow what other programs leave, against a fixed number and against one, beside 0, 1, 2... programs
 * that each want a whole processor: `npm run bench -- threads [--threads N] [--loads 0,1,2] [--seconds S] [--rounds N]`.
 * The first contender's device is opened anew for each figure, so it counts what finding out costs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Device } from '../native/addon.ts';
import { loadAddon } from '../native/load.ts';
import { compare, option, orSay } from './lib/harness.ts';

const shape = { blocks: 24, width: 1024, rows: 48 };
const threads = Number(option('threads', String(availableParallelism())));
const seconds = Number(option('seconds', '3'));
const rounds = Number(option('rounds', '5'));
const loads = option('loads', '0,1,2').split(',').map(Number);

const addon = loadAddon();

/** Runs for so many seconds, one graph after the other. */
async function measure(options: { threads: number; fixedThreads: boolean }): Promise<Record<string, number>> {
  const device = await addon.openDevice({ name: 'CPU', ...options });
  try {
    return await runsPerSecond(device);
  } finally {
    await device.close();
  }
}

async function runsPerSecond(device: Device): Promise<Record<string, number>> {
  const { blocks, width, rows } = shape;
  const values = Float32Array.from({ length: width * width }, (_, i) => (((i * 7919) % 1001) - 500) / 5e4);
  const specs = Array.from({ length: blocks }, (_, i) => ({
    name: `${i}`,
    shape: [width, width],
    dtype: 'f32' as const,
    unit: i,
    source: { data: values },
  }));
  const store = addon.createWeightStore('bench', specs);
  store.bind(device);
  const recorder = addon.createRecorder();
  const input = recorder.input('f32', [rows, width]);
  let x = input;
  for (const { name } of specs) {
    const h = recorder.op('mul_mat', [recorder.weight(store, name), recorder.op('norm', [x], [1e-5])]);
    x = recorder.op('add', [x, recorder.op('gelu_erf', [h])]);
  }
  recorder.output(x);
  const graph = recorder.compile(device, device.createArena());
  await graph.run({ inputs: [[input, values.slice(0, rows * width)]] });
  const begin = performance.now();
  let runs = 0;
  let used = 0;
  while (performance.now() - begin < seconds * 1000) {
    await graph.run();
    runs++;
    used += device.threads;
  }
  const taken = (performance.now() - begin) / 1000;
  graph.dispose();
  await store.dispose();
  return { 'runs per second': runs / taken, 'threads, mean': used / runs };
}

async function beside(programs: number, body: () => Promise<void>): Promise<void> {
  const children: ChildProcess[] = [];
  try {
    for (let i = 0; i < programs; i++) {
      children.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    }
    await body();
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

await orSay(async () => {
  for (const load of loads) {
    await beside(load, () =>
      compare(
        `Beside ${load} busy programs, at most ${threads} threads`,
        [
          { name: 'as many as are free', run: () => measure({ threads, fixedThreads: false }) },
          { name: 'one', run: () => measure({ threads: 1, fixedThreads: true }) },
          { name: 'fixed', run: () => measure({ threads, fixedThreads: true }) },
        ],
        rounds,
      ),
    );
  }
});
