/** Copies that begin before the pass that wants them: learned, told, and what becomes of wrong ones. */
import { describe, expect, it } from 'vitest';
import type { Device } from './addon.ts';
import { counted, opened, type Part, simulated, slotsOf, streamed, turn, units } from './ahead-support.ts';
import {
  absentVulkan,
  addon,
  failureCode,
  makeStack,
  placeAll,
  vulkanName,
  vulkanRequired,
} from './test-support.ts';

function onEvery(name: string, test: (open: () => Promise<Device>) => Promise<void>): void {
  it(`${name} (simulated)`, () => test(simulated()));
  it.skipIf(vulkanName === null && !vulkanRequired)(`${name} (Vulkan)`, () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    return test(() => addon.openDevice({ name: vulkanName! }));
  });
}

describe('passes that repeat', () => {
  onEvery('each finds its first unit in a slot', async (open) => {
    const device = await opened(open);
    const part = await streamed(device);
    for (const slots of [2, 3, 4]) {
      await device.setStreamer(null);
      await slotsOf(device, part, slots);
      expect(await counted(device, part)).toMatchObject({ onTheSpot: slots === 2 ? 1 : expect.any(Number) });
      for (let round = 0; round < 4; round++) {
        const { onTheSpot, ahead, copies, reused, wasted } = await counted(device, part);
        expect([onTheSpot, ahead, wasted]).toEqual([0, 1, 0]);
        expect(copies + reused).toBe(5);
      }
    }
  });

  onEvery('from page-locked memory that goes meanwhile', async (open) => {
    const device = await opened(open);
    const part = await streamed(device);
    await slotsOf(device, part);
    for (let round = 0; round < 4; round++) {
      await part.stack.store.pin(0);
      expect((await part.run()).equals(part.expected)).toBe(true);
      part.stack.store.unpin(0);
    }
    // At most the copy that reads that memory is made again.
    expect(device.streamerStats().wasted).toBeLessThanOrEqual(3);
  });

  it('each copies its first unit itself where nothing is to be copied beyond a pass', async () => {
    const device = await opened(simulated());
    const part = await streamed(device);
    const slotBytes = part.stack.store.unitBytes(0);
    await device.setStreamer({ slots: 2, slotBytes, prefetch: true, beyondPass: false });
    for (let round = 0; round < 3; round++) {
      device.expectUnits(units(part));
      expect(await counted(device, part)).toMatchObject({ copies: 5, onTheSpot: 1, ahead: 0, wasted: 0 });
    }
  });

  it('one slot, or none for copying ahead: nothing is copied before it is wanted', async () => {
    const device = await opened(simulated());
    const part = await streamed(device);
    for (const slots of [1, 2]) {
      await slotsOf(device, part, slots, false);
      device.expectUnits(units(part));
      expect(await counted(device, part, 3)).toMatchObject({ ahead: 0, wasted: 0 });
    }
  });
});

describe('graphs that follow one another', () => {
  onEvery('the order is learned after one round', async (open) => {
    const device = await opened(open);
    const [a, b] = [await streamed(device), await streamed(device)];
    await slotsOf(device, a);
    // Each was taken to repeat.
    await counted(device, a);
    await counted(device, b);
    await counted(device, a);
    for (let round = 0; round < 3; round++) {
      for (const part of [b, a]) {
        expect(await counted(device, part)).toMatchObject({ onTheSpot: 0, ahead: 1, wasted: 0 });
      }
    }
  });

  it('the last of several passes is told from the others', async () => {
    const device = await opened(simulated());
    const [steps, after] = [await streamed(device), await streamed(device)];
    await slotsOf(device, steps);
    const round = async () => {
      const first = await counted(device, steps, 4);
      const last = await counted(device, after);
      return { onTheSpot: first.onTheSpot + last.onTheSpot, wasted: first.wasted + last.wasted };
    };
    const learning = [await round(), await round(), await round()];
    // Every wrong guess is one copy, and is made once.
    expect(learning.reduce((sum, { wasted }) => sum + wasted, 0)).toBeLessThanOrEqual(4);
    for (let again = 0; again < 3; again++) expect(await round()).toEqual({ onTheSpot: 0, wasted: 0 });
    // Another number of steps is learned as well.
    await counted(device, steps, 7);
    await counted(device, after);
    await counted(device, steps, 7);
    await counted(device, after);
    const { onTheSpot } = await counted(device, steps, 7);
    expect(onTheSpot).toBe(0);
  });

  it('keeps the units of the next graph, where there are slots for them', async () => {
    const device = await opened(simulated());
    const [a, b] = [await streamed(device, 3), await streamed(device, 3)];
    await slotsOf(device, a, 6);
    for (let round = 0; round < 2; round++) for (const part of [a, b]) await counted(device, part);
    for (const part of [a, b, a, b]) {
      expect(await counted(device, part)).toMatchObject({ copies: 0, reused: 3, wasted: 0 });
    }
  });
});

describe('units that are told', () => {
  onEvery('come up at once on an idle device, and within the last pass of a busy one', async (open) => {
    const device = await opened(open);
    const [a, b] = [await streamed(device), await streamed(device)];
    await slotsOf(device, a);
    device.expectUnits([...units(a), ...units(b)]);
    await turn(a);
    expect(device.streamerStats().copies).toBe(2);
    expect(await counted(device, a)).toMatchObject({ onTheSpot: 0, ahead: 2 });
    expect(await counted(device, b)).toMatchObject({ onTheSpot: 0, ahead: 1 });
    expect(device.streamerStats()).toMatchObject({ onTheSpot: 0, wasted: 0 });
  });

  onEvery('while a component that is whole computes', async (open) => {
    const device = await opened(open);
    const [whole, next] = [await streamed(device), await streamed(device)];
    await placeAll(whole.stack.store);
    await slotsOf(device, next);
    for (let round = 0; round < 3; round++) {
      device.expectUnits(units(next));
      await counted(device, whole);
      expect(await counted(device, next)).toMatchObject({ onTheSpot: 0, wasted: 0 });
    }
  });

  it('never in the place of what was learned to come', async () => {
    const device = await opened(simulated());
    const [a, other] = [await streamed(device), await streamed(device)];
    await slotsOf(device, a);
    await counted(device, a, 3);
    device.expectUnits(units(other));
    // Passes of the same component were learned to follow.
    for (let round = 0; round < 3; round++) {
      expect(await counted(device, a)).toMatchObject({ onTheSpot: 0, ahead: 1 });
    }
    // What was told had one slot, and lost it to the first of those passes; nobody tried again.
    expect(device.streamerStats().wasted).toBe(1);
  });

  it('that misled are not copied again before they proved right', async () => {
    const device = await opened(simulated());
    const [a, b, c] = [await streamed(device), await streamed(device), await streamed(device)];
    await slotsOf(device, a);
    const round = async (told: Part, comes: Part) => {
      const before = device.streamerStats();
      device.expectUnits(units(told));
      await turn(told);
      const begun = device.streamerStats().copies - before.copies;
      await comes.run();
      return begun;
    };
    expect(await round(b, c)).toBeGreaterThan(0);
    for (let again = 0; again < 3; again++) expect(await round(b, c)).toBe(0);
    await round(b, b);
    expect(await round(b, b)).toBeGreaterThan(0);
  });

  it('are taken back', async () => {
    // A copy takes an eighth of a second.
    const device = await opened(simulated(2 ** 16));
    const part = await streamed(device);
    await slotsOf(device, part);
    device.expectUnits(units(part));
    await turn(part);
    expect(device.streamerStats().copies).toBe(2);
    device.expectUnits([]);
    await turn(part);
    expect(device.streamerStats().wasted).toBe(2);
    device.expectUnits([]);
    expect(await counted(device, part)).toMatchObject({ onTheSpot: 1, ahead: 0 });
  });

  it.each([
    ['no list', null],
    ['no pairs', [1]],
    ['no store', [[{}, 0]]],
    ['no unit', [['store']]],
  ])('refuses %s', async (_, wrong) => {
    const device = await opened(simulated());
    expect(await failureCode(() => device.expectUnits(wrong as unknown as []))).toBe('InvalidArgument');
  });

  it('refuses units that are not there; on lost and closed devices nothing happens', async () => {
    const device = await opened(simulated());
    const part = await streamed(device);
    for (const unit of [-1, 5]) {
      expect(await failureCode(() => device.expectUnits([[part.stack.store, unit]]))).toBe('InvalidArgument');
    }
    await slotsOf(device, part);
    device.setFaults({ loseAtSegment: 1 });
    expect(await failureCode(() => part.run())).toBe('DeviceLost');
    const { copies } = device.streamerStats();
    for (const told of [units(part), []]) device.expectUnits(told);
    await device.close();
    for (const told of [units(part), []]) device.expectUnits(told);
    expect(device.streamerStats().copies).toBe(copies);
  });

  it('leaves out what no slot holds, what is bound elsewhere, and what is there', async () => {
    const device = await opened(simulated());
    const part = await streamed(device);
    await device.setStreamer({ slots: 2, slotBytes: part.stack.store.unitBytes(0) - 1, prefetch: true });
    const tell = async () => {
      device.expectUnits(units(part));
      await turn(part);
      return device.streamerStats().copies;
    };
    expect(await tell()).toBe(0);
    await slotsOf(device, part);
    await part.stack.store.place(0);
    device.expectUnits([[part.stack.store, 0]]);
    await part.stack.store.place(-1);
    expect(device.streamerStats().copies).toBe(0);
    const elsewhere = makeStack({ blocks: 2, width: 32, rows: 1 });
    device.expectUnits([[elsewhere.store, 0]]);
    await part.stack.store.place(-1);
    elsewhere.store.bind(await opened(simulated()));
    device.expectUnits([[elsewhere.store, 0]]);
    await part.stack.store.place(-1);
    expect(device.streamerStats().copies).toBe(0);
  });
});
