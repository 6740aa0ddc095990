/** Residency never changes a sample: resident, streamed and mixed runs are compared to the bit. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Device, Graph, TensorData } from './addon.ts';
import {
  absentVulkan,
  addon,
  bytesOf,
  failure,
  failureCode,
  makeStack,
  noise,
  placeAll,
  type Stack,
  unplaceUnits,
  vulkanName,
  vulkanRequired,
} from './test-support.ts';

// Slots hold NaN until their copy is whole: a kernel that reads too early cannot go unnoticed.
process.env.MIZUOTO_POISON_SLOTS = '1';

interface Setup {
  device: Device;
  stack: Stack;
  graph: Graph;
  run(): Promise<TensorData>;
}

async function setUp(device: Device, stack: Stack): Promise<Setup> {
  stack.store.bind(device);
  const recorder = addon.createRecorder();
  const { input } = stack.record(recorder);
  const graph = recorder.compile(device, device.createArena());
  const run = async () => (await graph.run({ inputs: [[input, stack.input]] }))[0]!;
  return { device, stack, graph, run };
}

const size = { blocks: 6, width: 64, rows: 5 };
const streamers = [
  { slots: 1, prefetch: false },
  { slots: 2, prefetch: true },
  { slots: 3, prefetch: true },
];
const moreStreamers = [...streamers, { slots: 2, prefetch: false }, { slots: 8, prefetch: true }];

async function residentBytes({ device, stack, run }: Setup): Promise<Buffer> {
  await placeAll(stack.store);
  const bytes = bytesOf(await run());
  expect(device.memory().held.slots).toBe(0);
  return bytes;
}

function equalInEveryResidency(
  name: string,
  open: () => Promise<Device>,
  dtype: 'f32' | 'f16',
  reference: boolean,
) {
  // The software Vulkan device is slow.
  const rounds = reference ? 3 : 2;
  it(`${name}, ${dtype}: resident, streamed, half streamed`, async () => {
    const device = await open();
    const setup = await setUp(device, makeStack({ ...size, dtype }));
    const { stack, run } = setup;
    const resident = await residentBytes(setup);
    if (reference) {
      const host = await addon.openDevice({ name: 'CPU', threads: 2 });
      const plain = await setUp(host, makeStack({ ...size, dtype }));
      expect(bytesOf(await plain.run()).equals(resident)).toBe(true);
      await host.close();
    }
    for (const options of reference ? moreStreamers : streamers) {
      await device.setStreamer({ ...options, slotBytes: stack.store.unitBytes(0) });
      await unplaceUnits(stack.store);
      for (let round = 0; round < rounds; round++) expect(bytesOf(await run()).equals(resident)).toBe(true);
      for (const unit of [0, 3, 4]) await stack.store.place(unit);
      expect(bytesOf(await run()).equals(resident)).toBe(true);
      await placeAll(stack.store);
      expect(bytesOf(await run()).equals(resident)).toBe(true);
    }
    await device.close();
  });
}

describe('bits', () => {
  const simulated = () => addon.openDevice({ name: 'CPU', threads: 2, simulateBytes: 2 ** 24 });
  for (const dtype of ['f32', 'f16'] as const) equalInEveryResidency('simulated', simulated, dtype, true);

  describe.skipIf(vulkanName === null && !vulkanRequired)('with Vulkan', () => {
    const vulkan = () => {
      if (vulkanName === null) throw new Error(absentVulkan);
      return addon.openDevice({ name: vulkanName });
    };
    for (const dtype of ['f32', 'f16'] as const) equalInEveryResidency('Vulkan', vulkan, dtype, false);

    // Nothing after the product makes the driver forget that the call before read those weights.
    it('Vulkan: units that end in a bare product', async () => {
      const device = await vulkan();
      const [units, width] = [5, 256];
      const store = addon.createWeightStore(
        'products',
        Array.from({ length: units }, (_, unit) => ({
          name: `w${unit}`,
          shape: [width, width],
          dtype: 'f32' as const,
          unit,
          source: { data: noise(width * width, unit).map((value) => value * 0.1) },
        })),
      );
      store.bind(device);
      const recorder = addon.createRecorder();
      const x = recorder.input('f32', [2, width]);
      let y = x;
      for (let unit = 0; unit < units; unit++) {
        recorder.setUnit(store, unit);
        y = recorder.op('mul_mat', [recorder.weight(store, `w${unit}`), y]);
      }
      recorder.setUnit(null, -1);
      recorder.output(y);
      const graph = recorder.compile(device, device.createArena());
      const input = noise(2 * width, 99);
      const run = async () => bytesOf((await graph.run({ inputs: [[x, input]] }))[0]!);
      await placeAll(store);
      const resident = await run();
      await unplaceUnits(store);
      for (const options of streamers) {
        await device.setStreamer({ ...options, slotBytes: store.unitBytes(0) });
        for (let round = 0; round < 3; round++) expect((await run()).equals(resident)).toBe(true);
      }
      // Without its slots no leaf may point into what they were.
      await device.setStreamer(null);
      expect(await failureCode(run)).toBe('WeightNotPlaced');
      await device.close();
    });

    it('Vulkan: the same from page-locked memory', async () => {
      const device = await vulkan();
      const setup = await setUp(device, makeStack(size));
      const { stack, run } = setup;
      const resident = await residentBytes(setup);
      await unplaceUnits(stack.store);
      for (let unit = 0; unit < stack.blocks; unit++) {
        expect(await stack.store.pin(unit)).toBe(stack.store.unitBytes(unit));
      }
      await device.setStreamer({ slots: 2, slotBytes: stack.store.unitBytes(0), prefetch: true });
      for (let round = 0; round < 3; round++) expect(bytesOf(await run()).equals(resident)).toBe(true);
      stack.store.unpin(2);
      expect(bytesOf(await run()).equals(resident)).toBe(true);
      await device.close();
    });
  });
});

describe('the streamer', () => {
  let setup: Setup;
  beforeEach(async () => {
    const device = await addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 24 });
    setup = await setUp(device, makeStack({ blocks: 6, width: 32, rows: 2 }));
    await setup.stack.store.place(-1);
  });
  afterEach(() => setup.device.close());

  const start = async (slots: number, prefetch: boolean) => {
    const { device, stack } = setup;
    await device.setStreamer({ slots, slotBytes: stack.store.unitBytes(0), prefetch });
  };

  it('keeps its slots where others cannot be had, for the stage that runs on them', async () => {
    const { device, stack, run } = setup;
    await start(2, true);
    const bytes = bytesOf(await run());
    const { slots } = device.memory().held;
    const huge = { slots: 4, slotBytes: 2 ** 23, prefetch: true };
    expect(await failureCode(() => device.setStreamer(huge))).toBe('OutOfDeviceMemory');
    expect(device.memory().held.slots).toBe(slots);
    expect(bytesOf(await run()).equals(bytes)).toBe(true);
    for (const [count, failAllocation] of [
      [3, 1],
      [4, 2],
    ] as const) {
      device.setFaults({ failAllocation });
      expect(await failureCode(() => start(count, true))).toBe('OutOfDeviceMemory');
      device.setFaults(null);
      expect(device.memory().held.slots).toBe(slots);
      expect(bytesOf(await run()).equals(bytes)).toBe(true);
    }
    expect(await failureCode(() => device.setStreamer({ slots: 1, slotBytes: 8, prefetch: true }))).toBe(
      'InvalidArgument',
    );
    expect(device.memory().held.slots).toBe(slots);
    // Another program takes even what they had: that is a lack of memory, and the stage may be repeated.
    device.setForeignBytes(device.memory().totalBytes);
    expect(await failureCode(() => device.setStreamer(huge))).toBe('OutOfDeviceMemory');
    expect(device.memory().held.slots).toBe(0);
    expect(await failureCode(run)).toBe('OutOfDeviceMemory');
    device.setForeignBytes(0);
    await device.setStreamer(null);
    expect(await failureCode(run)).toBe('WeightNotPlaced');
    await start(2, true);
    expect(bytesOf(await run()).equals(bytes)).toBe(true);
    expect(stack.store.isPlaced(0)).toBe(false);
  });

  it('copies each unit once in a pass, ahead of its use', async () => {
    await start(2, true);
    await setup.run();
    // And once more the first, for the pass to come.
    expect(setup.device.streamerStats()).toMatchObject({
      copies: 6 + 1,
      onTheSpot: 1,
      reused: 0,
      streamedBytes: 7 * setup.stack.store.unitBytes(0),
    });
  });

  it('copies on the spot without prefetching', async () => {
    await start(1, false);
    await setup.run();
    await setup.run();
    expect(setup.device.streamerStats()).toMatchObject({ copies: 12, onTheSpot: 12, reused: 0 });
  });

  it('keeps what it can for the next pass', async () => {
    await start(3, false);
    await setup.run();
    await setup.run();
    await setup.run();
    // The best that three slots can do for six units in a circle.
    expect(setup.device.streamerStats()).toMatchObject({ copies: 6 + 3 + 3, reused: 6 });
  });

  it('copies nothing twice when every unit has a slot', async () => {
    await start(6, true);
    for (let round = 0; round < 3; round++) await setup.run();
    expect(setup.device.streamerStats()).toMatchObject({ copies: 6, reused: 12 });
  });

  it('uploads nothing twice because of prefetching', async () => {
    await start(3, true);
    for (let round = 0; round < 5; round++) await setup.run();
    const { copies, wasted } = setup.device.streamerStats();
    // The last is for the pass that has not come.
    expect([copies <= 5 * 6 + 1, wasted]).toEqual([true, 0]);
  });

  it('sees new values of a weight', async () => {
    await start(6, true);
    const before = bytesOf(await setup.run());
    const { store } = setup.stack;
    await store.replace('blocks.2.up.weight', new Float32Array(32 * 32));
    const streamed = bytesOf(await setup.run());
    expect(streamed.equals(before)).toBe(false);
    await placeAll(store);
    expect(bytesOf(await setup.run()).equals(streamed)).toBe(true);
    await store.replace('blocks.2.up.weight', new Float32Array(32 * 32).fill(0.1));
    expect(bytesOf(await setup.run()).equals(streamed)).toBe(false);
  });

  it('counts its slots, and gives them back', async () => {
    await start(3, true);
    expect(setup.device.memory().held.slots).toBe(3 * setup.stack.store.unitBytes(0));
    await setup.device.setStreamer(null);
    expect(setup.device.memory().held.slots).toBe(0);
    expect(await failureCode(setup.run)).toBe('WeightNotPlaced');
  });

  it('names the unit that no slot holds', async () => {
    const { device, stack, run } = setup;
    await device.setStreamer({ slots: 1, slotBytes: stack.store.unitBytes(0) - 1, prefetch: false });
    const error = await failure(run);
    expect(error).toMatchObject({ code: 'WeightNotPlaced', details: { component: 'stack', unit: 0 } });
    expect(error.message).toContain('slot');
  });

  it.each([
    ['no slots', { slots: 0, slotBytes: 1, prefetch: false }],
    ['empty slots', { slots: 1, slotBytes: 0, prefetch: false }],
    ['prefetching into one slot', { slots: 1, slotBytes: 1, prefetch: true }],
    ['no decision', { slots: 1, slotBytes: 1, prefetch: undefined as unknown as boolean }],
  ])('refuses %s', async (_, options) => {
    expect(await failureCode(() => setup.device.setStreamer(options))).toBe('InvalidArgument');
  });

  it('hides copies behind computing on a slow link', async () => {
    const width = 256;
    const unitBytes = 2 * width * width * 4;
    // A copy takes 20 ms; computing is made to take about as long.
    const device = await addon.openDevice({
      name: 'CPU',
      threads: 1,
      simulateBytes: 2 ** 26,
      linkBytesPerSecond: unitBytes * 50,
    });
    const slow = await setUp(device, makeStack({ blocks: 5, width, rows: 4096 }));
    await slow.stack.store.place(-1);
    const timed = async (slots: number, prefetch: boolean) => {
      await device.setStreamer({ slots, slotBytes: slow.stack.store.unitBytes(0), prefetch });
      const before = device.streamerStats();
      const begin = performance.now();
      await slow.run();
      const after = device.streamerStats();
      return {
        seconds: (performance.now() - begin) / 1000,
        copied: after.copySeconds - before.copySeconds,
        waited: after.waitSeconds - before.waitSeconds,
      };
    };
    await timed(1, false);
    const serial = await timed(1, false);
    const overlapped = await timed(2, true);
    expect(serial.copied).toBeGreaterThan(0.09);
    expect(serial.waited).toBeGreaterThan(0.09);
    expect(overlapped.waited).toBeLessThan(serial.waited * 0.7);
    await device.close();
  });
});

describe('weights out of place', () => {
  it('names component, parameter and unit', async () => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 22 });
    const { stack, run } = await setUp(device, makeStack({ blocks: 2, width: 32, rows: 1 }));
    expect(await failure(run)).toMatchObject({
      code: 'WeightNotPlaced',
      details: { component: 'stack', parameter: 'blocks.0.norm.weight', unit: -1 },
    });
    await stack.store.place(-1);
    await stack.store.place(0);
    const error = await failure(run);
    expect(error).toMatchObject({ code: 'WeightNotPlaced', details: { unit: 1 } });
    expect(error.message).toMatch(/stack: blocks\.1\.(up|down)\.weight/);
    await device.close();
  });

  it('reports a unit that is read outside its forward', async () => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 22 });
    const { store } = makeStack({ blocks: 2, width: 32, rows: 1 });
    store.bind(device);
    const build = (inside: boolean) => {
      const recorder = addon.createRecorder();
      const input = recorder.input('f32', [1, 32]);
      recorder.setUnit(store, inside ? 1 : 0);
      recorder.output(recorder.op('mul_mat', [recorder.weight(store, 'blocks.1.up.weight'), input]));
      const graph = recorder.compile(device, device.createArena());
      return () => graph.run({ inputs: [[input, new Float32Array(32)]] });
    };
    await device.setStreamer({ slots: 1, slotBytes: store.unitBytes(0), prefetch: false });
    const outside = build(false);
    expect(await failure(outside)).toMatchObject({
      code: 'UnitOutsideForward',
      details: { component: 'stack', parameter: 'blocks.1.up.weight', unit: 1 },
    });
    // Found on a simulated device even while it would work.
    await placeAll(store);
    expect(await failureCode(outside)).toBe('UnitOutsideForward');
    await build(true)();
    await device.close();
  });

  it('streams views of weights', async () => {
    const device = await addon.openDevice({ name: 'CPU', simulateBytes: 2 ** 22 });
    const { store } = makeStack({ blocks: 2, width: 32, rows: 1 });
    store.bind(device);
    const recorder = addon.createRecorder();
    const input = recorder.input('f32', [1, 32]);
    let x = input;
    for (let block = 0; block < 2; block++) {
      // Recorded outside of the unit: naming memory is not reading it.
      const upper = recorder.op('narrow', [recorder.weight(store, `blocks.${block}.up.weight`)], [0, 0, 16]);
      recorder.setUnit(store, block);
      const half = recorder.op('mul_mat', [upper, x]);
      x = recorder.op('concat', [half, half], [1]);
      recorder.setUnit(null, 0);
    }
    recorder.output(x);
    const graph = recorder.compile(device, device.createArena());
    const run = async () =>
      bytesOf((await graph.run({ inputs: [[input, new Float32Array(32).fill(1)]] }))[0]!);
    await placeAll(store);
    const resident = await run();
    await unplaceUnits(store);
    await device.setStreamer({ slots: 1, slotBytes: store.unitBytes(0), prefetch: false });
    expect((await run()).equals(resident)).toBe(true);
    expect((await run()).equals(resident)).toBe(true);
    await device.close();
  });
});
