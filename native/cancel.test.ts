import { afterEach, describe, expect, it } from 'vitest';
import type { CancelToken, Device, Graph } from './addon.ts';
import { addon, bytesOf, failureCode, makeStack, placeAll, unplaceUnits } from './test-support.ts';

const devices: Device[] = [];
afterEach(async () => {
  await Promise.all(devices.splice(0).map((device) => device.close()));
});

async function open(options: { simulateBytes?: number; linkBytesPerSecond?: number } = {}): Promise<Device> {
  const device = await addon.openDevice({ name: 'CPU', threads: 1, ...options });
  devices.push(device);
  return device;
}

/** A graph of one call that computes for seconds, in nodes of a few milliseconds. */
function longGraph(device: Device): { graph: Graph; start(signal?: CancelToken): Promise<unknown> } {
  const recorder = addon.createRecorder();
  const width = 256;
  const a = recorder.input('f32', [width, width]);
  let x = a;
  for (let i = 0; i < 3000; i++) x = recorder.op('scale', [recorder.op('mul_mat', [a, x])], [0.01]);
  recorder.output(x);
  const graph = recorder.compile(device, device.createArena());
  const data = new Float32Array(width * width).fill(0.1);
  return { graph, start: (signal) => graph.run({ inputs: [[a, data]], signal }) };
}

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe('cancel', () => {
  it('stops inside one long call of the processor', async () => {
    const { start } = longGraph(await open());
    const token = addon.createCancelToken();
    const begin = performance.now();
    const running = failureCode(() => start(token));
    await later(50);
    expect(token.cancelled).toBe(false);
    token.cancel();
    expect(token.cancelled).toBe(true);
    expect(await running).toBe('Cancelled');
    expect(performance.now() - begin).toBeLessThan(3000);
  });

  it('stops before anything began', async () => {
    const device = await open({ simulateBytes: 2 ** 22 });
    const stack = makeStack({ blocks: 2, width: 32, rows: 1 });
    stack.store.bind(device);
    const token = addon.createCancelToken();
    token.cancel();
    expect(await failureCode(() => stack.store.place(0, token))).toBe('Cancelled');
    expect(device.memory().held.weights).toBe(0);
    await placeAll(stack.store);
    const recorder = addon.createRecorder();
    const { input } = stack.record(recorder);
    const graph = recorder.compile(device, device.createArena());
    expect(await failureCode(() => graph.run({ inputs: [[input, stack.input]], signal: token }))).toBe(
      'Cancelled',
    );
    await graph.run({ inputs: [[input, stack.input]], signal: addon.createCancelToken() });
  });

  it('stops a placement between pieces, and gives its memory back', async () => {
    const device = await open({ simulateBytes: 2 ** 26, linkBytesPerSecond: 2 ** 22 });
    const values = new Float32Array(2 ** 22);
    const store = addon.createWeightStore('large', [
      { name: 'w', shape: [4096, 1024], dtype: 'f32', unit: 0, source: { data: values } },
    ]);
    store.bind(device);
    const token = addon.createCancelToken();
    const placing = failureCode(() => store.place(0, token));
    await later(30);
    expect(device.memory().held.weights).toBe(2 ** 24);
    token.cancel();
    const begin = performance.now();
    expect(await placing).toBe('Cancelled');
    expect(performance.now() - begin).toBeLessThan(1500);
    expect([device.memory().held.weights, store.isPlaced(0)]).toEqual([0, false]);
  });

  it('stops between the copies of a streamed run; the next one is whole', async () => {
    const stack = makeStack({ blocks: 6, width: 128, rows: 2 });
    // A copy takes 100 ms.
    const device = await open({ simulateBytes: 2 ** 24, linkBytesPerSecond: stack.store.unitBytes(0) * 10 });
    stack.store.bind(device);
    await stack.store.place(-1);
    const recorder = addon.createRecorder();
    const { input } = stack.record(recorder);
    const graph = recorder.compile(device, device.createArena());
    const run = (signal?: CancelToken) => graph.run({ inputs: [[input, stack.input]], signal });
    for (const [slots, prefetch] of [
      [1, false],
      [3, true],
    ] as const) {
      await device.setStreamer({ slots, slotBytes: stack.store.unitBytes(0), prefetch });
      const token = addon.createCancelToken();
      const copiesBefore = device.streamerStats().copies;
      const running = failureCode(() => run(token));
      await later(150);
      token.cancel();
      const begin = performance.now();
      expect(await running).toBe('Cancelled');
      expect(performance.now() - begin).toBeLessThan(90);
      expect(device.streamerStats().copies - copiesBefore).toBeLessThan(6);
    }
    const streamed = bytesOf((await run())[0]!);
    await placeAll(stack.store);
    expect(bytesOf((await run())[0]!).equals(streamed)).toBe(true);
    await unplaceUnits(stack.store);
  });

  it('leaves other runs of the same graph alone', async () => {
    const device = await open();
    const stack = makeStack({ blocks: 2, width: 32, rows: 1 });
    stack.store.bind(device);
    const recorder = addon.createRecorder();
    const { input } = stack.record(recorder);
    const graph = recorder.compile(device, device.createArena());
    const token = addon.createCancelToken();
    // Keeps the device busy until all are queued and the token is cancelled.
    const [before, first] = [longGraph(device), addon.createCancelToken()];
    const running = failureCode(() => before.start(first));
    const runs = [token, undefined, token, undefined].map((signal) =>
      graph.run({ inputs: [[input, stack.input]], signal }).then(
        () => 'done',
        (error: { code: string }) => error.code,
      ),
    );
    token.cancel();
    first.cancel();
    expect(await running).toBe('Cancelled');
    expect(await Promise.all(runs)).toEqual(['Cancelled', 'done', 'Cancelled', 'done']);
  });
});

describe('closing a device', () => {
  it('stops what runs and refuses what waits', async () => {
    const device = await open();
    const { start } = longGraph(device);
    const running = failureCode(() => start());
    const waiting = failureCode(() => start());
    await later(30);
    const begin = performance.now();
    await device.close();
    expect(performance.now() - begin).toBeLessThan(2000);
    expect(await running).toBe('Cancelled');
    expect(await waiting).toBe('Disposed');
  });
});

describe('progress', () => {
  const progressOf = async (graph: Graph, inputs: [number, Float32Array][]) => {
    const seen: [number, number][] = [];
    const times: number[] = [];
    await graph.run({
      inputs,
      onProgress: (done, total) => {
        seen.push([done, total]);
        times.push(performance.now());
      },
    });
    // The last report is posted before the promise settles.
    return { seen, times };
  };

  it('rises to the number of segments, also inside one call', async () => {
    const device = await open();
    const stack = makeStack({ blocks: 6, width: 256, rows: 8192 });
    stack.store.bind(device);
    const recorder = addon.createRecorder();
    const { input } = stack.record(recorder);
    const graph = recorder.compile(device, device.createArena());
    const { seen } = await progressOf(graph, [[input, stack.input]]);
    expect(seen[0]).toEqual([0, 6]);
    expect(seen.at(-1)).toEqual([6, 6]);
    expect(seen.length).toBeGreaterThan(2);
    const done = seen.map(([segment]) => segment);
    expect([...done].sort((a, b) => a - b)).toEqual(done);
  });

  it('comes at most twenty times a second', async () => {
    const device = await open();
    const stack = makeStack({ blocks: 60, width: 128, rows: 256 });
    stack.store.bind(device);
    const recorder = addon.createRecorder();
    const { input } = stack.record(recorder);
    const graph = recorder.compile(device, device.createArena());
    const begin = performance.now();
    const { seen } = await progressOf(graph, [[input, stack.input]]);
    const seconds = (performance.now() - begin) / 1000;
    expect(seen.length).toBeLessThanOrEqual(2 + Math.ceil(seconds * 20));
  });

  it('does not hold the event loop up', async () => {
    const device = await open();
    const { start } = longGraph(device);
    const token = addon.createCancelToken();
    const running = failureCode(() => start(token));
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    await later(300);
    clearInterval(timer);
    token.cancel();
    await running;
    expect(ticks).toBeGreaterThan(10);
  });
});
