import type { Addon, OpenDeviceOptions } from '../../native/addon.ts';
import { median } from './harness.ts';
import { layers, onSimulated, onVulkan, openRig, type Rig, type Shape } from './streamed-layers.ts';

/** Passes that are timed together. */
const inARow = 4;

interface Case {
  name: string;
  shape: Shape;
  open: OpenDeviceOptions;
  /** Components that run in turn. */
  stages: number;
  /** Of one pass; null: measured. */
  copyMs: number | null;
}

/**
 * Graphs of one pass each, all streamed, one after the other: the same component again and again, and two in turn.
 * Wall time of a pass against the larger of computing (C, a resident device in the same round) and copying (K), with
 * copies for the pass to come and without them.
 */
export async function copiedAhead(addon: Addon, wanted: string, rounds: number): Promise<void> {
  if (wanted !== 'vulkan') await onASimulatedLink(addon, rounds);
  const found = addon.devices().find(({ name }) => name.startsWith('Vulkan'));
  if (wanted === 'simulated' || found === undefined) return;
  const shape = { ...onVulkan, passes: 1 };
  for (const stages of [1, 2]) {
    const name = `${found.name}, ${stages === 1 ? 'passes in a row' : 'two stages in turn'}`;
    await race(addon, { name, shape, open: { name: found.name }, stages, copyMs: null }, rounds);
  }
}

async function onASimulatedLink(addon: Addon, rounds: number): Promise<void> {
  const shape = { ...onSimulated, passes: 1 };
  const open = { name: 'CPU', threads: 1, simulateBytes: 1024 * 2 ** 20 };
  const reference = await openRig(addon, { shape, open, resident: all });
  await several(reference);
  const computeMs = Math.min(await several(reference), await several(reference));
  await reference.close();
  for (const stages of [1, 2]) {
    for (const share of [0.5, 1, 2]) {
      const copyMs = computeMs * share;
      const linkBytesPerSecond = ((reference.unitBytes * layers) / copyMs) * 1000;
      const name = `simulated, ${stages === 1 ? 'passes in a row' : 'two stages in turn'}, K = ${share} C`;
      await race(addon, { name, shape, open: { ...open, linkBytesPerSecond }, stages, copyMs }, rounds);
    }
  }
}

const all = Array.from({ length: layers }, (_, unit) => unit);

async function several(rig: Rig): Promise<number> {
  const times: number[] = [];
  for (let pass = 0; pass < inARow; pass++) times.push(await rig.run());
  return times.reduce((sum, ms) => sum + ms, 0) / inARow;
}

async function race(
  addon: Addon,
  { name, shape, open, stages, copyMs }: Case,
  rounds: number,
): Promise<void> {
  const { linkBytesPerSecond: _, ...unpaced } = open;
  const reference = await openRig(addon, { shape, open: unpaced, resident: all, stages });
  const rig = await openRig(addon, { shape, open, resident: [], stages });
  const beyond = (beyondPass: boolean) =>
    rig.device.setStreamer({ slots: 2, slotBytes: rig.unitBytes, prefetch: true, beyondPass });
  const ratios = { with: [] as number[], without: [] as number[] };
  /** Against the run's own computing, which is what it took without waiting: others on the machine slow that as well. */
  const own = { with: [] as number[], without: [] as number[] };
  /** Milliseconds of a pass in which the device stood still for a copy. */
  const waits = { with: [] as number[], without: [] as number[] };
  const ks: number[] = [];
  const before = rig.device.streamerStats();
  let passes = 0;
  for (let round = -1; round < rounds; round++) {
    const computes = [await several(reference)];
    const k = copyMs ?? (await copyTime(rig, computes[0]!));
    const times: number[] = [];
    for (const beyondPass of [true, false]) {
      await beyond(beyondPass);
      // The order is learned, and the first unit is there or not.
      await rig.run();
      const { waitSeconds } = rig.device.streamerStats();
      const ms = await several(rig);
      const waited = rig.device.streamerStats().waitSeconds - waitSeconds;
      const waitMs = (waited * 1000) / inARow / rig.passes;
      const way = beyondPass ? 'with' : 'without';
      times.push(ms);
      if (round >= 0) {
        waits[way].push(waitMs);
        own[way].push(ms / Math.max(ms - waitMs, k));
      }
      computes.push(await several(reference));
    }
    if (round < 0) continue;
    passes += 2 * (inARow + 1) * rig.passes;
    const limit = (a: number, b: number) => Math.max((computes[a]! + computes[b]!) / 2, k);
    ks.push(k);
    ratios.with.push(times[0]! / limit(0, 1));
    ratios.without.push(times[1]! / limit(1, 2));
  }
  const { wasted, ahead } = rig.device.streamerStats();
  const line = (way: 'with' | 'without'): string =>
    `${median(ratios[way]).toFixed(3)} (${range(ratios[way])}; by its own computing ${median(own[way]).toFixed(3)}; ` +
    `waited ${median(waits[way]).toFixed(1)} ms)`;
  process.stdout.write(
    `${name}: K ${median(ks).toFixed(1)} ms; of max(C, K), median of ${rounds}: with copies for the pass to come ` +
      `${line('with')}, without ${line('without')}; ` +
      `${ahead - before.ahead} of ${passes} passes found their first unit, ${wasted - before.wasted} copies wasted\n`,
  );
  await rig.close();
  await reference.close();
}

const range = (values: number[]) => `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;

/** Without any overlap, a pass takes its computing and its copies. */
async function copyTime(rig: Rig, computeMs: number): Promise<number> {
  await rig.device.setStreamer({ slots: 1, slotBytes: rig.unitBytes, prefetch: false });
  return Math.max(0.01, (await several(rig)) - computeMs);
}
