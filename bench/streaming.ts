import { availableParallelism, loadavg } from 'node:os';
import { passTime } from '../main/memory/planner/pipeline.ts';
import { spreadEvenly } from '../main/memory/planner/spread.ts';
import { loadAddon } from '../native/load.ts';
import { median, option } from './lib/harness.ts';
import { copiedAhead } from './lib/passes-in-a-row.ts';
import { layers, onSimulated, onVulkan, openRig, type Rig } from './lib/streamed-layers.ts';

/**
 * Wall time of a streamed oneshot pass against the larger of pure compute (C) and pure copy time (K). No schedule beats
 * max(C, K); goal: within 10 % where the device has a copy engine of its own.
 *
 *   npm run bench -- streaming [--device simulated|vulkan|all] [--rounds N]
 *
 * Simulated devices have a link of a given speed, so that overlap shows without a GPU; the pipeline model's prediction
 * stands beside it. Vulkan copies as it can, and K is measured by a run that never copies ahead. A software device
 * computes and copies on the same cores and the same queue: there C + K is the bound, and is shown too.
 * Others who use the machine disturb: each streamed run is compared with the resident runs before and after it, and
 * with its own computing, which is what it took without waiting for copies.
 *
 * Then passes that are graphs of their own, and two stages in turn: with and without copies for the pass to come.
 */
const addon = loadAddon();
const rounds = Number(option('rounds', '9'));
const all = Array.from({ length: layers }, (_, unit) => unit);
const half = spreadEvenly(all, layers / 2);

interface Case {
  name: string;
  resident: readonly number[];
  computeMs: number;
  copyMs: number;
}

/** Resident, streamed, resident, streamed, ...: what a streamed run takes in units of the resident ones around it. */
async function race(reference: Rig, rig: Rig, { name, resident, copyMs, ...rest }: Case): Promise<void> {
  await rig.run();
  const before = rig.device.streamerStats();
  const ratios: number[] = [];
  const sums: number[] = [];
  /** Against the streamed run's own computing: its time without what it waited for copies. */
  const own: number[] = [];
  const times: number[] = [];
  const computes: number[] = [];
  let c = await reference.run();
  for (let round = 0; round < rounds; round++) {
    const waited = rig.device.streamerStats().waitSeconds;
    const ms = await rig.run();
    const waitMs = ((rig.device.streamerStats().waitSeconds - waited) * 1000) / rig.passes;
    const next = await reference.run();
    const compute = (c + next) / 2;
    c = next;
    computes.push(compute);
    times.push(ms);
    ratios.push(ms / Math.max(compute, copyMs));
    sums.push(ms / (compute + copyMs));
    own.push(ms / Math.max(ms - waitMs, copyMs));
  }
  const after = rig.device.streamerStats();
  const compute = Math.min(rest.computeMs, ...computes);
  const onTheSpot = (after.onTheSpot - before.onTheSpot) / rounds;
  const copies = (after.copies - before.copies) / rounds;
  const model = passTime(
    {
      computeMs: all.map(() => compute / layers),
      copyMs: all.map(() => copyMs / (layers - resident.length)),
      streamed: all.map((unit) => Number(!resident.includes(unit))),
    },
    { count: 2, prefetch: true },
  );
  const best = Math.min(...times);
  process.stdout.write(
    `${name}: C ${compute.toFixed(1)} ms, K ${copyMs.toFixed(1)} ms; best ${best.toFixed(1)} ms, ` +
      `${(best / Math.max(compute, copyMs)).toFixed(3)} of max(C, K), median ${median(ratios).toFixed(3)} ` +
      `(of C + K: ${median(sums).toFixed(3)}; by its own computing: ${median(own).toFixed(3)}); model ${model.toFixed(1)} ms; ` +
      `${onTheSpot.toFixed(1)} of ${copies.toFixed(0)} copies on the spot\n`,
  );
}

/** The least of a few runs: others who use the machine only ever make it slower. */
async function least(rig: Rig, runs: number): Promise<number> {
  let ms = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) ms = Math.min(ms, await rig.run());
  return ms;
}

async function simulated(): Promise<void> {
  const device = { name: 'CPU', threads: 1, simulateBytes: 256 * 2 ** 20 };
  const reference = await openRig(addon, { shape: onSimulated, open: device, resident: all });
  await reference.run();
  const computeMs = await least(reference, 5);
  for (const [name, resident, share] of [
    ['all streamed, K = C', [], 1],
    ['all streamed, K = 1.1 C', [], 1.1],
    ['all streamed, K = 0.9 C', [], 0.9],
    ['all streamed, K = 2 C', [], 2],
    ['all streamed, K = C / 2', [], 0.5],
    ['half streamed, spread evenly, K = C / 2', half, 0.5],
  ] as const) {
    const copyMs = computeMs * share;
    const linkBytesPerSecond = ((reference.unitBytes * (layers - resident.length)) / copyMs) * 1000;
    const rig = await openRig(addon, {
      shape: onSimulated,
      open: { ...device, linkBytesPerSecond },
      resident,
    });
    await race(reference, rig, { name: `simulated, ${name}`, resident, computeMs, copyMs });
    await rig.close();
  }
  await reference.close();
}

async function vulkan(): Promise<void> {
  const found = addon.devices().find(({ name }) => name.startsWith('Vulkan'));
  if (found === undefined) {
    process.stdout.write(
      'Vulkan: there is no device here (a software one wants GGML_VK_VISIBLE_DEVICES=0).\n',
    );
    return;
  }
  process.stdout.write(`${found.name}: ${found.description}\n`);
  const device = { name: found.name };
  const reference = await openRig(addon, { shape: onVulkan, open: device, resident: all });
  await reference.run();
  const computeMs = await least(reference, 3);
  for (const [name, resident] of [
    ['all streamed', []],
    ['half streamed, spread evenly', half],
  ] as const) {
    // One slot: each copy waits for the product before it, and nothing else happens meanwhile.
    const alone = await openRig(addon, {
      shape: onVulkan,
      open: device,
      resident,
      slots: { count: 1, prefetch: false },
    });
    await alone.run();
    const oneAfterTheOther = await least(alone, 3);
    await alone.close();
    const copyMs = Math.max(0.01, oneAfterTheOther - computeMs);
    const rig = await openRig(addon, { shape: onVulkan, open: device, resident });
    await race(reference, rig, { name: `${found.name}, ${name}`, resident, computeMs, copyMs });
    await rig.close();
  }
  await reference.close();
}

const wanted = option('device', 'all');
process.stdout.write(
  `${rounds} rounds each; load of this machine: ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores\n`,
);
if (wanted !== 'vulkan') await simulated();
if (wanted !== 'simulated') await vulkan();
await copiedAhead(addon, wanted, rounds);
