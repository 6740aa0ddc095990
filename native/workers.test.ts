/** The addon in worker threads: several at once, and ended at any moment with everything alive. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeFolder } from './load.ts';
import { addon, vulkanName } from './test-support.ts';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-workers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Plain JavaScript: workers do not go through the test runner's transforms. */
const prelude = `
const { createRequire } = require('node:module');
const { parentPort, workerData } = require('node:worker_threads');
const folder = ${JSON.stringify(nativeFolder())};
const addon = require(folder + '/mizuoto.node');
addon.loadBackends(folder);
const width = 128;
function stack(device, blocks, rows) {
  const values = new Float32Array(width * width).map((_, i) => Math.sin(i) / 12);
  const store = addon.createWeightStore('net', Array.from({ length: blocks }, (_, unit) =>
    ({ name: 'w' + unit, shape: [width, width], dtype: 'f32', unit, source: { data: values } })));
  store.bind(device);
  const recorder = addon.createRecorder();
  const input = recorder.input('f32', [rows, width]);
  let x = input;
  for (let unit = 0; unit < blocks; unit++) {
    recorder.setUnit(store, unit);
    x = recorder.op('tanh', [recorder.op('mul_mat', [recorder.weight(store, 'w' + unit), x])]);
    recorder.setUnit(null, 0);
  }
  recorder.output(x);
  const graph = recorder.compile(device, device.createArena());
  const data = new Float32Array(rows * width).fill(0.5);
  return { store, graph, run: (more) => graph.run({ inputs: [[input, data]], ...more }) };
}
`;

let files = 0;
function workerFile(body: string): string {
  const path = join(folder, `worker${files++}.cjs`);
  writeFileSync(path, `${prelude}(async () => {${body}})().catch((error) => { throw error; });`);
  return path;
}

const message = (worker: Worker) =>
  new Promise<unknown>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`The worker ended with ${code}.`)));
  });

describe('workers', () => {
  it('compute side by side, each with devices of its own', async () => {
    const path = workerFile(`
      const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 1 << 24 });
      const { store, run } = stack(device, 4, 8);
      await device.setStreamer({ slots: 2, slotBytes: store.unitBytes(0), prefetch: true });
      let sum = 0;
      for (let i = 0; i < 20; i++) sum += (await run())[0].reduce((a, b) => a + b, 0);
      await device.close();
      parentPort.postMessage(sum);
    `);
    const workers = [1, 2, 3, 4].map(() => new Worker(path));
    const sums = await Promise.all(workers.map(message));
    expect(new Set(sums).size).toBe(1);
    expect(sums[0]).not.toBe(0);
    await Promise.all(workers.map((worker) => worker.terminate()));
    expect(addon.devices().length).toBeGreaterThan(0);
  });

  it('end by themselves when nothing is pending', async () => {
    const path = workerFile(`
      const device = await addon.openDevice({ name: 'CPU', threads: 1 });
      const { run } = stack(device, 2, 2);
      await run();
    `);
    const worker = new Worker(path);
    const code = await new Promise((resolve) => worker.once('exit', resolve));
    expect(code).toBe(0);
  });

  const scenes: [string, string][] = [
    [
      'idle with everything alive',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 2, simulateBytes: 1 << 26 });
      const { store, run } = stack(device, 4, 8);
      for (let unit = 0; unit < 4; unit++) await store.place(unit);
      globalThis.kept = [store, await device.createState([{ dtype: 'f32', shape: [8] }]), await run()];
      store.pin(1);
      parentPort.postMessage('ready');
      setInterval(() => {}, 1000);`,
    ],
    [
      'in the middle of a run',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 2 });
      const { run } = stack(device, 400, 512);
      run({ onProgress: () => {} });
      parentPort.postMessage('ready');
      setInterval(() => {}, 1000);`,
    ],
    [
      'in the middle of a streamed run on a slow link',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 1 << 26, linkBytesPerSecond: 1 << 18 });
      const { store, run } = stack(device, 20, 8);
      await device.setStreamer({ slots: 2, slotBytes: store.unitBytes(0), prefetch: true });
      run({ onProgress: () => {} });
      parentPort.postMessage('ready');
      setInterval(() => {}, 1000);`,
    ],
    [
      'with a queue of runs and placements',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 1 << 26, linkBytesPerSecond: 1 << 20 });
      const { store, run } = stack(device, 8, 8);
      for (let unit = 0; unit < 8; unit++) store.place(unit);
      for (let i = 0; i < 50; i++) run().catch(() => {});
      device.createState([{ dtype: 'f32', shape: [1024] }]);
      parentPort.postMessage('ready');
      setInterval(() => {}, 1000);`,
    ],
    [
      'while a device opens and another closes',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 2 });
      device.close();
      addon.openDevice({ name: 'CPU' });
      parentPort.postMessage('ready');
      setInterval(() => {}, 1000);`,
    ],
    [
      'in a busy loop of its own',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 2 });
      const { run } = stack(device, 100, 64);
      run();
      parentPort.postMessage('ready');
      for (;;) addon.createRecorder().input('f32', [1]);`,
    ],
  ];
  if (vulkanName !== null) {
    scenes.push([
      'in the middle of a Vulkan run',
      `
      const device = await addon.openDevice({ name: ${JSON.stringify(vulkanName)} });
      const { store, run } = stack(device, 8, 8);
      await device.setStreamer({ slots: 2, slotBytes: store.unitBytes(0), prefetch: true });
      await run();
      for (let i = 0; i < 5; i++) run({ onProgress: () => {} }).catch(() => {});
      parentPort.postMessage('ready');
      setInterval(() => {}, 1000);`,
    ]);
  }

  it.each(scenes)('can be ended %s', async (_, body) => {
    const path = workerFile(body);
    for (let round = 0; round < 3; round++) {
      const worker = new Worker(path);
      await message(worker);
      const begin = performance.now();
      await worker.terminate();
      expect(performance.now() - begin).toBeLessThan(5000);
    }
    // The process, and the addon in it, are well.
    const device = await addon.openDevice({ name: 'CPU', threads: 1 });
    await device.close();
  });
});

describe('a process', () => {
  const node = (script: string, args: string[] = []) =>
    spawnSync(process.execPath, [...args, script], {
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...process.env, GGML_VK_VISIBLE_DEVICES: '0' },
    });
  const mainFile = (body: string) => {
    const path = join(folder, `main${files++}.cjs`);
    writeFileSync(path, `${prelude}(async () => {${body}})();`);
    return path;
  };

  it.each([
    [
      'ends with everything alive',
      `
      const device = await addon.openDevice({ name: 'CPU', simulateBytes: 1 << 24 });
      const { store, run } = stack(device, 3, 3);
      await store.place(0);
      await device.setStreamer({ slots: 1, slotBytes: store.unitBytes(0), prefetch: false });
      await run();
      console.log('ok');`,
    ],
    [
      'waits for a promise that nothing else waits for',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 1 });
      const { run } = stack(device, 20, 64);
      run().then(() => console.log('ok'));`,
    ],
    [
      'exits in the middle of a run',
      `
      const device = await addon.openDevice({ name: 'CPU', threads: 2 });
      const { run } = stack(device, 400, 512);
      run();
      setTimeout(() => { console.log('ok'); process.exit(0); }, 50);`,
    ],
    [
      'collects what nobody refers to',
      `
      const device = await addon.openDevice({ name: 'CPU', simulateBytes: 1 << 26 });
      const once = async () => {
        const { store, run } = stack(device, 2, 4);
        await store.place(0);
        await store.place(1);
        await run();
      };
      for (let i = 0; i < 30; i++) await once();
      for (let i = 0; i < 20 && device.memory().held.weights > 0; i++) {
        global.gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const held = device.memory().held;
      if (held.weights + held.compute + held.io !== 0) throw new Error(JSON.stringify(held));
      console.log('ok');`,
    ],
  ])('%s', (_, body) => {
    const result = node(mainFile(body), ['--expose-gc']);
    expect(`${result.stderr}${result.signal ?? ''}`).toBe('');
    expect(result.stdout).toBe('ok\n');
    expect(result.status).toBe(0);
  });
});
