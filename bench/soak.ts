/**
 * Hundreds of requests over mixed engines on a simulated device, two at a time: limits, modes, settings and other
 * programs change, allocations fail, and one request in four is cancelled somewhere. Every sound that comes out must be
 * that of the plain processor, and nothing may stay behind: not on the device, not in the heap.
 *
 *   npm run bench -- soak [--requests N] [--seed N]
 *
 * Ends with 1 where a sample differs, something leaks, or memory grows.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Settings, StudioError, settingSchemas } from '../main/contract/index.ts';
import { defaultSettings } from '../main/contract/settings.ts';
import { Random } from '../main/nn/random.ts';
import { RuntimeService } from '../main/runtime/index.ts';
import type { Device } from '../native/addon.ts';
import { loadAddon } from '../native/load.ts';
import { option } from './lib/harness.ts';
import { type Speaker, soakSpeakers } from './lib/soak-speakers.ts';
import { Trend } from './lib/trend.ts';

const requests = Number(option('requests', '500'));
const seed = Number(option('seed', '1'));
/** Requests between two looks at the memory, with everything unloaded. */
const batch = 25;
const lanes = 2;
const MiB = 2 ** 20;
/** Growth over the second half that counts as none: the collector's and the allocator's own rhythm, MiB. */
const allowed = { heap: 4, rss: 40 } as const;

const addon = loadAddon();
const base: Settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1 };

type Outcome =
  | { kind: 'sound'; sha256: string; retries: number; streamed: boolean }
  | { kind: 'cancelled'; phase: string }
  | { kind: 'no memory'; message: string };

interface Request {
  id: string;
  speaker: Speaker;
  seed: number;
  policy: Partial<Settings>;
  /** When to cancel: at the n-th sign of progress, or after so many milliseconds. */
  cancel: { progress: number } | { ms: number } | null;
}

async function speak(runtime: RuntimeService, request: Request): Promise<Outcome> {
  const abort = new AbortController();
  const settings = { ...runtime.settings, ...request.policy };
  let phase = 'loading the model';
  let signs = 0;
  let timer: NodeJS.Timeout | undefined;
  const { cancel } = request;
  if (cancel !== null && 'ms' in cancel) timer = setTimeout(() => abort.abort(), cancel.ms);
  let cancelledIn: string | null = null;
  abort.signal.addEventListener('abort', () => {
    cancelledIn = phase;
  });
  const book = await runtime.deviceFor(runtime.settings);
  try {
    const lease = await runtime.acquire(request.speaker.model, book, abort.signal);
    try {
      phase = 'waiting';
      const context = runtime.startRequest({
        id: request.id,
        book,
        settings,
        signal: abort.signal,
        onProgress: ({ stage, state }) => {
          phase = `${state === 'loading' ? 'placing' : 'running'} ${stage ?? 'between stages'}`;
          if (cancel !== null && 'progress' in cancel && ++signs === cancel.progress) abort.abort();
        },
      });
      const sha256 = await request.speaker.speak(lease, request.seed, context);
      const retries = context.applied.oom_retries;
      return {
        kind: 'sound',
        sha256,
        retries: typeof retries === 'number' ? retries : 0,
        streamed: context.report().streamed_mb > 0,
      };
    } finally {
      lease.release();
    }
  } catch (error) {
    if (abort.signal.aborted) return { kind: 'cancelled', phase: cancelledIn ?? phase };
    const code = (error as { code?: unknown }).code;
    if (code === 'OutOfDeviceMemory' || code === 'out_of_device_memory') {
      return { kind: 'no memory', message: (error as Error).message };
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function draw(random: Random, speakers: readonly Speaker[], id: string, totalMb: number): Request {
  const any = <T>(values: readonly T[]): T => values[random.integer(values.length)]!;
  const speaker = any(speakers);
  const chance = (share: number): boolean => random.uniform() < share;
  const policy: Partial<Settings> = {
    'compute.vram_mode': any(['auto', 'auto', 'normal', 'low', 'none', 'high', 'shared']),
    'compute.vram_limit_mb': chance(0.5) ? 1 + random.integer(Math.ceil(totalMb)) : null,
    'compute.async_offload': random.integer(4),
    'compute.residency': any(settingSchemas['compute.residency'].unwrap().options),
    'compute.host_copies': any(settingSchemas['compute.host_copies'].unwrap().options),
    'compute.max_pinned_mb': chance(0.3) ? random.integer(8) : null,
  };
  const kind = random.uniform();
  const cancel =
    kind < 0.15
      ? { progress: 1 + random.integer(24) }
      : kind < 0.28
        ? { ms: random.integer(speaker.typicalMs) }
        : null;
  return { id, speaker, seed: any(speaker.seeds), policy, cancel };
}

const heldBytes = (device: Device): number =>
  Object.values(device.memory().held).reduce((sum, bytes) => sum + bytes, 0);

function rssMiB(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss() / MiB;
}

async function expectedSounds(speakers: readonly Speaker[]): Promise<Map<string, string>> {
  const runtime = await RuntimeService.open({ addon, settings: base, cacheFolder: null });
  const expected = new Map<string, string>();
  try {
    for (const speaker of speakers) {
      const began = performance.now();
      for (const one of speaker.seeds) {
        const id = `${speaker.name} ${one}`;
        const outcome = await speak(runtime, { id, speaker, seed: one, policy: {}, cancel: null });
        if (outcome.kind !== 'sound') throw new Error(`${id} is not spoken by the processor.`);
        expected.set(id, outcome.sha256);
      }
      speaker.typicalMs = Math.ceil(20 + (performance.now() - began) / speaker.seeds.length);
      await runtime.unload(speaker.model.id);
    }
  } finally {
    await runtime.close();
  }
  return expected;
}

async function soak(folder: string): Promise<string[]> {
  const problems: string[] = [];
  const speakers = await soakSpeakers(addon, folder);
  const expected = await expectedSounds(speakers);
  const different = new Set(expected.values()).size;
  process.stdout.write(
    `${speakers.length} models (${speakers.map(({ name }) => name).join('; ')}), ${different} different sounds\n`,
  );
  // Less than the models have together, and than the largest two at once.
  const sizeMb = 8;
  const runtime = await RuntimeService.open({
    addon,
    settings: {
      ...base,
      'compute.simulate_vram_mb': sizeMb,
      'compute.vram_reserve_mb': 0,
      'compute.gpu_jobs': lanes,
      'compute.max_resident_models': 3,
      'compute.oom_retry': true,
    },
    cacheFolder: null,
    checkAlways: true,
  });
  const { device } = await runtime.deviceFor();
  const random = new Random(seed);
  const heap = new Trend();
  const rss = new Trend();
  const phases = new Map<string, number>();
  const count = { sound: 0, cancelled: 0, 'no memory': 0, retried: 0, streamed: 0 };
  const began = performance.now();
  let done = 0;

  const lane = async (end: number): Promise<void> => {
    while (done < end) {
      const request = draw(random, speakers, `request ${++done}`, sizeMb);
      if (random.uniform() < 0.3) device.setForeignBytes(random.integer(Math.floor(0.4 * sizeMb * MiB)));
      const fault = random.uniform();
      if (fault < 0.1) device.setFaults({ failAllocation: 1 + random.integer(12) });
      // As when a backend's own scratch memory runs out in the middle: the stage is repeated.
      else if (fault < 0.2) device.setFaults({ exhaustAtSegment: 1 + random.integer(20) });
      const outcome = await speak(runtime, request);
      count[outcome.kind]++;
      const { speaker } = request;
      if (outcome.kind === 'cancelled') phases.set(outcome.phase, (phases.get(outcome.phase) ?? 0) + 1);
      else if (outcome.kind === 'sound') {
        if (outcome.retries > 0) count.retried++;
        if (outcome.streamed) count.streamed++;
        if (outcome.sha256 !== expected.get(`${speaker.name} ${request.seed}`)) {
          problems.push(
            `${request.id} (${speaker.name}, seed ${request.seed}) differs: ${JSON.stringify(request.policy)}`,
          );
        }
      }
    }
  };

  while (done < requests) {
    const end = Math.min(requests, done + batch);
    await Promise.all(Array.from({ length: lanes }, () => lane(end)));
    device.setFaults(null);
    device.setForeignBytes(0);
    for (const model of [...runtime.models.list()]) await runtime.unload(model.id);
    const left = heldBytes(device);
    if (left !== 0) problems.push(`after ${done} requests ${left} bytes are still held on the device`);
    if (runtime.manager.handles.length > 0)
      problems.push(`after ${done} requests ${runtime.manager.handles.length} components are still known`);
    if (runtime.manager.pins.bytes !== 0)
      problems.push(`after ${done} requests ${runtime.manager.pins.bytes} bytes are still pinned`);
    rss.add(done, rssMiB());
    heap.add(done, process.memoryUsage().heapUsed / MiB);
  }
  await runtime.close();

  const seconds = (performance.now() - began) / 1000;
  process.stdout.write(
    `${done} requests in ${seconds.toFixed(0)} s: ${count.sound} spoken (${count.streamed} streamed, ${count.retried} ` +
      `after a retry), ${count.cancelled} cancelled, ${count['no memory']} refused for lack of memory\n`,
  );
  for (const [phase, times] of [...phases].sort()) process.stdout.write(`  cancelled ${phase}: ${times}\n`);
  process.stdout.write(`  heap ${heap.text('MiB')}\n  resident set ${rss.text('MiB')}\n`);
  for (const [what, trend, most] of [
    ['the heap', heap, allowed.heap],
    ['the resident set', rss, allowed.rss],
  ] as const) {
    const grown = (trend.perHundred * done) / 200;
    if (grown > most)
      problems.push(`${what} grew by ${grown.toFixed(1)} MiB in the second half, above ${most}`);
  }
  return problems;
}

if (!(Number.isInteger(requests) && requests > 0)) {
  throw new StudioError('invalid_request', '--requests takes a whole number above 0.');
}
const folder = mkdtempSync(join(tmpdir(), 'mizuoto-soak-'));
// What is read from a slot before it was written shows in the sound.
process.env.MIZUOTO_POISON_SLOTS = '1';
try {
  const problems = await soak(folder);
  for (const problem of problems.slice(0, 20)) process.stdout.write(`PROBLEM: ${problem}\n`);
  if (problems.length > 20) process.stdout.write(`and ${problems.length - 20} more\n`);
  process.stdout.write(problems.length === 0 ? 'every sound identical, nothing left behind\n' : 'failed\n');
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
