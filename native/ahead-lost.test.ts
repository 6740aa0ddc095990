/** Units that were copied ahead, and what happens before they are wanted: changes, faults, cancel, the end. */
import { describe, expect, it } from 'vitest';
import { counted, opened, simulated, slotsOf, streamed, turn, units } from './ahead-support.ts';
import { absentVulkan, addon, placeAll, vulkanName, vulkanRequired } from './test-support.ts';

describe('units that were copied ahead', () => {
  /** The first two are in slots. */
  async function ahead(linkBytesPerSecond = 0) {
    const device = await opened(simulated(linkBytesPerSecond));
    const part = await streamed(device);
    await slotsOf(device, part);
    device.expectUnits(units(part));
    await turn(part);
    expect(device.streamerStats().copies).toBe(2);
    return { device, part };
  }

  // A copy takes an eighth of a second on the slow link: it is on its way then.
  it.each([0, 2 ** 16])('have the new values after `replace` (link %i)', async (link) => {
    const { device, part } = await ahead(link);
    const values = new Float32Array(32 * 32).fill(0.1);
    await part.stack.store.replace('blocks.0.up.weight', values);
    expect(device.streamerStats().wasted).toBe(1);
    const streamedBytes = await part.run();
    expect(streamedBytes.equals(part.expected)).toBe(false);
    await placeAll(part.stack.store);
    expect((await part.run()).equals(streamedBytes)).toBe(true);
  });

  it.each([0, 2 ** 16])('go when their unit is placed (link %i)', async (link) => {
    const { device, part } = await ahead(link);
    await part.stack.store.place(0);
    expect(device.streamerStats().wasted).toBe(1);
    expect((await part.run()).equals(part.expected)).toBe(true);
  });

  it.each([0, 2 ** 16])('go with their component (link %i)', async (link) => {
    const { device, part } = await ahead(link);
    await part.stack.store.unplace(-1);
    expect(device.streamerStats().wasted).toBe(2);
    await part.stack.store.place(-1);
    expect(await counted(device, part)).toMatchObject({ onTheSpot: 1, ahead: 0 });
  });

  it.each([0, 2 ** 16])('go when it is disposed of (link %i)', async (link) => {
    const { device, part } = await ahead(link);
    const other = await streamed(device);
    await part.stack.store.dispose();
    expect(device.streamerStats().wasted).toBe(2);
    expect((await other.run()).equals(other.expected)).toBe(true);
  });

  it.each([0, 2 ** 16])('go when it moves to another device (link %i)', async (link) => {
    const { device, part } = await ahead(link);
    const there = await opened(simulated());
    await part.stack.store.unplace(-1);
    part.stack.store.bind(there);
    await part.stack.store.replace('blocks.0.up.weight', new Float32Array(32 * 32));
    await device.setStreamer(null);
    expect(device.streamerStats()).toMatchObject({ ahead: 0, wasted: 2 });
    expect(device.memory().held.slots).toBe(0);
  });

  it('go with the slots, and stay when there are more or fewer of the same size', async () => {
    const { device, part } = await ahead();
    await slotsOf(device, part, 4);
    await slotsOf(device, part, 2);
    await slotsOf(device, part, 2, false);
    await slotsOf(device, part, 3);
    expect(device.streamerStats()).toMatchObject({ copies: 2, wasted: 0 });
    expect(device.memory().held.slots).toBe(3 * part.stack.store.unitBytes(0));
    expect(await counted(device, part)).toMatchObject({ onTheSpot: 0, ahead: 2 });
    const { wasted } = device.streamerStats();
    await device.setStreamer(null);
    expect(device.streamerStats().wasted).toBe(wasted + 1);
  });

  it('are stopped by a pass that does not want them', async () => {
    // A copy takes a quarter of a second.
    const { device, part } = await ahead(2 ** 15);
    const other = await streamed(device, 1);
    expect(await counted(device, other)).toMatchObject({ onTheSpot: 1, ahead: 0, wasted: 2 });
    expect((await part.run()).equals(part.expected)).toBe(true);
  });

  it('end with the device', async () => {
    // A copy takes eight seconds.
    const { device } = await ahead(2 ** 10);
    await device.close();
    expect(device.memory().held).toMatchObject({ slots: 0, weights: 0 });
  });
});

describe('faults', () => {
  it('at any copy ahead fail no pass, and are made good', async () => {
    for (let failCopy = 1; failCopy <= 4; failCopy++) {
      const device = await opened(simulated());
      const part = await streamed(device);
      await slotsOf(device, part);
      // Two pieces for each unit.
      device.setFaults({ failCopy });
      device.expectUnits(units(part));
      await turn(part);
      expect(await counted(device, part)).toMatchObject({ onTheSpot: 1, ahead: 1, wasted: 1 });
      expect(await counted(device, part)).toMatchObject({ onTheSpot: 0, ahead: 1 });
    }
  });

  it('in the copy for the pass to come', async () => {
    const device = await opened(simulated());
    const part = await streamed(device);
    await slotsOf(device, part);
    // The pass takes ten pieces; the eleventh is the next one's.
    device.setFaults({ failCopy: 11 });
    expect(await counted(device, part)).toMatchObject({ onTheSpot: 1, ahead: 0, wasted: 0 });
    expect(await counted(device, part)).toMatchObject({ onTheSpot: 1, ahead: 0, wasted: 1 });
    expect(await counted(device, part)).toMatchObject({ onTheSpot: 0, ahead: 1 });
  });

  it.skipIf(vulkanName === null && !vulkanRequired)('of Vulkan, at any copy ahead', async () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    for (let failCopy = 1; failCopy <= 4; failCopy++) {
      const device = await opened(() => addon.openDevice({ name: vulkanName! }));
      const part = await streamed(device);
      await slotsOf(device, part);
      device.setFaults({ failCopy });
      device.expectUnits(units(part));
      await turn(part);
      device.setFaults(null);
      expect((await part.run()).equals(part.expected)).toBe(true);
      expect((await part.run()).equals(part.expected)).toBe(true);
    }
  });

  it('a pass that fails leaves no copy on its way', async () => {
    const device = await opened(simulated());
    const [a, b] = [await streamed(device), await streamed(device)];
    await slotsOf(device, a);
    await counted(device, a, 2);
    for (let failCopy = 1; failCopy <= 8; failCopy++) {
      device.expectUnits([...units(a), ...units(b)]);
      device.setFaults({ failCopy });
      const outcome = await a.run().catch((error: { code: string }) => error.code);
      device.setFaults(null);
      if (outcome !== 'DeviceLost') expect((outcome as Buffer).equals(a.expected)).toBe(true);
      expect((await a.run()).equals(a.expected)).toBe(true);
      expect((await b.run()).equals(b.expected)).toBe(true);
    }
  });

  it('cancelled: what was copied ahead stays right', async () => {
    const device = await opened(simulated(2 ** 17));
    const part = await streamed(device);
    await slotsOf(device, part);
    await counted(device, part);
    for (let round = 0; round < 4; round++) {
      const token = addon.createCancelToken();
      const running = part.run(token).catch((error: { code: string }) => error.code);
      await new Promise((resolve) => setTimeout(resolve, 20 + 50 * round));
      token.cancel();
      expect(await running).toBe('Cancelled');
      expect((await part.run()).equals(part.expected)).toBe(true);
    }
  });
});
