/** What the tests of copies ahead share: streamed components, and what a run adds to a device's counts. */
import { afterEach, expect } from 'vitest';
import type { Device, TensorData } from './addon.ts';
import { addon, bytesOf, makeStack, placeAll, type Stack } from './test-support.ts';

// Slots hold NaN until their copy is whole: a kernel that reads too early cannot go unnoticed.
process.env.MIZUOTO_POISON_SLOTS = '1';

const devices: Device[] = [];
afterEach(async () => {
  await Promise.all(devices.splice(0).map((device) => device.close()));
});

export const simulated =
  (linkBytesPerSecond = 0) =>
  () =>
    addon.openDevice({ name: 'CPU', threads: 1, simulateBytes: 2 ** 24, linkBytesPerSecond });

export async function opened(open: () => Promise<Device>): Promise<Device> {
  const device = await open();
  devices.push(device);
  return device;
}

export interface Part {
  stack: Stack;
  run(signal?: ReturnType<typeof addon.createCancelToken>): Promise<Buffer>;
  /** As if nothing had streamed. */
  expected: Buffer;
}

function compiled(device: Device, blocks: number): Omit<Part, 'expected'> {
  const stack = makeStack({ blocks, width: 32, rows: 2 });
  stack.store.bind(device);
  const recorder = addon.createRecorder();
  const { input } = stack.record(recorder);
  const graph = recorder.compile(device, device.createArena());
  const run: Part['run'] = async (signal) => {
    const outputs: TensorData[] = await graph.run({
      inputs: [[input, stack.input]],
      ...(signal && { signal }),
    });
    return bytesOf(outputs[0]!);
  };
  return { stack, run };
}

/** A component of which only the fixed part is placed. */
export async function streamed(device: Device, blocks = 5): Promise<Part> {
  // Links are slow where copies have to be on their way.
  const reference = device.simulated ? await simulated()() : device;
  const resident = compiled(reference, blocks);
  await placeAll(resident.stack.store);
  const expected = await resident.run();
  await resident.stack.store.dispose();
  if (reference !== device) await reference.close();
  const part = compiled(device, blocks);
  await part.stack.store.place(-1);
  return { ...part, expected };
}

/** What a run added to the counts; its output is compared. */
export async function counted(device: Device, part: Part, times = 1) {
  const before = device.streamerStats();
  for (let run = 0; run < times; run++) expect((await part.run()).equals(part.expected)).toBe(true);
  return since(device, before);
}

function since(device: Device, before: ReturnType<Device['streamerStats']>) {
  const after = device.streamerStats();
  const grew = (key: 'copies' | 'reused' | 'onTheSpot' | 'ahead' | 'wasted') => after[key] - before[key];
  return {
    copies: grew('copies'),
    onTheSpot: grew('onTheSpot'),
    ahead: grew('ahead'),
    reused: grew('reused'),
    wasted: grew('wasted'),
  };
}

export const slotsOf = (device: Device, part: Part, slots = 2, prefetch = true) =>
  device.setStreamer({ slots, slotBytes: part.stack.store.unitBytes(0), prefetch });

export const units = ({ stack }: Part, from = 0, to = stack.blocks) =>
  Array.from({ length: to - from }, (_, i) => [stack.store, from + i] as const);

/** Asked after what the device was told to do before: that has begun then. */
export const turn = (part: Part) => part.stack.store.unplace(0);
