/** The ledger: what is planned is what is taken, all of it is given back, and failures leave nothing behind. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Arena, Device, Graph, TensorData } from './addon.ts';
import {
  absentVulkan,
  addon,
  bytesOf,
  failure,
  failureCode,
  makeStack,
  placeAll,
  type Stack,
  vulkanName,
  vulkanRequired,
} from './test-support.ts';

const held = (device: Device) => device.memory().held;
const nothing = { weights: 0, slots: 0, compute: 0, io: 0, state: 0 };
const sum = (device: Device) => Object.values(held(device)).reduce((a, b) => a + b);
/** Jobs run in order: when this is done, so is everything asked for before. */
const settled = (device: Device) => device.setStreamer(null);

function compile(device: Device, stack: Stack, arena: Arena): { graph: Graph; run(): Promise<TensorData> } {
  const recorder = addon.createRecorder();
  const { input } = stack.record(recorder);
  const graph = recorder.compile(device, arena);
  return { graph, run: async () => (await graph.run({ inputs: [[input, stack.input]] }))[0]! };
}

describe('planning', () => {
  const check = async (device: Device) => {
    const arena = device.createArena();
    for (const rows of [1, 7, 64]) {
      const stack = makeStack({ blocks: 3, width: 32, rows });
      stack.store.bind(device);
      const recorder = addon.createRecorder();
      const { input } = stack.record(recorder);
      const before = sum(device);
      const plan = recorder.plan(device);
      expect(sum(device)).toBe(before);
      const graph = recorder.compile(device, arena);
      expect(graph.plan).toEqual(plan);
      expect(sum(device)).toBe(before);
      expect(plan.segments).toBe(3);
      expect(plan.nodes).toBe(18);
      expect(plan.units).toEqual([0, 1, 2].map((unit) => [stack.store.id, unit]));
      await placeAll(stack.store);
      await graph.run({ inputs: [[input, stack.input]] });
      // The arena held less before: what it grew to is exactly this graph's share.
      expect(arena.bytes).toBe(plan.computeBytes);
      expect(held(device)).toMatchObject({ compute: plan.computeBytes, io: plan.ioBytes });
      graph.dispose();
      await stack.store.dispose();
    }
    arena.dispose();
    await settled(device);
    expect(held(device)).toEqual(nothing);
    await device.close();
  };

  it('on the processor', async () => check(await addon.openDevice({ name: 'CPU', threads: 1 })));
  it('on a simulated device', async () =>
    check(await addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 24 })));
  it.skipIf(vulkanName === null && !vulkanRequired)('on a Vulkan device', async () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    await check(await addon.openDevice({ name: vulkanName }));
  });

  it('drops nodes that reach no output', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1 });
    const recorder = addon.createRecorder();
    const x = recorder.input('f32', [1000]);
    for (let i = 0; i < 10; i++) recorder.op('exp', [x]);
    recorder.output(recorder.op('neg', [x]));
    expect(recorder.plan(device)).toMatchObject({ nodes: 1, segments: 1, computeBytes: 0, units: [] });
    await device.close();
  });
});

describe('an arena', () => {
  it('is as large as its largest graph, and comes back after trim', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 24 });
    const arena = device.createArena();
    const [small, large] = [4, 64].map((rows) => makeStack({ blocks: 2, width: 32, rows }));
    const graphs = [];
    for (const stack of [small!, large!]) {
      stack.store.bind(device);
      await placeAll(stack.store);
      graphs.push(compile(device, stack, arena));
    }
    const [a, b] = graphs;
    const first = [bytesOf(await a!.run()), bytesOf(await b!.run())];
    const largest = b!.graph.plan.computeBytes;
    expect(arena.bytes).toBe(largest);
    for (let round = 0; round < 3; round++) {
      expect(bytesOf(await a!.run()).equals(first[0]!)).toBe(true);
      expect(bytesOf(await b!.run()).equals(first[1]!)).toBe(true);
    }
    await arena.trim();
    expect(held(device).compute).toBe(0);
    expect(bytesOf(await a!.run()).equals(first[0]!)).toBe(true);
    expect(arena.bytes).toBe(a!.graph.plan.computeBytes);
    expect(bytesOf(await b!.run()).equals(first[1]!)).toBe(true);
    expect(arena.bytes).toBe(largest);
    await device.close();
  });

  it('belongs to one device', async () => {
    const devices = await Promise.all([1, 2].map(() => addon.openDevice({ name: 'CPU', threads: 1 })));
    const recorder = addon.createRecorder();
    recorder.output(recorder.op('neg', [recorder.input('f32', [1])]));
    const arena = devices[1]!.createArena();
    expect(await failureCode(() => recorder.compile(devices[0]!, arena))).toBe('InvalidArgument');
    await Promise.all(devices.map((device) => device.close()));
  });
});

describe('peaks', () => {
  it('are of everything, and of working memory', async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 24 });
    const stack = makeStack({ blocks: 2, width: 32, rows: 4 });
    stack.store.bind(device);
    await placeAll(stack.store);
    const weights = held(device).weights;
    expect(weights).toBe(stack.store.fixedBytes + stack.store.unitBytes(0) + stack.store.unitBytes(1));
    const { graph, run } = compile(device, stack, device.createArena());
    await run();
    const working = graph.plan.computeBytes + graph.plan.ioBytes;
    expect(device.memory()).toMatchObject({ peakBytes: weights + working, peakWorkingBytes: working });
    await stack.store.unplace(0);
    expect(device.memory().peakBytes).toBe(weights + working);
    device.resetPeak();
    expect(device.memory().peakBytes).toBe(weights + working - stack.store.unitBytes(0));
    await device.close();
  });
});

describe('running out of memory', () => {
  let device: Device;
  let stack: Stack;
  beforeEach(async () => {
    device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 20 });
    stack = makeStack({ blocks: 3, width: 32, rows: 4 });
    stack.store.bind(device);
  });
  afterEach(() => device.close());

  const steps = async (arena: Arena) => {
    await placeAll(stack.store);
    const state = await device.createState([{ dtype: 'f32', shape: [16] }]);
    await device.setStreamer({ slots: 2, slotBytes: 64, prefetch: true });
    const { graph, run } = compile(device, stack, arena);
    const data = bytesOf(await run());
    state.dispose();
    graph.dispose();
    return data;
  };

  it('fails at each allocation, leaves nothing, and works afterwards', async () => {
    const expected = await steps(device.createArena());
    await stack.store.dispose();
    let failures = 0;
    for (let n = 1; ; n++) {
      stack = makeStack({ blocks: 3, width: 32, rows: 4 });
      stack.store.bind(device);
      await device.setStreamer(null);
      const arena = device.createArena();
      device.setFaults({ failAllocation: n });
      const outcome = await steps(arena).catch((error: unknown) => error);
      device.setFaults(null);
      if (Buffer.isBuffer(outcome)) {
        expect(outcome.equals(expected)).toBe(true);
        break;
      }
      expect(outcome).toMatchObject({ code: 'OutOfDeviceMemory', details: { device: 'CPU' } });
      failures++;
      expect((await steps(arena)).equals(expected)).toBe(true);
      await stack.store.dispose();
      arena.dispose();
    }
    // Four units, a state, two slots, inputs and outputs, scratch.
    expect(failures).toBe(9);
  });

  it('says what was needed and what there was', async () => {
    device.setForeignBytes(2 ** 20 - 100);
    const error = await failure(() => stack.store.place(0));
    expect(error).toMatchObject({
      code: 'OutOfDeviceMemory',
      details: { device: 'CPU', needed: stack.store.unitBytes(0), available: 100, total: 2 ** 20 },
    });
    expect(error.message).toContain('100 bytes free of 1.00 MiB');
    device.setForeignBytes(0);
    expect(await stack.store.place(0)).toBe(stack.store.unitBytes(0));
    expect(await stack.store.place(0)).toBe(0);
  });

  it('never exceeds the size of the device', async () => {
    const big = await addon.openDevice({ name: 'CPU', simulateBytes: 20_000 });
    const many = makeStack({ blocks: 8, width: 32, rows: 1 });
    many.store.bind(big);
    let placed = 0;
    for (let unit = 0; unit < 8; unit++) placed += await many.store.place(unit).catch(() => 0);
    expect(placed).toBe(16_384);
    expect(big.memory().peakBytes).toBeLessThanOrEqual(20_000);
    expect(big.memory().freeBytes).toBe(20_000 - placed);
    await big.close();
  });

  it('gives everything back when a device is closed', async () => {
    await steps(device.createArena());
    await device.close();
    expect(device.memory().held).toEqual(nothing);
  });
});

describe('ordered failures', () => {
  const open = async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 20 });
    const stack = makeStack({ blocks: 4, width: 32, rows: 2 });
    stack.store.bind(device);
    return { device, stack, ...compile(device, stack, device.createArena()) };
  };

  it('fail one copy of a placement', async () => {
    const { device, stack } = await open();
    device.setFaults({ failCopy: 2 });
    expect(await failureCode(() => stack.store.place(1))).toBe('DeviceLost');
    expect(stack.store.isPlaced(1)).toBe(false);
    expect(held(device).weights).toBe(0);
    expect(await stack.store.place(1)).toBe(stack.store.unitBytes(1));
    await device.close();
  });

  it('fail one copy of the streamer, ahead or on the spot', async () => {
    const { device, stack, run } = await open();
    await placeAll(stack.store);
    const resident = bytesOf(await run());
    for (let unit = 0; unit < 4; unit++) await stack.store.unplace(unit);
    for (const prefetch of [false, true]) {
      for (const failCopy of [1, 3, 8]) {
        await device.setStreamer(null);
        await device.setStreamer({ slots: 2, slotBytes: stack.store.unitBytes(0), prefetch });
        device.setFaults({ failCopy });
        expect(await failureCode(run)).toBe('DeviceLost');
        expect(bytesOf(await run()).equals(resident)).toBe(true);
      }
    }
    await device.close();
  });

  it('lose the device until it is closed', async () => {
    const { device, stack, run } = await open();
    await placeAll(stack.store);
    device.setFaults({ loseAtSegment: 3 });
    expect(await failureCode(run)).toBe('DeviceLost');
    device.setFaults(null);
    expect(await failureCode(run)).toBe('DeviceLost');
    expect(await failureCode(() => device.createState([{ dtype: 'f32', shape: [1] }]))).toBe('DeviceLost');
    await device.close();
    expect(held(device)).toEqual(nothing);
    expect(await failureCode(run)).toBe('Disposed');
  });

  it('exhaust the device once, in any segment, resident or streamed', async () => {
    const { device, stack, run } = await open();
    await placeAll(stack.store);
    const resident = bytesOf(await run());
    device.setFaults({ exhaustAtSegment: 2 });
    expect(await failureCode(run)).toBe('OutOfDeviceMemory');
    expect(bytesOf(await run()).equals(resident)).toBe(true);
    for (let unit = 0; unit < 4; unit++) await stack.store.unplace(unit);
    await device.setStreamer({ slots: 2, slotBytes: stack.store.unitBytes(0), prefetch: true });
    for (const exhaustAtSegment of [1, 3, 6]) {
      device.setFaults({ exhaustAtSegment });
      const outcomes = [await run().catch(() => null), await run().catch(() => null)];
      expect(outcomes.filter((outcome) => outcome === null)).toHaveLength(1);
      expect(bytesOf(await run()).equals(resident)).toBe(true);
    }
    await device.close();
  });

  it.skipIf(vulkanName === null && !vulkanRequired)(
    'exhaust a Vulkan device, which then computes as before',
    async () => {
      if (vulkanName === null) throw new Error(absentVulkan);
      const device = await addon.openDevice({ name: vulkanName });
      const stack = makeStack({ blocks: 4, width: 32, rows: 2 });
      stack.store.bind(device);
      const { run } = compile(device, stack, device.createArena());
      await placeAll(stack.store);
      const resident = bytesOf(await run());
      for (const streamed of [false, true]) {
        if (streamed) {
          for (let unit = 0; unit < 4; unit++) await stack.store.unplace(unit);
          await device.setStreamer({ slots: 2, slotBytes: stack.store.unitBytes(0), prefetch: true });
        }
        for (const exhaustAtSegment of [1, 3]) {
          device.setFaults({ exhaustAtSegment });
          expect(await failureCode(run)).toBe('OutOfDeviceMemory');
          expect(bytesOf(await run()).equals(resident)).toBe(true);
        }
      }
      const error = await failure(() => device.createState([{ dtype: 'f32', shape: [1024, 1024, 1024, 4] }]));
      expect(error).toMatchObject({ code: 'OutOfDeviceMemory', details: { needed: 2 ** 34 } });
      await device.close();
    },
  );

  it('are read with care', async () => {
    const { device } = await open();
    for (const plan of [5, { failCopy: -1 }, { failCopy: 'x' }, { loseAtSegment: 0.5 }]) {
      expect(await failureCode(() => device.setFaults(plan as never))).toBe('InvalidArgument');
    }
    await device.close();
  });
});
