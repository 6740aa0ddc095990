/** Whatever is asked of a component in whatever order: it computes what one computes that was never pinned. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Checkpoint, Device, NativeError, OpenDeviceOptions, WeightStore } from './addon.ts';
import { blocks, compile, matrix, names, openBlocks, storeOf } from './test-blocks.ts';
import { absentVulkan, addon, placeAll, vulkanName, vulkanRequired } from './test-support.ts';

// Slots hold NaN until their copy is whole: a kernel that reads too early cannot go unnoticed.
process.env.MIZUOTO_POISON_SLOTS = '1';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-pinning-model-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const simulate = { name: 'CPU', threads: 1, simulateBytes: 256 * 2 ** 20 };
const kinds = [
  { kind: 'a simulated device, by buffers', options: simulate },
  { kind: 'a simulated device, in place', options: { ...simulate, locksHostMemory: true } },
  { kind: 'Vulkan', options: { name: vulkanName ?? '' } },
] satisfies { kind: string; options: OpenDeviceOptions }[];

/** Whole numbers below `most`, the same for the same seed. */
function dice(seed: number): (most: number) => number {
  let state = seed * 2654435761 + 1;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

const fresh = Array.from({ length: 4 }, (_, i) => matrix(200 + i));

/** What a store computes, by what was replaced in it. One that is only placed says it. */
class Expected {
  readonly #known = new Map<string, Buffer>();
  readonly #device: Device;
  readonly #checkpoint: Checkpoint;

  constructor(device: Device, checkpoint: Checkpoint) {
    this.#device = device;
    this.#checkpoint = checkpoint;
  }

  async of(replaced: ReadonlyMap<string, number>): Promise<Buffer> {
    const key = [...replaced].sort().join();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const plain = storeOf(this.#checkpoint, 'plain');
    for (const [name, i] of replaced) await plain.replace(name, fresh[i]!);
    plain.bind(this.#device);
    await placeAll(plain);
    const values = await compile(this.#device, plain)();
    await plain.dispose();
    this.#known.set(key, values);
    return values;
  }
}

interface Subject {
  store: WeightStore;
  device: Device;
  run: ReturnType<typeof compile>;
  replaced: Map<string, number>;
}

/** Faults that were ordered, and cancelled runs. */
const allowed = new Set(['DeviceLost', 'Cancelled', 'OutOfDeviceMemory']);

async function play(options: OpenDeviceOptions, checkpoint: Checkpoint, seed: number): Promise<void> {
  const roll = dice(seed);
  const devices = [await addon.openDevice(options), await addon.openDevice(options)];
  const expected = devices.map((device) => new Expected(device, checkpoint));
  const told: string[] = [];
  const make = (device: Device): Subject => {
    const store = storeOf(checkpoint, `blocks${told.length}`);
    store.bind(device);
    return { store, device, run: compile(device, store), replaced: new Map() };
  };
  const subjects = [make(devices[0]!), make(devices[0]!), make(devices[1]!)];

  const attempt = async (work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (!allowed.has((error as NativeError).code)) throw error;
    }
  };
  const slots = async (device: Device) => {
    const count = 1 + roll(3);
    const slotBytes = subjects[0]!.store.unitBytes(0);
    await device.setStreamer({ slots: count, slotBytes, prefetch: count > 1 && roll(3) > 0 });
  };
  for (const device of devices) await slots(device);

  /** Starts something, and resolves when it has ended. Only where nothing runs beside it do faults hit the one meant. */
  const act = async (subject: Subject, alone: boolean): Promise<void> => {
    const { store, device, run, replaced } = subject;
    const unit = roll(blocks);
    const kind = roll(alone ? 13 : 12);
    told.push(`${subjects.indexOf(subject)}:${kind}/${unit}`);
    if (kind <= 1) {
      const bytes = await store.pin(unit);
      expect([0, store.unitBytes(unit)]).toContain(bytes);
    } else if (kind === 2) store.unpin(unit);
    else if (kind <= 4) await attempt(store.place(unit));
    else if (kind <= 6) await store.unplace(unit);
    else if (kind === 7) await store.dropHost(unit);
    else if (kind === 8) {
      const name = `${unit}.${names[roll(names.length)]!}`;
      const values = roll(fresh.length);
      replaced.set(name, values);
      await store.replace(name, fresh[values]!);
    } else if (kind === 9) await slots(device);
    else if (kind === 10)
      device.expectUnits([
        [store, unit],
        [subjects[roll(subjects.length)]!.store, roll(blocks)],
      ]);
    else if (kind === 11) {
      const cancel = addon.createCancelToken();
      const running = attempt(run(cancel));
      cancel.cancel();
      await running;
    } else {
      device.setFaults(roll(2) > 0 ? { failCopy: 1 + roll(6) } : { failAllocation: 1 + roll(2) });
      await attempt(store.place(unit));
      device.setFaults(null);
    }
  };
  const check = async ({ run, device, replaced }: Subject): Promise<void> => {
    const [got, wanted] = [await run(), await expected[devices.indexOf(device)]!.of(replaced)];
    if (!got.equals(wanted)) throw new Error('Other values.');
  };

  try {
    for (let step = 0; step < 24; step++) {
      const subject = subjects[roll(subjects.length)]!;
      const what = roll(12);
      if (what < 5) await act(subject, true);
      else if (what < 8) {
        // All at once: of one component in this order, of several side by side.
        const others = Array.from({ length: 5 }, () => subjects[roll(2) > 0 ? roll(subjects.length) : 0]!);
        await Promise.all(others.map((other) => act(other, false)));
      } else if (what < 11) await check(subject);
      else {
        // To another device, or anew.
        const index = subjects.indexOf(subject);
        told.push(`${index}:moves`);
        if (roll(2) > 0) {
          await subject.store.dispose();
          subjects[index] = make(devices[roll(2)]!);
          continue;
        }
        for (let unit = 0; unit < blocks; unit++) {
          await subject.store.unplace(unit);
          subject.store.unpin(unit);
        }
        subject.device = devices[roll(2)]!;
        subject.store.bind(subject.device);
        subject.run = compile(subject.device, subject.store);
      }
    }
    for (const subject of subjects) {
      await check(subject);
      const { store } = subject;
      let owned = 0;
      for (let unit = 0; unit < blocks; unit++) owned += store.ownedBytes(unit);
      expect(store.ownedHostBytes).toBeGreaterThanOrEqual(0);
      expect(store.ownedHostBytes).toBeLessThanOrEqual(owned);
      if (roll(2) > 0) await store.dispose();
    }
    for (const { store } of subjects) await attempt(store.dispose());
    for (const device of devices) expect(device.memory().held.weights).toBe(0);
  } catch (error) {
    throw new Error(`Seed ${seed}, after ${told.join(' ')}: ${(error as Error).message}`, { cause: error });
  } finally {
    for (const device of devices) await device.close();
  }
}

describe.each(kinds)('on $kind', ({ kind, options }) => {
  const skipped = kind === 'Vulkan' && vulkanName === null && !vulkanRequired;

  it('any order gives the same values', async (context) => {
    if (skipped) context.skip(absentVulkan);
    const checkpoint = await openBlocks(join(folder, `${kind.replace(/\W/g, '')}.safetensors`));
    const seeds = Number(process.env.MIZUOTO_PIN_SEEDS ?? 6);
    const first = Number(process.env.MIZUOTO_PIN_SEED ?? 1);
    for (let seed = first; seed < first + seeds; seed++) await play(options, checkpoint, seed);
  }, 600_000);
});
